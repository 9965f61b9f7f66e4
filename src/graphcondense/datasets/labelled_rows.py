"""Tables with a header: which row is of which class, and of which part of the split."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from graphcondense.datasets.textfiles import read_text, short
from graphcondense.errors import FileFormatError, InputError, suggestion

LABELS = ("label", "class", "y", "target")
SPLIT = "split"
_PARTS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
_LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Rows:
    """A table of text.

    Args:
        path: where it came from.
        columns: names of the columns.
        cells: the rows, each as long as ``columns``.
        lines: the line of each row in the file.
    """

    path: Path
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.cells]

    def pick(self, wanted: str | None, usual: Sequence[str], what: str) -> str:
        """The column ``wanted``, or the first one that has one of the ``usual`` names."""
        if wanted is not None:
            if wanted not in self.columns:
                raise InputError(f"{self.path} has no column {wanted!r}{suggestion(wanted, self.columns)}")
            return wanted
        found = [name for one in usual for name in self.columns if name.lower() == one]
        if not found:
            raise InputError(
                f"{self.path} has columns {', '.join(self.columns)}, none called {' or '.join(usual)}: name that of "
                f"the {what}, {self.path.name}::{what}=COLUMN"
            )
        return found[0]


def read_rows(path: Path) -> Rows:
    """The table in a CSV file; separated by commas, or by semicolons or tabs where the header has no comma."""
    text = read_text(path)
    header = text.lstrip("\r\n").split("\n", 1)[0]
    separator = next((one for one in ",;\t" if one in header), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    cells: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                cells.append(tuple(cell.strip() for cell in row))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: not a table ({error}): mend it") from None
    if len(cells) < 2:
        raise FileFormatError(f"{path} has no rows below a header: the first line names the columns, the others follow")
    columns = cells[0]
    twice = [name for name in columns if columns.count(name) > 1 or not name]
    if twice:
        raise FileFormatError(f"{path}, line {lines[0]}: column {twice[0]!r} is there twice or has no name: rename it")
    for record, line in zip(cells, lines, strict=True):
        if len(record) != len(columns):
            raise FileFormatError(f"{path}, line {line}: {len(record)} cells under {len(columns)} columns: mend it")
    return Rows(path, columns, tuple(cells[1:]), tuple(lines[1:]))


def class_numbers(values: Sequence[str], places: Sequence[str]) -> tuple[Tensor, tuple[str, ...]]:
    """Classes written as text: whole numbers as they are, anything else by name.

    Args:
        values: a class each.
        places: where each one stands, for the messages.

    Returns:
        Whole numbers, and what 0, 1, ... are called where the classes were names.

    >>> class_numbers(["1", "-1", "1.0"], ["a", "b", "c"])
    (tensor([ 1, -1,  1]), ())
    >>> class_numbers(["toxic", "safe", "toxic"], ["a", "b", "c"])
    (tensor([1, 0, 1]), ('safe', 'toxic'))
    """
    numbers = [_number(value) for value in values]
    for value, number, place in zip(values, numbers, places, strict=True):
        if not value or value.lower() in ("nan", "none", "null"):
            raise InputError(f"{place} has no label: leave it out, or give it its class")
        if value.startswith(("[", "(", "{")):
            raise InputError(
                f"{place} has label {short(value)}: one class is needed, multi-label tasks are not supported"
            )
        if number is not None and (not float(number).is_integer() or abs(number) > _LARGEST_EXACT):
            raise InputError(
                f"{place} has label {short(value)}, which is a quantity: regression is not supported, put the values "
                "into classes"
            )
    if all(number is not None for number in numbers):
        return torch.tensor([int(number or 0) for number in numbers]), ()
    names = tuple(sorted(set(values)))
    order = {name: number for number, name in enumerate(names)}
    return torch.tensor([order[value] for value in values]), names


def split_numbers(values: Sequence[str], places: Sequence[str]) -> dict[str, Tensor]:
    """Positions of the members of each part, from words such as ``train``, ``valid`` and ``test``."""
    parts: dict[str, list[int]] = {}
    for position, (value, place) in enumerate(zip(values, places, strict=True)):
        part = _PARTS.get(value.lower())
        if part is None:
            raise InputError(f"{place} has {SPLIT} {short(value)}: it must be train, val or test")
        parts.setdefault(part, []).append(position)
    if "train" not in parts:
        raise InputError(f"no {SPLIT} is train: {places[0]} and all others are for validation or test")
    return {part: torch.tensor(members) for part, members in parts.items()}


def splits_of(rows: Rows, places: Sequence[str]) -> dict[str, Tensor]:
    """The parts that the column ``split`` gives; all is for training where there is no such column."""
    column = next((name for name in rows.columns if name.lower() == SPLIT), None)
    if column is None:
        return {"train": torch.arange(len(rows.cells))}
    return split_numbers(rows.column(column), places)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None
