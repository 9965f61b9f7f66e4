"""Gradients of the GCN and slopes of matching them, written out: what autograd would do, with less in between.

Everything is a handful of matrix products. With ``P_l = A H_(l-1)``, ``H_l = relu(P_l W_l + b_l)``, pooled rows and one
linear layer on top, a backward pass gives ``D_l`` (the loss's slope in layer l's sums) and the gradients
``g_l = P_l^T D_l``. The slope of a distance ``d(g)`` in the synthetic graphs is that of ``<v, g>`` with ``v = d'(g)``
held fixed, and this is how the loss's own slope changes when the weights move along ``v``: one more pass forwards and
one backwards, seven products a layer in all, and nothing is kept that is not used again.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from graphcondense.matching.gradients import Gradients
from graphcondense.matching.workspace import Workspace
from graphcondense.models import Network, Parameters
from graphcondense.real import SparseBatch
from graphcondense.synthetic import DenseBatch
from graphcondense.training import residual_change, residuals


def supports(network: Network) -> bool:
    """Whether this network is the one that is written out here."""
    return network.config.kind == "gcn" and network.config.norm == "none"


@torch.no_grad()
def sparse_gradients(
    network: Network, theta: Parameters, batch: SparseBatch, weights: Tensor, space: Workspace
) -> Gradients:
    """Gradient of the weighted sum of graph losses of each group of a batch.

    Args:
        network: a GCN without norms.
        theta: one draw of weights, ``1 x ...``.
        batch: real graphs; without groups they are all one.
        weights: weight of each graph's loss, ``G``.
        space: memory to use again.
    """
    layers, pooling = network.config.layers, network.config.pooling
    rows = [batch.features(1, 1)]
    found = _Found(network, len(batch.groups(-1)), rows[0])
    for layer in range(1, layers + 1):
        weight, bias = theta[f"conv{layer}.weight"][0], theta[f"conv{layer}.bias"][0]
        out = space("first rows" if layer == 1 else "sums", (len(rows[-1]), weight.shape[1]), weight)
        sums = torch.mm(rows[-1], weight, out=out)
        if layer > 1:
            sums = batch.propagate(sums, layer)
        rows.append(sums.add_(bias).relu_())
    pooled, head = batch.pool(rows[-1], pooling, layers), theta["head.weight"][0]
    slope = residuals(torch.addmm(theta["head.bias"][0], pooled, head), batch.y).mul_(weights.unsqueeze(-1))
    found.put_weight("head", pooled, slope, batch.groups(-1))
    found.put_bias("head", slope, batch.groups(-1))
    out = space("last slope", tuple(rows[-1].shape), head)
    slope = torch.mm(batch.spread(slope, pooling), head.T, out=out)
    for layer in range(layers, 0, -1):
        _cut(slope, rows[layer])
        found.put_bias(f"conv{layer}", slope, batch.groups(layer))
        if layer > 1:
            slope = batch.propagate_back(slope, layer)
        found.put_weight(f"conv{layer}", rows[layer - 1], slope, batch.groups(max(layer - 1, 1)))
        if layer > 1:
            out = space("slope", (len(rows[layer - 1]), rows[layer - 1].shape[1]), slope)
            slope = torch.mm(slope, theta[f"conv{layer}.weight"][0].T, out=out)
    return found.gradients


def _cut(slope: Tensor, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """``slope`` where ``rows`` are above zero, the slope of the rectifier: in place, or into ``out``."""
    cut: Tensor = torch.ops.aten.threshold_backward.grad_input(slope, rows, 0, grad_input=slope if out is None else out)
    return cut


class _Found:
    """Class gradients while they are being found."""

    def __init__(self, network: Network, groups: int, like: Tensor) -> None:
        shapes = network.shapes
        flat = like.new_empty(groups, sum(math.prod(shape) for shape in shapes.values()))
        self.gradients = Gradients(flat, list(shapes.values()))
        self.parts = dict(zip(shapes, self.gradients.parts, strict=True))

    def put_weight(self, layer: str, left: Tensor, right: Tensor, rows: list[int]) -> None:
        """``left^T right`` of each group's rows. The rows differ in number, so there is a product a group."""
        out = self.parts[f"{layer}.weight"]
        for group, (one, two) in enumerate(zip(left.split(rows), right.split(rows), strict=True)):
            torch.mm(one.T, two, out=out[group])

    def put_bias(self, layer: str, slope: Tensor, rows: list[int]) -> None:
        """Sum of each group's rows."""
        out = self.parts[f"{layer}.bias"]
        for group, part in enumerate(slope.split(rows)):
            torch.sum(part, 0, out=out[group])


