"""Which real graphs an iteration sees."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.errors import InputError


class ClassSampler:
    """Draws up to ``batch`` graphs of each class, without repeats within a draw.

    Args:
        y: labels of the training graphs, ``num_graphs``.
        num_classes: number of classes.
        batch: graphs of each class to draw; ``None`` for all of them, always.
    """

    def __init__(self, y: Tensor, num_classes: int, batch: int | None) -> None:
        self.members = [(y == label).nonzero().flatten() for label in range(num_classes)]
        for label, members in enumerate(self.members):
            if members.numel() == 0:
                raise InputError(f"class {label} has no training graph: give it one, or leave the class out")
        self.batch = batch

    @property
    def fixed(self) -> bool:
        """Whether every draw is the same."""
        return self.batch is None or all(len(m) <= self.batch for m in self.members)

    @property
    def group_sizes(self) -> list[int]:
        """Graphs of each class in a draw."""
        return [len(m) if self.batch is None else min(self.batch, len(m)) for m in self.members]

    def draw(self, generator: torch.Generator) -> Tensor:
        """Positions of the drawn graphs, class after class."""
        if self.fixed:
            return torch.cat(self.members)
        return torch.cat(
            [
                members[torch.randperm(len(members), generator=generator)[:size]]
                for members, size in zip(self.members, self.group_sizes, strict=True)
            ]
        )
