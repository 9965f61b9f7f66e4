"""What a network needs of a batch of graphs; real and synthetic batches both provide it."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Rows(Protocol):
    """Nodes as layers see them; ``level`` counts the layers that a row has been through.

    Shapes are the batch's own business; see ``SparseBatch``, ``DenseBatch``, ``NodeBatch`` and ``DenseNodes``.
    """

    def features(self, steps: int, level: int) -> Tensor:
        """Node features after ``steps`` propagations, at the rows of ``level``."""

    def propagate(self, h: Tensor, level: int) -> Tensor:
        """One propagation, from the rows of ``level - 1`` to those of ``level``."""

    def own(self, h: Tensor, level: int) -> Tensor:
        """Each node's own row, from ``level - 1`` to ``level``."""

    def linear(self, h: Tensor, weight: Tensor, level: int) -> Tensor:
        """Rows times weights, ``R x in x out``; level -1 are the pooled graphs."""

    def add_bias(self, h: Tensor, bias: Tensor, level: int) -> Tensor:
        """Rows plus bias, ``R x out``."""


class NodeRows(Rows, Protocol):
    """Nodes that are classified themselves."""

    def rows(self, level: int) -> int:
        """Rows of ``level``."""


class GraphBatch(Rows, Protocol):
    """Graphs as networks see them: nodes that can be pooled and normalised."""

    def pool(self, h: Tensor, how: str, level: int) -> Tensor:
        """Mean or sum of each graph's node rows."""

    def graph_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over each graph's nodes, broadcast to the rows."""

    def batch_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over all nodes of the batch or group, broadcast to the rows."""
