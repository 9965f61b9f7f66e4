"""Soft labels for real graphs that were chosen: what a teacher of the whole set says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from graphcondense.errors import InputError, check_count
from graphcondense.methods.base import Made, Method
from graphcondense.methods.callbacks import Callback
from graphcondense.methods.coresets import Herding
from graphcondense.methods.selection import RandomSelection
from graphcondense.methods.teachers import fit_teacher
from graphcondense.models import NetworkConfig
from graphcondense.tasks import GraphTask
from graphcondense.training import Store, Teacher


@dataclass(frozen=True, kw_only=True)
class Soft(Method):
    """A way to choose graphs, with labels that say how much of each class a graph is.

    A soft label is a number a class; it counts in the bytes of the file, and fitting the teacher in the seconds.

    Args:
        network: the kind of network that the teacher's untrained ones are of.
        teacher_networks: how many the teacher averages.
        teacher_hidden: their width.
    """

    network: NetworkConfig = NetworkConfig()
    teacher_networks: int = 4
    teacher_hidden: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, NetworkConfig):
            raise InputError(f"network={self.network!r} must be a NetworkConfig, e.g. NetworkConfig('gin')")
        check_count("teacher_networks", self.teacher_networks)
        check_count("teacher_hidden", self.teacher_hidden)

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        made = super()._condense(task, callbacks, store)  # type: ignore[safe-super]
        return replace(made, graphs=replace(made.graphs, y=self.teacher(task).probabilities(made.graphs)))

    def teacher(self, task: GraphTask) -> Teacher:
        """The teacher of ``task``."""
        return fit_teacher(task, self.network, self.teacher_networks, self.teacher_hidden, self.seed)


@dataclass(frozen=True, kw_only=True)
class RandomSoft(Soft, RandomSelection):
    """Random graphs with soft labels: what every method that learns graphs must beat."""

    name: ClassVar[str] = "random-soft"


@dataclass(frozen=True, kw_only=True)
class HerdingSoft(Soft, Herding):
    """Herding's graphs with soft labels."""

    name: ClassVar[str] = "herding-soft"
