"""Class gradients: how the loss of one class's graphs wants to move the weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


class Gradients:
    """The gradients of ``C`` classes: the same numbers as one row a class, and weight by weight.

    Args:
        flat: ``C x P``.
        shapes: shape of each weight, in order.

    >>> both = Gradients(torch.arange(10.0).view(2, 5), [(2, 2), (1,)])
    >>> [tuple(part.shape) for part in both.parts], both.parts[1].flatten().tolist()
    ([(2, 2, 2), (2, 1)], [4.0, 9.0])
    """

    def __init__(self, flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> None:
        self.flat, self.shapes = flat, shapes
        pieces = flat.split([math.prod(shape) for shape in shapes], dim=1)
        self.parts = [piece.unflatten(1, shape) for piece, shape in zip(pieces, shapes, strict=True)]

    @classmethod
    def of(cls, parts: Sequence[Tensor]) -> Gradients:
        """From one ``C x ...`` tensor a weight."""
        return cls(torch.cat([part.flatten(1) for part in parts], dim=1), [tuple(part.shape[1:]) for part in parts])

    def like(self, flat: Tensor) -> Gradients:
        """Other numbers in the same arrangement."""
        return Gradients(flat, self.shapes)
