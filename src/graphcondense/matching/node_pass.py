"""Gradients of node classifiers and slopes of matching them, written out for GCN and SGC.

With ``P_l = A H_(l-1)``, ``S_l = P_l W_l + b_l``, ``H_l = relu(S_l)`` and outputs ``S_L``, class c's loss has the
slopes ``D_l^c`` in ``S_l`` and the gradients ``g_l^c = P_l^T D_l^c``. Forwards, all classes are one: only what goes
backwards differs. The slope of a distance in the learned graph is that of ``sum_c <v^c, g^c>`` with ``v = d'(g)`` held
fixed, which is how the classes' losses change when the weights move along ``v^c``: one more pass forwards for each
class, and one backwards for all of them together.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from graphcondense.graphs import repeat
from graphcondense.matching.gradients import Gradients
from graphcondense.models import NodeNetwork, Parameters
from graphcondense.real import NodeBatch
from graphcondense.synthetic import DenseNodes
from graphcondense.training import residual_change, residuals


def supports(network: NodeNetwork) -> bool:
    """Whether this network is written out here."""
    return network.config.kind in ("gcn", "sgc")


def _layers(network: NodeNetwork) -> list[str]:
    if network.linear_layers:
        return ["hidden"]
    return [f"conv{layer}" for layer in range(1, network.config.layers + 1)]


def steps(network: NodeNetwork) -> int:
    """Propagations of the features before the first weight."""
    return network.config.layers if network.linear_layers else 1


class RealPass:
    """A pass through real nodes. The gradient of a layer's weight is a product of two tall matrices for each group.

    Args:
        network: one that is supported.
        theta: one draw of weights, ``1 x ...``.
        batch: real nodes, with groups.
        weights: weight of each target's loss.
    """

    @torch.no_grad()
    def __init__(self, network: NodeNetwork, theta: Parameters, batch: NodeBatch, weights: Tensor) -> None:
        self.network, self.batch, self.names = network, batch, _layers(network)
        rows = [batch.features(steps(network), 1)]
        self.mostly_zero = batch.mostly_zero(steps(network))  # the same rows
        for level, name in enumerate(self.names, 1):
            left = self.mostly_zero if level == 1 and self.mostly_zero is not None else rows[-1]
            sums = left @ theta[f"{name}.weight"][0]
            if level > 1:
                sums = batch.propagate(sums, level)
            sums += theta[f"{name}.bias"][0]
            rows.append(sums.relu_() if level < len(self.names) else sums)
        slope = residuals(rows[-1], batch.y).mul_(weights.unsqueeze(-1))
        self.rows = rows[:-1]  # left factors, first layer first
        self.slopes: list[Tensor] = []  # right factors
        self.groups = [batch.groups(max(level - 1, 1)) for level in range(1, len(self.names) + 1)]
        self.bias: list[Tensor] = []
        for level in range(len(self.names), 0, -1):
            self.bias.insert(0, torch.stack([part.sum(0) for part in slope.split(batch.groups(level))]))
            self.slopes.insert(0, slope if level == 1 else batch.propagate_back(slope, level))
            if level > 1:
                slope = self.slopes[0] @ theta[f"{self.names[level - 1]}.weight"][0].T
                slope *= rows[level - 1] > 0

    def weight_gradient(self, number: int) -> Tensor:
        """Gradient of each group in the weight of layer ``number`` (from 0), ``C x in x out``."""
        left, right = (factor.split(self.groups[number]) for factor in (self.rows[number], self.slopes[number]))
        return torch.stack([a.T @ b for a, b in zip(left, right, strict=True)])

    @cached_property
    def gradients(self) -> Gradients:
        """The gradient of each group in all weights."""
        parts: dict[str, Tensor] = {}
        for number, name in enumerate(self.names):
            parts[f"{name}.weight"], parts[f"{name}.bias"] = self.weight_gradient(number), self.bias[number]
        return Gradients.of([parts[name] for name in self.network.parameter_names])

    @torch.no_grad()
    def total(self, shares: Tensor) -> Tensor:
        """The sum of all groups' gradients, weighed by group, as one long row: no group's own is formed."""
        parts: dict[str, Tensor] = {}
        for number, name in enumerate(self.names):
            each = repeat(shares, torch.tensor(self.groups[number])).unsqueeze(1)
            left = self.mostly_zero.T if number == 0 and self.mostly_zero is not None else self.rows[number].T
            parts[f"{name}.weight"], parts[f"{name}.bias"] = (
                left @ (each * self.slopes[number]),
                shares @ self.bias[number],
            )
        return torch.cat([parts[name].flatten() for name in self.network.parameter_names])


class Direction(Protocol):
    """A direction ``V`` in the space of the weights, one for each class, as the pass backwards needs it."""

    def along(self, number: int) -> Tensor:
        """``P_l V_l^c + v_l^c`` of layer ``number`` (from 0), ``C x n x out``."""

    def against(self, number: int) -> Tensor:
        """``sum_c D_l^c V_l^cT``, ``n x in``."""


class NodePass:
    """A pass through a dense graph: the class gradients, and the slopes of anything that is made of them.

    Args:
        network: one that is supported.
        theta: one draw of weights, ``1 x ...``.
        batch: the learned graph.
        y: labels, ``n``.
        weights: weight of each node's loss in each class, ``C x n``.
    """

    @torch.no_grad()
    def __init__(self, network: NodeNetwork, theta: Parameters, batch: DenseNodes, y: Tensor, weights: Tensor) -> None:
        self.network, self.names, self.node_weights = network, _layers(network), weights.unsqueeze(-1)
        self.matrix = None if batch.matrix is None else batch.matrix.detach()
        self.weight = [theta[f"{name}.weight"][0] for name in self.names]
        self.first = batch.features(steps(network))
        self.seen = [self.first.detach()]  # P_l
        self.rows: list[Tensor] = []  # H_l, from the first layer
        for number, (name, weight) in enumerate(zip(self.names, self.weight, strict=True)):
            if number:
                assert self.matrix is not None
                self.seen.append(self.matrix @ self.rows[-1])
            sums = torch.addmm(theta[f"{name}.bias"][0], self.seen[-1], weight)
            self.rows.append(sums.relu_() if number + 1 < len(self.names) else sums)
        self.residual = residuals(self.rows[-1], y)
        self.slopes = [self.node_weights * self.residual]  # D_l^c, first layer first
        self.sent: list[Tensor] = []  # Q_l^c = D_l^c W_l^T, from the second layer
        for number in range(len(self.names) - 1, 0, -1):
            assert self.matrix is not None
            self.sent.insert(0, self.slopes[0] @ self.weight[number].T)
            self.slopes.insert(0, (self.matrix.mT @ self.sent[0]).mul_(self.rows[number - 1] > 0))

    @cached_property
    @torch.no_grad()
    def gradients(self) -> Gradients:
        """The class gradients."""
        parts: dict[str, Tensor] = {}
        for name, seen, slope in zip(self.names, self.seen, self.slopes, strict=True):
            parts[f"{name}.weight"], parts[f"{name}.bias"] = seen.T @ slope, slope.sum(1)
        return Gradients.of([parts[name] for name in self.network.parameter_names])

    @torch.no_grad()
    def total(self, shares: Tensor) -> Tensor:
        """The sum of all class gradients, weighed by class, as one long row: no class's own is formed."""
        parts: dict[str, Tensor] = {}
        for name, seen, slopes in zip(self.names, self.seen, self.slopes, strict=True):
            slope = torch.einsum("c,cnh->nh", shares, slopes)
            parts[f"{name}.weight"], parts[f"{name}.bias"] = seen.T @ slope, slope.sum(0)
        return torch.cat([parts[name].flatten() for name in self.network.parameter_names])

    @torch.no_grad()
    def slopes_along(self, direction: Direction) -> tuple[Tensor | None, Tensor]:
        """Slopes of ``sum_c <direction^c, gradients^c>`` in the matrix and in the propagated features."""
        moved: list[Tensor] = []  # of H_l, for each class
        for number in range(len(self.names)):
            change = direction.along(number)
            if number:
                assert self.matrix is not None
                change += (self.matrix @ moved[-1]) @ self.weight[number]
            moved.append(change if number + 1 == len(self.names) else change.mul_(self.rows[number] > 0))
        outputs = self.rows[-1].expand_as(moved[-1])
        back = (self.node_weights * residual_change(outputs, moved[-1])).sum(0)  # B_L
        in_matrix = None if self.matrix is None else torch.zeros_like(self.matrix)
        for number in range(len(self.names) - 1, -1, -1):
            seen = back @ self.weight[number].T
            seen += direction.against(number)
            if number:
                assert self.matrix is not None and in_matrix is not None
                in_matrix.addmm_(seen, self.rows[number - 1].T)
                sent = self.sent[number - 1].transpose(0, 1).reshape(len(seen), -1)
                in_matrix.addmm_(sent, moved[number - 1].transpose(1, 2).reshape(-1, len(seen)))
                back = (self.matrix.mT @ seen).mul_(self.rows[number - 1] > 0)
        return in_matrix, seen


class Formed:
    """A direction that was formed, as gradients are."""

    def __init__(self, passed: NodePass, direction: Gradients) -> None:
        self.passed = passed
        self.move = dict(zip(passed.network.parameter_names, direction.parts, strict=True))

    def along(self, number: int) -> Tensor:
        """``P_l V_l^c + v_l^c``."""
        name = self.passed.names[number]
        along: Tensor = self.passed.seen[number] @ self.move[f"{name}.weight"] + self.move[f"{name}.bias"].unsqueeze(1)
        return along

    def against(self, number: int) -> Tensor:
        """``sum_c D_l^c V_l^cT``."""
        return side_by_side(self.passed.slopes[number], self.move[f"{self.passed.names[number]}.weight"])


def side_by_side(left: Tensor, right: Tensor) -> Tensor:
    """``sum_c left^c right^cT`` as one product, ``n x m`` of ``C x n x h`` and ``C x m x h``."""
    wide = left.transpose(0, 1).reshape(left.shape[1], -1)
    product: Tensor = wide @ right.transpose(1, 2).reshape(-1, right.shape[1])
    return product
