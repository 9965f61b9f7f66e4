"""Synthetic graphs as networks see them: dense, batched, differentiable in structure and features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from graphcondense.autograd import apply


def normalise_dense(adjacency: Tensor, propagation: str) -> Tensor:
    """The matrix of one propagation step, the dense twin of ``propagation_matrix``.

    Args:
        adjacency: weights in [0, 1] without loops, ``... x n x n``; ``[i, j]`` is the edge from ``j`` to ``i``.
        propagation: ``"gcn"``, ``"mean"`` or ``"sum"``.
    """
    if propagation == "gcn":
        return apply(_Symmetric, adjacency)
    if propagation == "mean":
        return adjacency / adjacency.sum(-1).clamp(min=1).unsqueeze(-1)
    return adjacency


class _Symmetric(torch.autograd.Function):
    """``N = S (A + I) S`` with ``S = (degrees + 1)^-1/2``: one matrix is made and kept, where autograd keeps four."""

    @staticmethod
    def forward(ctx: Any, adjacency: Tensor) -> Tensor:
        scale = adjacency.sum(-1).add_(1).rsqrt_()
        matrix = adjacency * scale.unsqueeze(-1)
        matrix.mul_(scale.unsqueeze(-2))
        matrix.diagonal(dim1=-2, dim2=-1).add_(scale.square())
        ctx.save_for_backward(matrix, scale)
        return matrix

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        matrix, scale = ctx.saved_tensors
        grad = grad_outputs[0]
        weighed = grad * matrix
        through_scale = weighed.sum(-1).add_(weighed.sum(-2)).mul_(scale.square()).mul_(-0.5)
        torch.mul(grad, scale.unsqueeze(-1), out=weighed)
        in_adjacency: Tensor = weighed.mul_(scale.unsqueeze(-2)).add_(through_scale.unsqueeze(-1))
        return in_adjacency


class DenseBatch:
    """``C`` groups of ``m`` graphs with ``n`` nodes each. Weights are ``C x in x out``: a slice a group.

    Args:
        adjacency: ``C x m x n x n``.
        x: ``C x m x n x d``.
        propagation: as for real graphs; ``"none"`` ignores the adjacency.
        node_mask: which nodes exist, ``C x m x n``; ``None`` when all do.
    """

    def __init__(self, adjacency: Tensor, x: Tensor, propagation: str, node_mask: Tensor | None = None) -> None:
        self.x = x
        self.matrix = None if propagation == "none" else normalise_dense(adjacency, propagation)
        self.mask = None if node_mask is None else node_mask.to(x.dtype).unsqueeze(-1)

    def features(self, steps: int, level: int = 0) -> Tensor:
        """Features after ``steps`` propagations."""
        h = self.x
        for _ in range(steps):
            h = self.propagate(h)
        return h

    def propagate(self, h: Tensor, level: int = 0) -> Tensor:
        """One propagation of hidden rows, ``C x m x n x F``."""
        return h if self.matrix is None else self.matrix @ h

    def own(self, h: Tensor, level: int = 0) -> Tensor:
        """Dense graphs have one row a node throughout."""
        return h

    def linear(self, h: Tensor, weight: Tensor, level: int = 0) -> Tensor:
        """``h @ weight`` group by group."""
        return torch.bmm(h.flatten(1, -2), weight).view(*h.shape[:-1], weight.shape[-1])

    def add_bias(self, h: Tensor, bias: Tensor, level: int = 0) -> Tensor:
        """``h + bias`` with ``bias`` of ``C x F``."""
        return h + bias.view(bias.shape[0], *([1] * (h.dim() - 2)), bias.shape[1])

    def pool(self, h: Tensor, how: str, level: int = 0) -> Tensor:
        """Mean or sum over the nodes that exist: ``C x m x F``."""
        total = (h if self.mask is None else h * self.mask).sum(-2)
        return total / self.node_counts if how == "mean" else total

    def feature_sums(self, steps: int) -> Tensor:
        """Each graph's features after ``steps`` propagations, summed over its nodes: ``C x m x d``.

        From the left, ``((1^T A) A) X``: a product with a row costs less than one with a matrix of features.
        """
        row = self.x.new_ones(*self.x.shape[:2], 1, self.x.shape[2]) if self.mask is None else self.mask.mT
        if self.matrix is not None:
            for _ in range(steps):
                row = row @ self.matrix
        return (row @ self.x).squeeze(-2)

    def node_shares(self, how: str) -> Tensor | float:
        """What a node counts in its graph's pooled row: ``G x 1 x n`` for all graphs, or one number."""
        if self.mask is None:
            return 1 / self.x.shape[-2] if how == "mean" else 1.0
        share = self.mask / self.mask.sum(-2, keepdim=True).clamp(min=1) if how == "mean" else self.mask
        return share.flatten(0, 1).mT

    def graph_moments(self, h: Tensor, level: int = 0) -> tuple[Tensor, Tensor]:
        """Mean and variance over each graph's nodes."""
        return self._moments(h, (-2,))

    def batch_moments(self, h: Tensor, level: int = 0) -> tuple[Tensor, Tensor]:
        """Mean and variance over all nodes of a group."""
        return self._moments(h, (-3, -2))

    def _moments(self, h: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        if self.mask is None:
            mean = h.mean(dims, keepdim=True)
            return mean, (h - mean).square().mean(dims, keepdim=True)
        count = self.mask.sum(dims, keepdim=True).clamp(min=1)
        mean = (h * self.mask).sum(dims, keepdim=True) / count
        return mean, ((h - mean).square() * self.mask).sum(dims, keepdim=True) / count

    @cached_property
    def node_counts(self) -> Tensor | float:
        """Nodes of each graph, ``C x m x 1``, or the one number that all have."""
        return float(self.x.shape[-2]) if self.mask is None else self.mask.sum(-2).clamp(min=1)
