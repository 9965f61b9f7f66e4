"""Features that are categories: which there are, the nearest one, and a few bits for each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphcondense.errors import InputError

MOST_VALUES = 256
"""A column of whole numbers with more values than this is a count or a size, not a category."""
_LARGEST = 2**24  # whole numbers up to here are exact in float32


@dataclass(frozen=True)
class Categories:
    """What features can be.

    Args:
        width: number of feature columns.
        one_hot: whether a row is all zero but for a single one.
        values: one-hot: one tuple, the columns that may hold the one. Otherwise a tuple a column, the whole numbers
            that it may hold. Ascending.

    >>> atoms = Categories.of(torch.eye(7))
    >>> atoms.bits, atoms.snap(torch.tensor([[0.2, 0.9, 0.4, 0, 0, 0, 0]])).tolist()
    ((3,), [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    >>> Categories.of(torch.tensor([[6.0, 0.0], [7.0, 0.0], [6.0, 1.0]])).values
    ((6, 7), (0, 1))
    """

    width: int
    one_hot: bool
    values: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.values) != (1 if self.one_hot else self.width):
            raise InputError(f"values of {len(self.values)} columns do not fit a width of {self.width}")
        for column in self.values:
            if not column or any(type(v) is not int or abs(v) > _LARGEST for v in column):
                raise InputError("each column needs one value or more, all of them whole numbers")
            if list(column) != sorted(set(column)) or len(column) > max(MOST_VALUES, self.width):
                raise InputError("the values of a column must be ascending, each once, and not too many")
        if self.one_hot and not 0 <= self.values[0][0] <= self.values[0][-1] < self.width:
            raise InputError(f"one-hot columns must lie in 0 to {self.width - 1}")

    @staticmethod
    def of(x: Tensor) -> Categories | None:
        """The categories of real features, ``n x width``; ``None`` where they are none (brightness, positions)."""
        ones = x == 1
        if bool((ones | (x == 0)).all()) and bool((ones.sum(1) == 1).all()):
            return Categories(x.shape[1], True, (tuple(ones.any(0).nonzero().flatten().tolist()),))
        if not bool((x == x.round()).all()) or bool((x.abs() > _LARGEST).any()):
            return None
        columns = [column.unique().long().tolist() for column in x.unbind(1)]
        if max(map(len, columns)) > MOST_VALUES:
            return None
        return Categories(x.shape[1], False, tuple(map(tuple, columns)))

    @property
    def bits(self) -> tuple[int, ...]:
        """Bits that the category of each field takes; a field with a single value takes none."""
        return tuple((len(column) - 1).bit_length() for column in self.values)

    def num_bytes(self, nodes: int) -> int:
        """Bytes that the features of so many nodes take."""
        return (nodes * sum(self.bits) + 7) // 8

    def codes(self, x: Tensor) -> Tensor:
        """Position of the nearest category, ``n x fields``; the lower one of two that are as near."""
        if self.one_hot:
            return x[:, list(self.values[0])].argmax(1, keepdim=True)
        fields = []
        for column, known in zip(x.unbind(1), self.values, strict=True):
            values = torch.tensor(known, dtype=torch.float64, device=x.device)
            fields.append((column.double().unsqueeze(1) - values).abs().argmin(1))
        return torch.stack(fields, dim=1)

    def features(self, codes: Tensor) -> Tensor:
        """The feature rows that :meth:`codes` stand for, ``n x width``."""
        if self.one_hot:
            x = torch.zeros(len(codes), self.width, device=codes.device)
            return x.scatter_(1, torch.tensor(self.values[0], device=codes.device)[codes], 1.0)
        columns = [
            torch.tensor(known, dtype=torch.float32, device=codes.device)[codes[:, field]]
            for field, known in enumerate(self.values)
        ]
        return torch.stack(columns, dim=1)

    def snap(self, x: Tensor) -> Tensor:
        """Each row as its nearest category."""
        return self.features(self.codes(x))

    def pack(self, x: Tensor) -> Tensor:
        """Snapped features as bits, node after node, field after field, the highest bit first."""
        codes = self.codes(x)
        if not torch.equal(self.features(codes), x):
            raise InputError("the features are not the categories that they are said to be: snap them again")
        shifts = [torch.arange(b - 1, -1, -1) for b in self.bits]
        parts = [(codes[:, field : field + 1] >> shift) & 1 for field, shift in enumerate(shifts)]
        return torch.from_numpy(np.packbits(torch.cat(parts, dim=1).to(torch.uint8).numpy()))

    def unpack(self, packed: Tensor, nodes: int) -> Tensor:
        """The inverse of :meth:`pack`; raises :class:`InputError` for what it never writes."""
        if packed.dtype != torch.uint8 or packed.dim() != 1 or packed.numel() != self.num_bytes(nodes):
            raise InputError("categories and node counts disagree")
        total = nodes * sum(self.bits)
        bits = np.unpackbits(packed.numpy())
        if bits[total:].any():
            raise InputError("bits after the last category")
        rows = torch.from_numpy(bits[:total].astype(np.int64)).reshape(nodes, -1)
        fields, start = [], 0
        for width, known in zip(self.bits, self.values, strict=True):
            weights = 2 ** torch.arange(width - 1, -1, -1)
            field = (rows[:, start : start + width] * weights).sum(1)
            if bool((field >= len(known)).any()):
                raise InputError(f"a category beyond the {len(known)} that there are")
            fields.append(field)
            start += width
        return self.features(torch.stack(fields, dim=1))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for files."""
        return asdict(self) | {"values": [list(column) for column in self.values]}

    @staticmethod
    def from_dict(values: Any) -> Categories:
        """From what :meth:`to_dict` gave, checked."""
        try:
            width, one_hot, columns = values["width"], values["one_hot"], values["values"]
            if type(width) is not int or type(one_hot) is not bool or not 1 <= width <= 1_000_000:
                raise InputError(f"categories of width {width!r}")
            return Categories(width, one_hot, tuple(tuple(column) for column in columns))
        except (KeyError, TypeError):
            raise InputError("categories that are not complete") from None
