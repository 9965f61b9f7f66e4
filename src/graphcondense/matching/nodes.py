"""Matching on nodes: class gradients of a real graph's nodes, and how far those of a learned graph are from them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graphcondense.autograd import apply
from graphcondense.matching.distances import Distance, with_slope
from graphcondense.matching.gradients import Gradients
from graphcondense.matching.match import WithSlopes, autograd_gradients, tie
from graphcondense.matching.node_factors import BY_PRODUCTS, Factors, pays
from graphcondense.matching.node_pass import Direction, Formed, NodePass, RealPass, steps, supports
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
        chooses: whether to match two passes without forming the first layer's gradients.
    """

    def __init__(
        self,
        network: NodeNetwork,
        distance: Distance,
        shares: Tensor,
        written_out: bool = True,
        chooses: Callable[[RealPass, NodePass], bool] = pays,
    ) -> None:
        self.network, self.distance, self.shares, self.chooses = network, distance, shares, chooses
        self.written_out = written_out and supports(network)

    def real(self, theta: Parameters, batch: NodeBatch) -> RealPass | Gradients:
        """Class gradients of real nodes, or what they are made of; ``batch`` has a group a class."""
        if self.written_out:
            return RealPass(self.network, theta, batch, batch.mean_weights)
        return autograd_gradients(self.network, tie(theta, len(self.shares)), batch, batch.y, batch.mean_weights)

    def of_synthetic(self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor) -> Gradients:
        """Gradients of learned nodes, as numbers alone; a row of ``weights`` is a group."""
        if self.written_out:
            return NodePass(self.network, theta, batch, y.view(-1), weights).gradients
        return autograd_gradients(self.network, tie(theta, len(weights)), batch, y, weights)

    def synthetic(
        self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor, real: RealPass | Gradients
    ) -> tuple[Tensor, NodePass | Gradients]:
        """Distance of the learned nodes' class gradients from the real ones, weighed by class; and the former."""
        if self.written_out:
            return self._written_out(theta, batch, y, weights, real)
        matched = autograd_gradients(self.network, tie(theta, len(weights)), batch, y, weights, create_graph=True)
        return (self.distance(matched, formed(real)) * self.shares).sum(), matched

    def _written_out(
        self, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor, real: RealPass | Gradients
    ) -> tuple[Tensor, NodePass]:
        first = batch.features(steps(self.network))
        passed = NodePass(self.network, theta, batch, y, weights)
        direction: Direction
        if isinstance(real, RealPass) and self.distance in BY_PRODUCTS and self.chooses(real, passed):
            direction = factors = Factors(real, passed, self.distance, self.shares)
            value = factors.value
        else:
            value, slope = with_slope(self.distance, passed.gradients, formed(real), self.shares)
            direction = Formed(passed, slope)
        in_matrix, in_first = passed.slopes_along(direction)
        if batch.matrix is None or in_matrix is None:
            return apply(WithSlopes, first, first, value, torch.zeros_like(first), in_first), passed
        return apply(WithSlopes, batch.matrix, first, value, in_matrix, in_first), passed


def formed(side: RealPass | NodePass | Gradients) -> Gradients:
    """The class gradients themselves."""
    return side if isinstance(side, Gradients) else side.gradients


def total(side: RealPass | NodePass | Gradients, shares: Tensor) -> Tensor:
    """The sum of all class gradients, weighed by class, as one long row."""
    return shares @ side.flat if isinstance(side, Gradients) else side.total(shares)
