"""The networks' node layers: each kind is written once and runs on any batch of graphs, sparse or dense."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from graphcondense.models.views import Rows

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Slot:
    """A weight to be drawn: its shape and the half-width of its uniform distribution (zero for zeros)."""

    shape: tuple[int, ...]
    bound: float


def glorot(fan_in: int, fan_out: int) -> Slot:
    """Glorot's uniform weights."""
    return Slot((fan_in, fan_out), math.sqrt(6.0 / (fan_in + fan_out)))


def zeros(width: int) -> Slot:
    """A bias that starts at zero."""
    return Slot((width,), 0.0)


def linear_slots(name: str, fan_in: int, fan_out: int, bias: bool = True) -> dict[str, Slot]:
    """Weights as ``torch.nn.Linear`` draws them: uniform within ``1 / sqrt(fan_in)``."""
    bound = 1.0 / math.sqrt(fan_in)
    slots = {f"{name}.weight": Slot((fan_in, fan_out), bound)}
    if bias:
        slots[f"{name}.bias"] = Slot((fan_out,), bound)
    return slots


def apply_linear(batch: Rows, weights: Parameters, name: str, h: Tensor, level: int) -> Tensor:
    """A linear layer on the rows of ``level``."""
    return batch.add_bias(batch.linear(h, weights[f"{name}.weight"], level), weights[f"{name}.bias"], level)


class GCN:
    """Graph convolutions with symmetric normalisation and self loops (Kipf and Welling): the paper's network."""

    propagation = "gcn"

    def slots(self, layer: int, fan_in: int, fan_out: int) -> dict[str, Slot]:
        """Weights of layer ``layer`` (from 1)."""
        return {f"conv{layer}.weight": glorot(fan_in, fan_out), f"conv{layer}.bias": zeros(fan_out)}

    def convolve(self, weights: Parameters, batch: Rows, h: Tensor | None, layer: int) -> Tensor:
        """Propagate and transform; the first layer's propagation does not depend on weights, so the batch keeps it."""
        weight = weights[f"conv{layer}.weight"]
        if h is None:
            out = batch.linear(batch.features(1, layer), weight, layer)
        else:
            out = batch.propagate(batch.linear(h, weight, layer - 1), layer)
        return batch.add_bias(out, weights[f"conv{layer}.bias"], layer)

    def level(self, layer: int) -> int:
        """The level of a layer's rows."""
        return layer


class GIN:
    """Sum of the neighbours and the node itself, through a two-layer perceptron (Xu et al.)."""

    propagation = "sum"

    def slots(self, layer: int, fan_in: int, fan_out: int) -> dict[str, Slot]:
        """Weights of layer ``layer`` (from 1)."""
        return linear_slots(f"conv{layer}.first", fan_in, fan_out) | linear_slots(
            f"conv{layer}.second", fan_out, fan_out
        )

    def convolve(self, weights: Parameters, batch: Rows, h: Tensor | None, layer: int) -> Tensor:
        """The perceptron of node plus neighbours; its first product comes before the sum, where there are less rows."""
        weight = weights[f"conv{layer}.first.weight"]
        if h is None:
            gathered = batch.linear(batch.features(0, layer) + batch.features(1, layer), weight, layer)
        else:
            h = batch.linear(h, weight, layer - 1)
            gathered = batch.own(h, layer) + batch.propagate(h, layer)
        hidden = torch.relu(batch.add_bias(gathered, weights[f"conv{layer}.first.bias"], layer))
        return apply_linear(batch, weights, f"conv{layer}.second", hidden, layer)

    def level(self, layer: int) -> int:
        """The level of a layer's rows."""
        return layer


class SAGE:
    """GraphSAGE: one weight for the node, one for the mean of its neighbours (Hamilton et al.)."""

    propagation = "mean"

    def slots(self, layer: int, fan_in: int, fan_out: int) -> dict[str, Slot]:
        """Weights of layer ``layer`` (from 1)."""
        neighbours = linear_slots(f"conv{layer}.neighbours", fan_in, fan_out)
        return neighbours | linear_slots(f"conv{layer}.own", fan_in, fan_out, bias=False)

    def convolve(self, weights: Parameters, batch: Rows, h: Tensor | None, layer: int) -> Tensor:
        """Transformed node plus transformed mean of the neighbours."""
        of_neighbours, of_own = weights[f"conv{layer}.neighbours.weight"], weights[f"conv{layer}.own.weight"]
        if h is None:
            mean = batch.linear(batch.features(1, layer), of_neighbours, layer)
            own = batch.linear(batch.features(0, layer), of_own, layer)
        else:
            mean = batch.propagate(batch.linear(h, of_neighbours, layer - 1), layer)
            own = batch.own(batch.linear(h, of_own, layer - 1), layer)
        return batch.add_bias(mean + own, weights[f"conv{layer}.neighbours.bias"], layer)

    def level(self, layer: int) -> int:
        """The level of a layer's rows."""
        return layer


class MLP:
    """No structure at all: what the node features alone can do."""

    propagation = "none"

    def slots(self, layer: int, fan_in: int, fan_out: int) -> dict[str, Slot]:
        """Weights of layer ``layer`` (from 1)."""
        return linear_slots(f"conv{layer}", fan_in, fan_out)

    def convolve(self, weights: Parameters, batch: Rows, h: Tensor | None, layer: int) -> Tensor:
        """A linear layer."""
        return apply_linear(batch, weights, f"conv{layer}", batch.features(0, 0) if h is None else h, 0)

    def level(self, layer: int) -> int:
        """No neighbour is ever looked at: rows stay at level 0."""
        return 0


@dataclass(frozen=True)
class SGC:
    """Simple graph convolution, the network of the paper's theorem: ``Pool(A^K X W1) W2``, nothing in between."""

    steps: int = 3
    propagation = "gcn"

    def slots(self, layer: int, fan_in: int, fan_out: int) -> dict[str, Slot]:
        """The one hidden weight."""
        return linear_slots("hidden", fan_in, fan_out)

    def convolve(self, weights: Parameters, batch: Rows, h: Tensor | None, layer: int) -> Tensor:
        """Propagated features, transformed."""
        return apply_linear(batch, weights, "hidden", batch.features(self.steps, self.steps), self.steps)

    def level(self, layer: int) -> int:
        """All steps at once."""
        return self.steps


Kind = GCN | GIN | SAGE | MLP | SGC
KINDS: MappingProxyType[str, Callable[[int], Kind]] = MappingProxyType(
    {
        "gcn": lambda layers: GCN(),
        "sgc": lambda layers: SGC(layers),
        "gin": lambda layers: GIN(),
        "sage": lambda layers: SAGE(),
        "mlp": lambda layers: MLP(),
    }
)
