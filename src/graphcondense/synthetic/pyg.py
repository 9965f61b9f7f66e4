"""Condensed graphs as a PyG dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch_geometric.data import Data, InMemoryDataset


class CondensedInMemory(InMemoryDataset):  # type: ignore[misc]  # PyG has no annotations
    """Graphs in memory as PyG's own datasets hold them: collated, with slices, transforms and ``num_classes``.

    Args:
        graphs: the graphs.
        classes: number of classes; of those that no graph has, too.
        name: what they stand for.
        transform: called with each graph that is taken out, as in every PyG dataset.

    >>> import torch
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0]))
    >>> dataset = CondensedInMemory([pair, pair], classes=3, name="toy")
    >>> dataset, dataset.num_classes, dataset.num_features
    (CondensedInMemory(toy, 2), 3, 2)
    """

    def __init__(
        self, graphs: Sequence[Data], classes: int, name: str, transform: Callable[[Data], Any] | None = None
    ) -> None:
        super().__init__(None, transform)
        self.name, self._classes = name, classes
        self.data, self.slices = self.collate(list(graphs))

    @property
    def num_classes(self) -> int:
        """Number of classes of what the graphs stand for."""
        return self._classes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {len(self)})"
