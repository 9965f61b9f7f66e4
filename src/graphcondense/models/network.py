"""A network is a recipe; its weights are plain tensors that can be drawn, stacked and differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.errors import check_choice, check_count
from graphcondense.graphs import GraphStore
from graphcondense.models.kinds import KINDS, SGC, Parameters, Slot, apply_linear, linear_slots
from graphcondense.models.views import GraphBatch
from graphcondense.real import RealGraphs
from graphcondense.seeding import generator

POOLINGS = ("mean", "sum")
NORMS = ("none", "instance", "batch", "nodes")
_TOGETHER = ("batch", "nodes")
_EPSILON = 1e-5
_MOMENTUM = 0.1


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is, apart from the widths that the data decides.

    Args:
        kind: ``"gcn"``, ``"sgc"``, ``"gin"``, ``"sage"`` or ``"mlp"``.
        hidden: units of each hidden layer.
        layers: message-passing layers (for ``"sgc"``: propagation steps).
        pooling: how node rows become a graph row, ``"mean"`` or ``"sum"``.
        norm: after each layer: ``"none"``, ``"instance"`` (over a graph's nodes, no weights), ``"batch"``, or
            ``"nodes"`` (over all nodes of a batch, no weights, no averages kept: what PyG's instance norm does where it
            is not told which node is of which graph). With the last, what is said of a graph depends on those that are
            scored beside it.
    """

    kind: str = "gcn"
    hidden: int = 128
    layers: int = 3
    pooling: str = "mean"
    norm: str = "none"

    def __post_init__(self) -> None:
        check_choice("model", self.kind, KINDS)
        check_count("hidden", self.hidden)
        check_count("layers", self.layers)
        check_choice("pooling", self.pooling, POOLINGS)
        check_choice("norm", self.norm, NORMS)


