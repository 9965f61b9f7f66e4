"""Gradients of node classifiers and slopes of matching them, written out for GCN and SGC.

With ``P_l = A H_(l-1)``, ``S_l = P_l W_l + b_l``, ``H_l = relu(S_l)`` and outputs ``S_L``, class c's loss has the
slopes ``D_l^c`` in ``S_l`` and the gradients ``g_l^c = P_l^T D_l^c``. Forwards, all classes are one: only what goes
backwards differs. The slope of a distance in the learned graph is that of ``sum_c <v^c, g^c>`` with ``v = d'(g)`` held
fixed, which is how the classes' losses change when the weights move along ``v^c``: one more pass forwards for each
class, and one backwards for all of them together.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import torch
from torch import Tensor

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


@torch.no_grad()
def real_node_gradients(network: NodeNetwork, theta: Parameters, batch: NodeBatch, weights: Tensor) -> Gradients:
    """Gradient of the weighted sum of node losses of each group of a batch.

    Args:
        network: one that is supported.
        theta: one draw of weights, ``1 x ...``.
        batch: real nodes, with groups.
        weights: weight of each target's loss.
    """
    names = _layers(network)
    first = batch.features(steps(network), 1)
    rows = [first]
    for level, name in enumerate(names, 1):
        sums = rows[-1] @ theta[f"{name}.weight"][0]
        if level > 1:
            sums = batch.propagate(sums, level)
        sums += theta[f"{name}.bias"][0]
        rows.append(sums.relu_() if level < len(names) else sums)
    slope = residuals(rows[-1], batch.y).mul_(weights.unsqueeze(-1))
    parts: dict[str, Tensor] = {}
    for level in range(len(names), 0, -1):
        name = names[level - 1]
        parts[f"{name}.bias"] = torch.stack([part.sum(0) for part in slope.split(batch.groups(level))])
        below = slope if level == 1 else batch.propagate_back(slope, level)
        parts[f"{name}.weight"] = _products(rows[level - 1], below, batch.groups(max(level - 1, 1)))
        if level > 1:
            slope = below @ theta[f"{name}.weight"][0].T
            slope *= rows[level - 1] > 0
    return Gradients.of([parts[name] for name in network.parameter_names])


def _products(left: Tensor, right: Tensor, rows: list[int]) -> Tensor:
    """``left^T right`` of each group's rows."""
    ends = [0, *accumulate(rows)]
    return torch.stack([left[a:b].T @ right[a:b] for a, b in pairwise(ends)])


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
        parts: dict[str, Tensor] = {}
        for name, seen, slope in zip(self.names, self.seen, self.slopes, strict=True):
            parts[f"{name}.weight"], parts[f"{name}.bias"] = seen.T @ slope, slope.sum(1)
        self.gradients = Gradients.of([parts[name] for name in network.parameter_names])

    @torch.no_grad()
    def slopes_along(self, direction: Gradients) -> tuple[Tensor | None, Tensor]:
        """Slopes of ``sum_c <direction^c, gradients^c>`` in the matrix and in the propagated features."""
        move = dict(zip(self.network.parameter_names, direction.parts, strict=True))
        moved: list[Tensor] = []  # of H_l, for each class
        for number, name in enumerate(self.names):
            change = self.seen[number] @ move[f"{name}.weight"] + move[f"{name}.bias"].unsqueeze(1)
            if number:
                assert self.matrix is not None
                change += (self.matrix @ moved[-1]) @ self.weight[number]
            moved.append(change if number + 1 == len(self.names) else change.mul_(self.rows[number] > 0))
        outputs = self.rows[-1].expand_as(moved[-1])
        back = (self.node_weights * residual_change(outputs, moved[-1])).sum(0)  # B_L
        in_matrix = None if self.matrix is None else torch.zeros_like(self.matrix)
        for number in range(len(self.names) - 1, -1, -1):
            name = self.names[number]
            seen = back @ self.weight[number].T
            width = seen.shape[1]
            # sum_c D^c V^cT as one product: classes and units side by side.
            wide = self.slopes[number].transpose(0, 1).reshape(len(seen), -1)
            seen += wide @ move[f"{name}.weight"].transpose(1, 2).reshape(-1, width)
            if number:
                assert self.matrix is not None and in_matrix is not None
                in_matrix.addmm_(seen, self.rows[number - 1].T)
                sent = self.sent[number - 1].transpose(0, 1).reshape(len(seen), -1)
                in_matrix.addmm_(sent, moved[number - 1].transpose(1, 2).reshape(-1, len(seen)))
                back = (self.matrix.mT @ seen).mul_(self.rows[number - 1] > 0)
        return in_matrix, seen
