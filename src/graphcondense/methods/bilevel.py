"""Bi-level matching: DosCond with an outer and an inner loop, and DCG, which learns features alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from graphcondense.errors import InputError, check_at_least, check_count
from graphcondense.matching import Matcher
from graphcondense.methods.doscond import DosCond
from graphcondense.methods.weights import FreshWeights, TrainedWeights


@dataclass(frozen=True, kw_only=True)
class DosCondBi(DosCond):
    """DosCond with the bi-level scheme of dataset condensation: the paper's ablation.

    ``iterations`` counts matching steps, as for :class:`DosCond`; there are ``iterations / outer`` networks.

    Args:
        outer: matching steps at one network; before each but the first, the network is trained on.
        inner: steps of training on the synthetic graphs before each.
        inner_rate: Adam's rate for them.

    >>> from graphcondense import load
    >>> condensed = DosCondBi(graphs_per_class=1, iterations=4, outer=2, inner=1).condense(load("digits"))
    >>> len(condensed), len(condensed.history)
    (10, 4)
    """

    name: ClassVar[str] = "doscond-bi"
    outer: int = 2
    inner: int = 5
    inner_rate: float = 0.005

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("outer", self.outer)
        check_count("inner", self.inner)
        check_at_least("inner_rate", self.inner_rate, 0)
        if not 0 < self.inner_rate < math.inf:
            raise InputError(f"inner_rate={self.inner_rate!r} must be above zero and finite")

    def weights(self, matcher: Matcher, source: torch.Generator) -> FreshWeights:
        """Weights that are trained on the synthetic graphs between two matching steps."""
        return TrainedWeights(matcher, source, self.outer, self.inner, self.inner_rate)


@dataclass(frozen=True, kw_only=True)
class DCG(DosCondBi):
    """Dataset condensation (Zhao et al., ICLR 2021) for graphs: real structures, features learned bi-level.

    The settings are those of :class:`DosCondBi`; the structures are those of randomly chosen training graphs, with
    isolated nodes beside them where ``pad`` says so (the paper).
    """

    name: ClassVar[str] = "dcg"
    structure_rate: float = field(default=0.0, init=False)