class Network:
    """A graph classifier: message-passing layers, pooling, one linear layer.

    The weights are not in here: every method takes them as a dict of ``R x ...`` tensors, where R is a number of
    independent networks (or of classes, see ``SparseBatch``).

    Args:
        config: what kind of network.
        in_features: width of the node features.
        outputs: outputs a graph.
    """

    def __init__(self, config: NetworkConfig, in_features: int, outputs: int) -> None:
        self.config, self.in_features, self.outputs = config, in_features, outputs
        self.kind = KINDS[config.kind](config.layers)
        self.linear_layers = isinstance(self.kind, SGC)
        self._layers = range(1, 2 if self.linear_layers else config.layers + 1)
        self._slots: dict[str, Slot] = {}
        width = in_features
        for layer in self._layers:
            self._slots |= self.kind.slots(layer, width, config.hidden)
            width = config.hidden
        self._slots |= linear_slots("head", width, outputs)

    @property
    def together(self) -> bool:
        """Whether the graphs of a batch see each other, so that it must not be taken apart."""
        return self.config.norm in _TOGETHER

    @property
    def propagation(self) -> str:
        """The kind of propagation that batches must be prepared for."""
        return self.kind.propagation

    def prepare(self, graphs: GraphStore, compress: bool = True, by_label: bool = False) -> RealGraphs:
        """Real graphs ready for this network. Norms look at more than a node's surroundings: no compression then.

        Args:
            graphs: the graphs.
            compress: whether nodes that the network cannot tell apart may share a row.
            by_label: whether batches will have groups, one a label.
        """
        norm = self.config.norm
        return RealGraphs(
            graphs,
            self.propagation,
            self.config.layers,
            compressed=compress and norm == "none",
            together=self.together,
            by_label=by_label,
        )

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the weights, in order."""
        return tuple(self._slots) + self._affine_names

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each weight of one network, in the order of :attr:`parameter_names`."""
        affine = dict.fromkeys(self._affine_names, (self.config.hidden,))
        return {name: slot.shape for name, slot in self._slots.items()} | affine

    def draw(self, source: torch.Generator) -> Parameters:
        """Fresh weights of one network, each ``1 x ...``."""
        weights = {}
        for name, slot in self._slots.items():
            weights[name] = torch.empty(1, *slot.shape)
            if slot.bound:
                weights[name].uniform_(-slot.bound, slot.bound, generator=source)
            else:
                weights[name].zero_()
        for name in self._affine_names:
            fill = torch.ones if name.endswith("scale") else torch.zeros
            weights[name] = fill(1, self.config.hidden)
        return weights

    def draw_seeds(self, seeds: Sequence[int]) -> Parameters:
        """Fresh weights of several networks, ``S x ...``; each depends on its own seed only."""
        drawn = [self.draw(generator(seed, "weights")) for seed in seeds]
        return {name: torch.cat([weights[name] for weights in drawn]) for name in self.parameter_names}

    def fresh_statistics(self, replicas: int) -> Parameters:
        """Running means and variances for batch norm, ``R x F`` each; empty without batch norm."""
        if self.config.norm != "batch":
            return {}
        shape = (replicas, self.config.hidden)
        means = {f"mean{layer}": torch.zeros(shape) for layer in self._layers}
        return means | {f"var{layer}": torch.ones(shape) for layer in self._layers}

    def embed(
        self, weights: Parameters, batch: GraphBatch, statistics: Parameters | None = None, training: bool = True
    ) -> Tensor:
        """Pooled rows, ``... x G x hidden``.

        Args:
            weights: as :meth:`draw` gives them.
            batch: graphs prepared for :attr:`propagation`.
            statistics: running statistics of batch norm: updated when training, used otherwise.
            training: whether batch norm uses the batch's own statistics.
        """
        h: Tensor | None = None
        for layer in self._layers:
            h = self.kind.convolve(weights, batch, h, layer)
            h = self._normalise(weights, batch, h, layer, statistics, training)
            if not self.linear_layers:
                h = torch.relu(h) if torch.is_grad_enabled() else h.relu_()
        assert h is not None
        return batch.pool(h, self.config.pooling, self.kind.level(self._layers[-1]))

    def classify(self, weights: Parameters, batch: GraphBatch, embedded: Tensor) -> Tensor:
        """Outputs from pooled rows, ``... x G x outputs``."""
        return apply_linear(batch, weights, "head", embedded, -1)

    def __call__(
        self, weights: Parameters, batch: GraphBatch, statistics: Parameters | None = None, training: bool = True
    ) -> Tensor:
        """Outputs, ``... x G x outputs``."""
        return self.classify(weights, batch, self.embed(weights, batch, statistics, training))

    @property
    def _affine_names(self) -> tuple[str, ...]:
        if self.config.norm != "batch":
            return ()
        return tuple(f"norm{layer}.{part}" for layer in self._layers for part in ("scale", "shift"))

    def _normalise(
        self,
        weights: Parameters,
        batch: GraphBatch,
        h: Tensor,
        layer: int,
        statistics: Parameters | None,
        training: bool,
    ) -> Tensor:
        if self.config.norm == "none":
            return h
        if self.config.norm in ("instance", "nodes"):
            moments = batch.graph_moments if self.config.norm == "instance" else batch.batch_moments
            mean, var = moments(h, self.kind.level(layer))
            return (h - mean) * torch.rsqrt(var + _EPSILON)
        if training or not statistics:
            mean, var = batch.batch_moments(h, self.kind.level(layer))
            if statistics:
                _update(statistics, layer, mean, var, h.shape[-2])
        else:
            mean, var = statistics[f"mean{layer}"].unsqueeze(1), statistics[f"var{layer}"].unsqueeze(1)
        scale, shift = weights[f"norm{layer}.scale"], weights[f"norm{layer}.shift"]
        normal = (h - mean) / torch.sqrt(var + _EPSILON)
        level = self.kind.level(layer)
        # A scale is a diagonal weight: this way gradients of groups work as for any other weight.
        return batch.add_bias(batch.linear(normal, torch.diag_embed(scale), level), shift, level)


def _update(statistics: Parameters, layer: int, mean: Tensor, var: Tensor, rows: int) -> None:
    with torch.no_grad():
        unbiased = var * (rows / max(rows - 1, 1))
        statistics[f"mean{layer}"].lerp_(mean.reshape(-1, mean.shape[-1]), _MOMENTUM)
        statistics[f"var{layer}"].lerp_(unbiased.reshape(-1, var.shape[-1]), _MOMENTUM)
