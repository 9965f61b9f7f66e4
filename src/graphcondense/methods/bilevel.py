"""Bi-level matching: DosCond with an outer and an inner loop, and DCG, which learns features alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graphcondense.methods.doscond import DosCond
from graphcondense.methods.loop import BiLevel


@dataclass(frozen=True, kw_only=True)
class DosCondBi(BiLevel, DosCond):
    """DosCond with the bi-level scheme of dataset condensation: the paper's ablation.

    ``iterations`` counts matching steps, as for :class:`DosCond`; there are ``iterations / outer`` networks.
    ``outer``, ``inner`` and ``inner_rate`` are explained at :class:`graphcondense.methods.loop.BiLevel`.

    >>> from graphcondense import load
    >>> condensed = DosCondBi(graphs_per_class=1, iterations=4, outer=2, inner=1).condense(load("digits"))
    >>> len(condensed), len(condensed.history)
    (10, 4)
    """

    name: ClassVar[str] = "doscond-bi"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_loops()


@dataclass(frozen=True, kw_only=True)
class DCG(DosCondBi):
    """Dataset condensation (Zhao et al., ICLR 2021) for graphs: real structures, features learned bi-level.

    The settings are those of :class:`DosCondBi`; the structures are those of randomly chosen training graphs, with
    isolated nodes beside them where ``pad`` says so (the paper).
    """

    name: ClassVar[str] = "dcg"
    structure_rate: float = field(default=0.0, init=False)
