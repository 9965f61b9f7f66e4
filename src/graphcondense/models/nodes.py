"""Networks that classify nodes: message-passing layers, the last of which gives the outputs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.models.kinds import GIN, KINDS, SGC, Parameters, Slot, apply_linear, linear_slots
from graphcondense.models.network import NetworkConfig
from graphcondense.models.views import Rows
from graphcondense.seeding import generator


class NodeNetwork:
    """A node classifier; as with :class:`graphcondense.models.Network`, the weights are not in here.

    Args:
        config: what kind of network; pooling does not matter.
        in_features: width of the node features.
        outputs: outputs a node.
    """

    def __init__(self, config: NetworkConfig, in_features: int, outputs: int) -> None:
        if config.norm != "none":
            raise InputError(f"norm={config.norm!r}: networks for nodes have none, use norm='none'")
        self.config, self.in_features, self.outputs = config, in_features, outputs
        self.kind = KINDS[config.kind](config.layers)
        self.linear_layers = isinstance(self.kind, SGC)
        if self.linear_layers:
            self._slots: dict[str, Slot] = linear_slots("hidden", in_features, outputs)
            return
        widths = [in_features, *[config.hidden] * (config.layers - 1), outputs]
        self._slots = {}
        for layer in range(1, config.layers + 1):
            self._slots |= self.kind.slots(layer, widths[layer - 1], widths[layer])

    @property
    def propagation(self) -> str:
        """The kind of propagation that batches must be prepared for."""
        return self.kind.propagation

    @property
    def levels(self) -> int:
        """Levels that a batch needs: a linear network has its propagations behind it when it multiplies."""
        return 1 if self.linear_layers else self.config.layers

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the weights, in order."""
        return tuple(self._slots)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each weight of one network."""
        return {name: slot.shape for name, slot in self._slots.items()}

    def draw(self, source: torch.Generator) -> Parameters:
        """Fresh weights of one network, each ``1 x ...``."""
        return {
            name: torch.empty(1, *slot.shape).uniform_(-slot.bound, slot.bound, generator=source)
            if slot.bound
            else torch.zeros(1, *slot.shape)
            for name, slot in self._slots.items()
        }

    def draw_seeds(self, seeds: Sequence[int]) -> Parameters:
        """Fresh weights of several networks, ``S x ...``; each depends on its own seed only."""
        drawn = [self.draw(generator(seed, "weights")) for seed in seeds]
        return {name: torch.cat([weights[name] for weights in drawn]) for name in self.parameter_names}

    def embed(self, weights: Parameters, batch: Rows) -> Tensor:
        """What the last layer's weights are multiplied with, for the batch's targets."""
        if isinstance(self.kind, SGC):
            return batch.features(self.kind.steps, 1).unsqueeze(0)
        h: Tensor | None = None
        for layer in range(1, self.config.layers):
            h = torch.relu(self.kind.convolve(weights, batch, h, layer))
        own = isinstance(self.kind, GIN)  # a GIN's last layer multiplies the sum of node and neighbours
        if h is None:
            seen = batch.features(1, 1) + batch.features(0, 1) if own else batch.features(1, 1)
            return seen.unsqueeze(0)
        seen = batch.propagate(h, self.config.layers)
        return seen + batch.own(h, self.config.layers) if own else seen

    def __call__(self, weights: Parameters, batch: Rows, masks: Sequence[Tensor] = ()) -> Tensor:
        """Outputs of the batch's targets, ``R x N x outputs``.

        Args:
            weights: as :meth:`draw` gives them.
            batch: nodes prepared for :attr:`propagation` and :attr:`levels`.
            masks: what dropout leaves of each hidden layer, already scaled; none when not training.
        """
        if isinstance(self.kind, SGC):
            return apply_linear(batch, weights, "hidden", batch.features(self.kind.steps, 1), 1)
        h: Tensor | None = None
        for layer in range(1, self.config.layers + 1):
            h = self.kind.convolve(weights, batch, h, layer)
            if layer < self.config.layers:
                h = torch.relu(h)
                if masks:
                    h = h * masks[layer - 1]
        assert h is not None
        return h
