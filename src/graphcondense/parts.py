"""Training graphs in several parts, a process each: what every process knows of all parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from graphcondense.distributed import World
from graphcondense.graphs import GraphStore

Sizes = Mapping[int, int]  # how many graphs there are of each number of nodes


@dataclass(frozen=True, eq=False)
class Part:
    """The part of the training graphs that this process has, and the counts of all parts.

    The parts of a class, one after the other, are that class in the order of the whole set. So a graph's place in its
    class says whose it is, and whatever is drawn by such places is drawn as if all graphs were in one process.

    Args:
        world: the processes; process ``r`` has part ``r``.
        sizes: for each part and class, how many graphs it has of each number of nodes.
        mean_nodes: of all graphs of the dataset.
        original_bytes: what all training graphs take, packed.
        same_batch: whether all parts together draw the batch that one process would draw; otherwise each part draws
            as many as that by itself.
    """

    world: World
    sizes: Sequence[Sequence[Sizes]]
    mean_nodes: float
    original_bytes: int
    same_batch: bool = True
    _cache: dict[int | None, Tensor] = field(default_factory=dict, repr=False)

    def counts(self, most_nodes: int | None = None) -> Tensor:
        """Graphs with at most so many nodes, ``parts x classes``."""
        if most_nodes not in self._cache:
            rows = [
                [
                    sum(count for nodes, count in sizes.items() if most_nodes is None or nodes <= most_nodes)
                    for sizes in own
                ]
                for own in self.sizes
            ]
            self._cache[most_nodes] = torch.tensor(rows, dtype=torch.long)
        return self._cache[most_nodes]

    @cached_property
    def class_counts(self) -> Tensor:
        """Training graphs of each class in all parts together."""
        return self.counts().sum(0)

    def smallest(self, label: int, count: int) -> int:
        """Nodes within which class ``label`` has ``count`` graphs."""
        total = 0
        for nodes in sorted({nodes for own in self.sizes for nodes in own[label]}):
            total += sum(own[label].get(nodes, 0) for own in self.sizes)
            if total >= count:
                return nodes
        raise ValueError(f"class {label} has {total} graphs only")

    def mine(self, places: Tensor, label: int, most_nodes: int | None = None) -> tuple[Tensor, Tensor]:
        """Which of some places in a class (of the graphs with at most so many nodes) are in this part.

        Returns:
            Positions in ``places``, and the places counted within this part.
        """
        counts = self.counts(most_nodes)[:, label]
        start = int(counts[: self.world.rank].sum())
        local = places - start
        own = ((local >= 0) & (local < counts[self.world.rank])).nonzero().flatten()
        return own, local[own]


def deal(y: Tensor, num_classes: int, parts: int, sizes: Tensor | None = None) -> list[Tensor]:
    """Positions of the graphs of each part: every class is cut into runs of equal length, one a part.

    What does not divide evenly goes to other parts in each class. With ``sizes`` (the work that each graph
    brings), the graphs of a run add up to about the same, so that no part has more work than another.

    >>> [part.tolist() for part in deal(torch.tensor([0, 0, 0, 1, 1, 1]), 2, 2)]
    [[0, 1, 3], [2, 4, 5]]
    """
    pieces: list[list[Tensor]] = [[] for _ in range(parts)]
    for label in range(num_classes):
        members = (y == label).nonzero().flatten()
        base, rest = divmod(len(members), parts)
        lengths = [base + int((part - label) % parts < rest) for part in range(parts)]
        if sizes is not None and base > 1:
            upto = sizes[members].double().cumsum(0)
            ends = torch.searchsorted(upto, upto[-1] * torch.arange(1, parts) / parts).clamp(min=1)
            lengths = torch.diff(ends, prepend=ends.new_zeros(1), append=ends.new_tensor([len(members)])).tolist()
        for own, piece in zip(pieces, members.split(lengths), strict=True):
            own.append(piece)
    dealt = [torch.cat(own).sort().values for own in pieces]
    if sizes is not None and min(len(part) for part in dealt) == 0:  # some graphs outweigh all others
        return deal(y, num_classes, parts)
    return dealt


def class_sizes(graphs: GraphStore, num_classes: int) -> list[dict[int, int]]:
    """For each class, how many graphs there are of each number of nodes."""
    found = []
    for label in range(num_classes):
        nodes, counts = graphs.num_nodes[graphs.y == label].unique(return_counts=True)
        found.append(dict(zip(nodes.tolist(), counts.tolist(), strict=True)))
    return found