class DensePass:
    """A pass through dense graphs: the class gradients, and the slopes of anything that is made of them.

    Args:
        network: a GCN without norms.
        theta: one draw of weights, ``1 x ...``.
        batch: ``C`` groups of ``m`` graphs.
        y: labels, ``C x m``.
        weights: weight of each graph's loss, ``C x m``.
        space: memory to use again; this pass is void when another one takes it.
    """

    @torch.no_grad()
    def __init__(
        self, network: Network, theta: Parameters, batch: DenseBatch, y: Tensor, weights: Tensor, space: Workspace
    ) -> None:
        assert batch.matrix is not None
        self.network, self.layers, self.space = network, network.config.layers, space
        self.groups, self.graphs, self.nodes = batch.x.shape[:3]
        self.weight = [theta[f"conv{layer}.weight"][0] for layer in range(1, self.layers + 1)]
        self.matrix, self.x = batch.matrix.detach().flatten(0, 1), batch.x.detach().flatten(0, 1)
        self.share = batch.node_shares(network.config.pooling)  # of a node in its graph's row
        self.head, self.graph_weights = theta["head.weight"][0], weights.reshape(-1, 1)
        self.seen: list[Tensor] = []  # P_l
        self.rows = [self.x]  # H_l
        for layer, weight in enumerate(self.weight, 1):
            seen = torch.bmm(self.matrix, self.rows[-1], out=self._room(f"seen{layer}", weight.shape[0]))
            rows = self._room(f"rows{layer}", weight.shape[1])
            torch.addmm(theta[f"conv{layer}.bias"][0], _flat(seen), weight, out=_flat(rows)).relu_()
            self.seen.append(seen)
            self.rows.append(rows)
        self.pooled = self._pool(self.rows[-1])
        self.outputs = torch.addmm(theta["head.bias"][0], self.pooled, self.head)
        self.residual = residuals(self.outputs, y.flatten(0, 1)).mul_(self.graph_weights)
        self.gradients = self._backward()

    def _room(self, name: str, width: int) -> Tensor:
        return self.space(name, (self.groups * self.graphs, self.nodes, width), self.x)

    def _pool(self, rows: Tensor) -> Tensor:
        if isinstance(self.share, float):
            return rows.sum(1).mul_(self.share)
        return torch.bmm(self.share, rows).squeeze(1)

    def _spread(self, pooled: Tensor, name: str) -> Tensor:
        """The transpose of pooling, where the last layer's rows are above zero."""
        out = self._room(name, pooled.shape[1])
        if isinstance(self.share, float):
            spread = (pooled * self.share).unsqueeze(1).expand_as(out)
        else:
            spread = torch.bmm(self.share.mT, pooled.unsqueeze(1), out=out)
        return _cut(spread, self.rows[-1], out)

    def _grouped(self, rows: Tensor) -> Tensor:
        return rows.view(self.groups, -1, rows.shape[-1])

    def _backward(self) -> Gradients:
        found = _Found(self.network, self.groups, self.x)
        self._put(found, "head", self.pooled, self.residual)
        self.slopes: list[Tensor] = []  # D_l
        self.sent: list[Tensor] = []  # Q_l = D_l W_l^T, from the second layer
        slope = self._spread(self.residual @ self.head.T, f"slope{self.layers}")
        for layer in range(self.layers, 0, -1):
            self._put(found, f"conv{layer}", self.seen[layer - 1], slope)
            self.slopes.insert(0, slope)
            if layer > 1:
                sent = self._room(f"sent{layer}", self.weight[layer - 1].shape[0])
                torch.mm(_flat(slope), self.weight[layer - 1].T, out=_flat(sent))
                self.sent.insert(0, sent)
                slope = torch.bmm(self.matrix.mT, sent, out=self._room(f"slope{layer - 1}", sent.shape[-1]))
                _cut(slope, self.rows[layer - 1])
        return found.gradients

    def _put(self, found: _Found, layer: str, left: Tensor, right: Tensor) -> None:
        left, right = self._grouped(left), self._grouped(right)
        torch.bmm(left.mT, right, out=found.parts[f"{layer}.weight"])
        torch.sum(right, 1, out=found.parts[f"{layer}.bias"])

    @torch.no_grad()
    def slopes_along(self, direction: Gradients) -> tuple[Tensor, Tensor]:
        """Slopes of ``<direction, gradients>`` in the propagation matrix and in the features."""
        move = dict(zip(self.network.parameter_names, direction.parts, strict=True))
        moved = self._moved(move)
        head = move["head.weight"]
        output = self._grouped(torch.mm(self._pool(moved[-1]), self.head)).baddbmm_(self._grouped(self.pooled), head)
        output.add_(move["head.bias"].unsqueeze(1))
        residual = residual_change(self.outputs, _flat(output)).mul_(self.graph_weights)
        back = self._grouped(residual @ self.head.T).baddbmm_(self._grouped(self.residual), head.mT)
        slope = self._spread(_flat(back), "change of slope")
        in_matrix = torch.empty_like(self.matrix)
        for layer in range(self.layers, 0, -1):
            weight = self.weight[layer - 1]
            sent = self._room("change of sent", weight.shape[0])
            torch.mm(_flat(slope), weight.T, out=_flat(sent))
            self._grouped(sent).baddbmm_(self._grouped(self.slopes[layer - 1]), move[f"conv{layer}.weight"].mT)
            below = self.rows[layer - 1].mT
            if layer == self.layers:
                torch.bmm(sent, below, out=in_matrix)
            else:
                in_matrix.baddbmm_(sent, below)
            if layer > 1:
                in_matrix.baddbmm_(self.sent[layer - 2], moved[layer - 1].mT)
                slope = torch.bmm(self.matrix.mT, sent, out=self._room("change of slope", sent.shape[-1]))
                _cut(slope, self.rows[layer - 1])
        return in_matrix, torch.bmm(self.matrix.mT, sent)

    def _moved(self, move: dict[str, Tensor]) -> list[Tensor]:
        """How the rows of each layer move; the features do not."""
        moved = [self.x]
        for layer, weight in enumerate(self.weight, 1):
            change = self._room(f"moved{layer}", weight.shape[1])
            seen, direction = self._grouped(self.seen[layer - 1]), move[f"conv{layer}.weight"]
            if layer == 1:
                torch.bmm(seen, direction, out=self._grouped(change))
            else:
                passed_on = torch.bmm(self.matrix, moved[-1], out=self._room("moved and seen", weight.shape[0]))
                torch.mm(_flat(passed_on), weight, out=_flat(change))
                self._grouped(change).baddbmm_(seen, direction)
            self._grouped(change).add_(move[f"conv{layer}.bias"].unsqueeze(1))
            moved.append(_cut(change, self.rows[layer]))
        return moved


def _flat(rows: Tensor) -> Tensor:
    return rows.view(-1, rows.shape[-1])
