"""Matching on nodes: class gradients of a real graph's nodes, and how far those of a learned graph are from them."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.autograd import apply
from graphcondense.matching import node_pass
from graphcondense.matching.distances import Distance, with_slope
from graphcondense.matching.gradients import Gradients
from graphcondense.matching.match import WithSlopes, autograd_gradients, tie
from graphcondense.models import NodeNetwork, Parameters
from graphcondense.real import NodeBatch
from graphcondense.synthetic import DenseNodes


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
        return autograd_gradients(self.network, tie(theta, len(self.shares)), batch, batch.y, batch.mean_weights)

    def of_synthetic(self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor) -> Gradients:
        """Gradients of learned nodes, as numbers alone; a row of ``weights`` is a group."""
        if self.written_out:
            return node_pass.NodePass(self.network, theta, batch, y.view(-1), weights).gradients
        return autograd_gradients(self.network, tie(theta, len(weights)), batch, y, weights)

    def synthetic(
        self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor, real: Gradients
    ) -> tuple[Tensor, Gradients]:
        """Distance of the learned nodes' class gradients from the real ones, weighed by class; and the former."""
        if self.written_out:
            return self._written_out(theta, batch, y, weights, real)
        matched = autograd_gradients(self.network, tie(theta, len(weights)), batch, y, weights, create_graph=True)
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
