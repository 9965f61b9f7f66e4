"""Gradients of the GCN and slopes of matching them, written out: what autograd would do, with less in between.

Everything is a handful of matrix products. With ``P_l = A H_(l-1)``, ``H_l = relu(P_l W_l + b_l)``, pooled rows and one
linear layer on top, a backward pass gives ``D_l`` (the loss's slope in layer l's sums) and the gradients
``g_l = P_l^T D_l``. The slope of a distance ``d(g)`` in the synthetic graphs is the slope of ``<v, g>`` with ``v = d'(g)``
held fixed, and that is the change of the loss's own slope when the weights move along ``v`` (dots below): one more pass
forwards and one backwards, seven products a layer in all.
"""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.models import Network, Parameters
from graphcondense.real import SparseBatch
from graphcondense.synthetic import DenseBatch
from graphcondense.training import residual_change, residuals

Gradients = list[Tensor]
_below_zero_cut = torch.ops.aten.threshold_backward.grad_input


def supports(network: Network) -> bool:
    """Whether this network is the one that is written out here."""
    return network.config.kind == "gcn" and network.config.norm == "none"


def sparse_gradients(network: Network, theta: Parameters, batch: SparseBatch, weights: Tensor) -> Gradients:
    """Gradient of the weighted sum of graph losses of each group of a batch, one ``C x ...`` tensor a parameter.

    Args:
        network: a GCN without norms.
        theta: one draw of weights, ``1 x ...``.
        batch: real graphs; without groups they are all one.
        weights: weight of each graph's loss, ``G``.
    """
    layers = network.config.layers
    first = batch.features(1, 1)
    rows = [first]
    for layer in range(1, layers + 1):
        weight = theta[f"conv{layer}.weight"][0]
        sums = torch.mm(rows[-1], weight)
        if layer > 1:
            sums = batch.propagate(sums, layer)
        rows.append(sums.add_(theta[f"conv{layer}.bias"][0]).relu_())
    pooled = batch.pool(rows[-1], network.config.pooling, layers)
    head = theta["head.weight"][0]
    slope = residuals(torch.addmm(theta["head.bias"][0], pooled, head), batch.y) * weights.unsqueeze(-1)
    found = {"head": _weight_and_bias(pooled, slope, batch.groups(-1))}
    slope = batch.spread(slope @ head.T, network.config.pooling)
    for layer in range(layers, 0, -1):
        _below_zero_cut(slope, rows[layer], 0, grad_input=slope)
        bias = _group_sums(slope, batch.groups(layer))
        if layer > 1:
            slope = batch.propagate_back(slope, layer)
        found[f"conv{layer}"] = (_group_products(rows[layer - 1], slope, batch.groups(max(layer - 1, 1))), bias)
        if layer > 1:
            slope = torch.mm(slope, theta[f"conv{layer}.weight"][0].T)
    return _in_order(network, found)


def _group_products(left: Tensor, right: Tensor, rows: list[int]) -> Tensor:
    """``left^T right`` of each group's rows."""
    out = left.new_empty(len(rows), left.shape[1], right.shape[1])
    for group, (a, b) in enumerate(zip(left.split(rows), right.split(rows), strict=True)):
        torch.mm(a.T, b, out=out[group])
    return out


def _group_sums(h: Tensor, rows: list[int]) -> Tensor:
    return torch.stack([part.sum(0) for part in h.split(rows)])


def _weight_and_bias(left: Tensor, right: Tensor, rows: list[int]) -> tuple[Tensor, Tensor]:
    return _group_products(left, right, rows), _group_sums(right, rows)


def _in_order(network: Network, found: dict[str, tuple[Tensor, Tensor]]) -> Gradients:
    parts = {}
    for layer, (weight, bias) in found.items():
        parts[f"{layer}.weight"], parts[f"{layer}.bias"] = weight, bias
    return [parts[name] for name in network.parameter_names]


