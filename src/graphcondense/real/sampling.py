"""Which real graphs an iteration sees."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.parts import Part


class ClassSampler:
    """Draws up to ``batch`` graphs of each class, without repeats within a draw.

    Args:
        y: labels of the training graphs, ``num_graphs``.
        num_classes: number of classes.
        batch: graphs of each class to draw; ``None`` for all of them, always.
        part: where the graphs are only some of those of all processes; these may lack a class.
    """

    def __init__(self, y: Tensor, num_classes: int, batch: int | None, part: Part | None = None) -> None:
        self.members = [(y == label).nonzero().flatten() for label in range(num_classes)]
        counts = torch.tensor([[len(members) for members in self.members]]) if part is None else part.counts()
        for label, count in enumerate(counts.sum(0).tolist()):
            if count == 0:
                raise InputError(f"class {label} has no training graph: give it one, or leave the class out")
        self.batch, self.part = batch, part
        self._totals = counts.sum(0)
        self._together = part is not None and part.same_batch
        drawn = self._totals if self._together else counts
        self._drawn = drawn if batch is None else drawn.clamp(max=batch)
        self._counts = counts

    @property
    def fixed(self) -> bool:
        """Whether every draw is the same, in all processes."""
        return bool((self._drawn == (self._totals if self._together else self._counts)).all())

    @property
    def weights(self) -> Tensor:
        """What a drawn graph of each class counts in its class's mean, ``num_classes``.

        Where each process draws by itself, it counts by its share of the class, however many it draws.
        """
        if self._together or self.part is None:
            return 1 / self._drawn.view(-1).float()
        own = self.part.world.rank
        return self._counts[own] / self._totals / self._drawn[own].clamp(min=1)

    @property
    def shares(self) -> Tensor:
        """Share of each class among all that is drawn, ``num_classes``."""
        drawn = (self._drawn if self._together else self._drawn.sum(0)).float()
        return drawn / drawn.sum()

    def draw(self, generator: torch.Generator) -> tuple[Tensor, list[int]]:
        """Positions of the drawn graphs, class after class, and how many of each class they are."""
        if self.fixed:
            return torch.cat(self.members), [len(members) for members in self.members]
        chosen = []
        for label, members in enumerate(self.members):
            if self._together:
                assert self.part is not None
                places = torch.randperm(int(self._totals[label]), generator=generator)[: int(self._drawn[label])]
                chosen.append(members[self.part.mine(places, label)[1]])
            else:
                places = torch.randperm(len(members), generator=generator)[: self.batch]
                chosen.append(members[places])
        return torch.cat(chosen), [len(members) for members in chosen]
