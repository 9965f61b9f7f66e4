"""Matching on nodes: class gradients of a real graph's nodes, and how far those of a learned graph are from them."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.autograd import apply
from graphcondense.matching import node_pass
from graphcondense.matching.distances import Distance, with_slope
from graphcondense.matching.gradients import Gradients
from graphcondense.matching.match import WithSlopes, tie
from graphcondense.models import NodeNetwork, Parameters, Rows
from graphcondense.real import NodeBatch
from graphcondense.synthetic import DenseNodes
from graphcondense.training import graph_losses


def node_gradients(
    network: NodeNetwork, theta: Parameters, batch: Rows, y: Tensor, weights: Tensor, create_graph: bool = False
) -> Gradients:
    """Gradient of the weighted sum of node losses of each group.

    Args:
        network: the network.
        theta: tied weights, ``C x ...``.
        batch: nodes in C groups, or one graph that all groups share.
        y: labels of the nodes.
        weights: weight of each node's loss, ``N``, or ``C x n`` where the graph is shared.
        create_graph: whether the gradients will be differentiated again.
    """
    loss = (graph_losses(network(theta, batch), y) * weights).sum()
    leaves = [theta[name] for name in network.parameter_names]
    return Gradients.of(torch.autograd.grad(loss, leaves, create_graph=create_graph))


class NodeMatcher:
    """Gradients of one network at ever new weights, on real and on learned nodes.

    Args:
        network: the network.
        distance: how far apart two gradients are.
        shares: what each class counts, ``C``.
        written_out: whether the written-out pass may be used.
    """

    def __init__(self, network: NodeNetwork, distance: Distance, shares: Tensor, written_out: bool = True) -> None:
        self.network, self.distance, self.shares = network, distance, shares
        self.written_out = written_out and node_pass.supports(network)

    def real(self, theta: Parameters, batch: NodeBatch) -> Gradients:
        """Class gradients of real nodes; ``batch`` has a group a class."""
        if self.written_out:
            return node_pass.real_node_gradients(self.network, theta, batch, batch.mean_weights)
        return node_gradients(self.network, tie(theta, len(self.shares)), batch, batch.y, batch.mean_weights)

    def of_synthetic(self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor) -> Gradients:
        """Gradients of learned nodes, as numbers alone; a row of ``weights`` is a group."""
        if self.written_out:
            return node_pass.NodePass(self.network, theta, batch, y.view(-1), weights).gradients
        return node_gradients(self.network, tie(theta, len(weights)), batch, y, weights)

    def synthetic(
        self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor, real: Gradients
    ) -> tuple[Tensor, Gradients]:
        """Distance of the learned nodes' class gradients from the real ones, weighed by class; and the former."""
        if self.written_out:
            return self._written_out(theta, batch, y, weights, real)
        matched = node_gradients(self.network, tie(theta, len(weights)), batch, y, weights, create_graph=True)
        return (self.distance(matched, real) * self.shares).sum(), matched

    def _written_out(
        self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor, real: Gradients
    ) -> tuple[Tensor, Gradients]:
        first = batch.features(node_pass.steps(self.network))
        passed = node_pass.NodePass(self.network, theta, batch, y, weights)
        value, direction = with_slope(self._weighed, passed.gradients, real)
        in_matrix, in_first = passed.slopes_along(direction)
        if batch.matrix is None or in_matrix is None:
            return apply(WithSlopes, first, first, value, torch.zeros_like(first), in_first), passed.gradients
        return apply(WithSlopes, batch.matrix, first, value, in_matrix, in_first), passed.gradients

    def _weighed(self, synthetic: Gradients, real: Gradients) -> Tensor:
        return self.distance(synthetic, real) * self.shares