class DensePass:
    """A pass through dense graphs: the class gradients, and the slopes of anything that is made of them.

    Args:
        network: a GCN without norms.
        theta: one draw of weights, ``1 x ...``.
        batch: ``C`` groups of ``m`` graphs.
        y: labels, ``C x m``.
        weights: weight of each graph's loss, ``C x m``.
    """

    def __init__(self, network: Network, theta: Parameters, batch: DenseBatch, y: Tensor, weights: Tensor) -> None:
        assert batch.matrix is not None
        self.network, self.layers = network, network.config.layers
        self.groups, self.graphs, self.nodes = batch.x.shape[:3]
        self.weight = [theta[f"conv{layer}.weight"][0] for layer in range(1, self.layers + 1)]
        self.matrix = batch.matrix.detach().flatten(0, 1)
        self.share = batch.node_shares(network.config.pooling)  # of a node in its graph's row
        self.head, self.graph_weights = theta["head.weight"][0], weights.reshape(-1, 1)
        self.x = batch.x.detach().flatten(0, 1)
        below = self.x
        self.seen: list[Tensor] = []  # P_l
        self.rows = [below]  # H_l
        for layer, weight in enumerate(self.weight, 1):
            self.seen.append(torch.bmm(self.matrix, below))
            below = torch.addmm(theta[f"conv{layer}.bias"][0], self.seen[-1].flatten(0, 1), weight).relu_()
            below = below.view(-1, self.nodes, below.shape[-1])
            self.rows.append(below)
        self.pooled = self._pool(below)
        self.outputs = torch.addmm(theta["head.bias"][0], self.pooled, self.head)
        self.residual = residuals(self.outputs, y.flatten(0, 1)).mul_(self.graph_weights)
        self.gradients = self._backward()

    def _pool(self, rows: Tensor) -> Tensor:
        if isinstance(self.share, float):
            return rows.sum(1).mul_(self.share)
        return torch.bmm(self.share, rows).squeeze(1)

    def _spread(self, pooled: Tensor) -> Tensor:
        if isinstance(self.share, float):
            return (pooled * self.share).unsqueeze(1).expand(-1, self.nodes, -1)
        return torch.bmm(self.share.mT, pooled.unsqueeze(1))

    def _grouped(self, rows: Tensor) -> Tensor:
        return rows.reshape(self.groups, -1, rows.shape[-1])

    def _backward(self) -> Gradients:
        pooled, residual = self._grouped(self.pooled), self._grouped(self.residual)
        found = {"head": (torch.bmm(pooled.mT, residual), residual.sum(1))}
        self.slopes: list[Tensor] = []  # D_l, from the last layer to the first
        self.sent: list[Tensor] = []  # Q_l = D_l W_l^T, from the last layer to the second
        slope = self._spread(self.residual @ self.head.T)
        for layer in range(self.layers, 0, -1):
            slope = _masked(slope, self.rows[layer])
            grouped = self._grouped(slope)
            found[f"conv{layer}"] = (torch.bmm(self._grouped(self.seen[layer - 1]).mT, grouped), grouped.sum(1))
            self.slopes.insert(0, slope)
            if layer > 1:
                sent = torch.mm(slope.flatten(0, 1), self.weight[layer - 1].T).view_as(self.rows[layer - 1])
                self.sent.insert(0, sent)
                slope = torch.bmm(self.matrix.mT, sent)
        return _in_order(self.network, found)

    def slopes_along(self, direction: Gradients) -> tuple[Tensor, Tensor]:
        """Slopes of ``<direction, gradients>`` in the propagation matrix and in the features."""
        move = dict(zip(self.network.parameter_names, direction, strict=True))
        moved: list[Tensor] = []  # change of H_l, from l = 1
        change = torch.baddbmm(move["conv1.bias"].unsqueeze(1), self._grouped(self.seen[0]), move["conv1.weight"])
        for layer in range(1, self.layers + 1):
            if layer > 1:
                flat = torch.bmm(self.matrix, moved[-1]).flatten(0, 1)
                change = self._grouped(torch.mm(flat, self.weight[layer - 1]))
                change.baddbmm_(self._grouped(self.seen[layer - 1]), move[f"conv{layer}.weight"])
                change.add_(move[f"conv{layer}.bias"].unsqueeze(1))
            change = change.view_as(self.rows[layer])
            _below_zero_cut(change, self.rows[layer], 0, grad_input=change)
            moved.append(change)
        pooled, head = self._pool(moved[-1]), move["head.weight"]
        output = self._grouped(torch.mm(pooled, self.head)).baddbmm_(self._grouped(self.pooled), head)
        output.add_(move["head.bias"].unsqueeze(1))
        residual = residual_change(self.outputs, output.flatten(0, 1)).mul_(self.graph_weights)
        back = self._grouped(residual @ self.head.T).baddbmm_(self._grouped(self.residual), head.mT)
        slope = self._spread(back.flatten(0, 1))
        in_matrix: Tensor | None = None
        for layer in range(self.layers, 0, -1):
            slope = _masked(slope, self.rows[layer])
            sent = self._grouped(torch.mm(slope.flatten(0, 1), self.weight[layer - 1].T))
            sent.baddbmm_(self._grouped(self.slopes[layer - 1]), move[f"conv{layer}.weight"].mT)
            sent = sent.view(*slope.shape[:-1], -1)
            below = self.rows[layer - 1].mT
            in_matrix = torch.bmm(sent, below) if in_matrix is None else in_matrix.baddbmm_(sent, below)
            if layer > 1:
                in_matrix.baddbmm_(self.sent[layer - 2], moved[layer - 2].mT)
            slope = torch.bmm(self.matrix.mT, sent)
        assert in_matrix is not None
        return in_matrix, slope


def _masked(slope: Tensor, rows: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward(slope, rows, 0)
