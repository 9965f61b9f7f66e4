"""Matching: class gradients of real graphs, and how far those of synthetic graphs are from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphcondense.autograd import apply
from graphcondense.matching import explicit
from graphcondense.matching.distances import Distance, with_slope
from graphcondense.matching.gradients import Gradients
from graphcondense.matching.workspace import Workspace
from graphcondense.models import Network, NodeNetwork, Parameters
from graphcondense.real import SparseBatch
from graphcondense.synthetic import DenseBatch
from graphcondense.training import graph_losses


def tie(theta: Parameters, groups: int) -> Parameters:
    """One draw of weights (``1 x ...``) as ``groups`` equal leaves, so that each group's gradient arrives apart."""
    return {name: weight.expand(groups, *weight.shape[1:]).clone().requires_grad_() for name, weight in theta.items()}


def autograd_gradients(
    network: Network | NodeNetwork,
    theta: Parameters,
    batch: Any,
    y: Tensor,
    graph_weights: Tensor,
    create_graph: bool = False,
) -> Gradients:
    """Gradient of the weighted sum of graph (or node) losses of each group, by autograd.

    Args:
        network: the network.
        theta: tied weights, ``C x ...``.
        batch: what the network takes: graphs or nodes in C groups, or one graph's nodes that all groups share.
        y: labels in the shape of the batch's graphs or nodes.
        graph_weights: weight of each loss, in the same shape (``C x n`` where the nodes are shared).
            ``1 / graphs of the class`` gives class means.
        create_graph: whether the gradients will be differentiated again (synthetic side).
    """
    loss = (graph_losses(network(theta, batch), y) * graph_weights).sum()
    leaves = [theta[name] for name in network.parameter_names]
    return Gradients.of(torch.autograd.grad(loss, leaves, create_graph=create_graph))


class Matcher:
    """Gradients of one network at ever new weights, on real and on synthetic graphs.

    Written out where we have it (GCN), by autograd for every other network: the same numbers.

    Args:
        network: the network.
        distance: how far apart two gradients are.
        written_out: whether the written-out pass may be used.
    """

    def __init__(self, network: Network, distance: Distance, written_out: bool = True) -> None:
        self.network, self.distance = network, distance
        self.written_out = written_out and explicit.supports(network)
        self._space = Workspace()

    def real(self, theta: Parameters, batches: Sequence[SparseBatch], graph_weights: Sequence[Tensor]) -> Gradients:
        """Class gradients of real graphs.

        Args:
            theta: one draw of weights, ``1 x ...``.
            batches: the graphs, all with the same number of groups.
            graph_weights: weight of each graph's loss, one row a batch.
        """
        total: Gradients | None = None
        for batch, weights in zip(batches, graph_weights, strict=True):
            if self.written_out:
                part = explicit.sparse_gradients(self.network, theta, batch, weights, self._space)
            else:
                tied = tie(theta, len(batch.groups(-1)))
                part = autograd_gradients(self.network, tied, batch, batch.y, weights)
            if total is None:
                total = part
            else:
                total.flat.add_(part.flat)
        assert total is not None
        return total

    def of_synthetic(self, theta: Parameters, batch: DenseBatch, y: Tensor, graph_weights: Tensor) -> Gradients:
        """Class gradients of synthetic graphs, as numbers alone; arguments as for :meth:`synthetic`."""
        if self.written_out:
            return explicit.DensePass(self.network, theta, batch, y, graph_weights, self._space).gradients
        return autograd_gradients(self.network, tie(theta, len(y)), batch, y, graph_weights)

    def synthetic(
        self, theta: Parameters, batch: DenseBatch, y: Tensor, graph_weights: Tensor, real: Gradients
    ) -> tuple[Tensor, Gradients]:
        """Distance of the synthetic class gradients from the real ones, summed over the classes; and the former.

        The distance can be differentiated in the batch's adjacency and features.

        Args:
            theta: one draw of weights, ``1 x ...``.
            batch: the synthetic graphs, in C groups.
            y: labels, ``C x m``.
            graph_weights: weight of each graph's loss, ``C x m``.
            real: class gradients of real graphs at the same weights.
        """
        if not self.written_out:
            tied = tie(theta, len(y))
            matched = autograd_gradients(self.network, tied, batch, y, graph_weights, create_graph=True)
            return self.distance(matched, real).sum(), matched
        passed = explicit.DensePass(self.network, theta, batch, y, graph_weights, self._space)
        value, direction = with_slope(self.distance, passed.gradients, real)
        in_matrix, in_x = passed.slopes_along(direction)
        return apply(WithSlopes, batch.matrix, batch.x, value, in_matrix, in_x), passed.gradients


class WithSlopes(torch.autograd.Function):
    """A value whose slopes in the propagation matrix and in the features are known."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor, value: Tensor, in_matrix: Tensor, in_x: Tensor) -> Tensor:
        """The value."""
        ctx.slopes = in_matrix.view_as(matrix), in_x.view_as(x)
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """The slopes."""
        in_matrix, in_x = ctx.slopes
        if float(factor := grad_outputs[0]) != 1:
            in_matrix, in_x = factor * in_matrix, factor * in_x
        return in_matrix, in_x, None, None, None
