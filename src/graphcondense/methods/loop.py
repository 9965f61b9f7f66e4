"""What condensations of graphs and of nodes have in common: settings to check, the temperature, the loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from graphcondense.errors import InputError, check_at_least, check_choice, check_count
from graphcondense.matching import DISTANCES
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.run import Record, Run, Steps
from graphcondense.methods.weights import Matches, TrainedWeights
from graphcondense.models import NetworkConfig


class Matching:
    """The settings that every matching method has; classes with these fields take it as a base."""

    network: NetworkConfig
    iterations: int
    real_batch: int | str
    distance: str
    final_temperature: float
    annealing: int
    horizon: int

    def check_matching(self) -> None:
        """Raise if one of them is wrong."""
        for argument in ("iterations", "annealing", "horizon"):
            check_count(argument, getattr(self, argument))
        if self.real_batch != "all":
            check_count("real_batch", self.real_batch)
        for argument in ("feature_rate", "structure_rate", "sparsity_weight", "norm_weight", "logit_strength"):
            check_at_least(argument, getattr(self, argument), 0)
        check_at_least("final_temperature", self.final_temperature, 0)
        if not 0 < self.final_temperature <= 1:
            raise InputError(f"final_temperature={self.final_temperature!r} must be in (0, 1]")
        if not isinstance(self.network, NetworkConfig):
            raise InputError(f"network={self.network!r} must be a NetworkConfig, e.g. NetworkConfig('sgc')")
        check_choice("distance", self.distance, DISTANCES)

    @property
    def rates(self) -> dict[str, float]:
        """The rates by name: that of the features, of the structure, of the networks where they are trained."""
        names = ("feature_rate", "structure_rate", "inner_rate")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def temperature(self, iteration: int) -> float:
        """Temperature of the binary concrete distribution at ``iteration`` (from 0): it falls geometrically from 1."""
        return float(max(self.final_temperature, self.final_temperature ** (iteration / self.annealing)))

    def iterate(self, steps: Steps, task: Any, callbacks: Sequence[Callback]) -> tuple[Any, list[Record]]:
        """Take all steps, telling the callbacks; the graphs, and what each step measured."""
        hooks, run = Callbacks(callbacks), Run(steps, task, self.iterations)
        try:
            hooks.on_run(run)
            hooks.on_start(self.iterations)
            while not run.done:
                record = run.advance()
                hooks.on_iteration(len(run.history), record)
        finally:
            hooks.on_end()
        return run.result(), run.history


@dataclass(frozen=True, kw_only=True)
class BiLevel:
    """The settings that every bi-level method has, and the weights that they make.

    Args:
        outer: matching steps at one network; before each but the first, the network is trained on.
        inner: steps of training on what is being learned before each.
        inner_rate: Adam's rate for them.
    """

    outer: int = 2
    inner: int = 5
    inner_rate: float = 0.005

    def check_loops(self) -> None:
        """Raise if one of them is wrong."""
        check_count("outer", self.outer)
        check_count("inner", self.inner)
        check_at_least("inner_rate", self.inner_rate, 0)
        if not 0 < self.inner_rate < math.inf:
            raise InputError(f"inner_rate={self.inner_rate!r} must be above zero and finite")

    def weights(self, matcher: Matches, source: torch.Generator) -> TrainedWeights:
        """Weights that are trained on what is being learned between two matching steps."""
        return TrainedWeights(matcher, source, self.outer, self.inner, self.inner_rate)
