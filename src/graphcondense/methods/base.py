"""What every method is: settings that were checked when it was built, and ``condense``."""

from __future__ import annotations

import importlib.metadata
import platform
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

from graphcondense.errors import InputError, check_count
from graphcondense.graphs import GraphStore, payload_bytes
from graphcondense.machine import keep_freed_memory
from graphcondense.methods.budget import in_proportion
from graphcondense.methods.callbacks import Callback
from graphcondense.synthetic import CondensedDataset, json_safe
from graphcondense.tasks import GraphTask
from graphcondense.training import Store

_STORE = Store()


def versions() -> dict[str, str]:
    """What a result was made with."""
    packages = ("graphcondense", "torch", "torch_geometric", "numpy")
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in packages}


class Condenser(Protocol):
    """What methods for graph tasks and for node tasks have in common, for those who run either."""

    name: ClassVar[str]
    size_name: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seed(self) -> int:
        """Decides everything that is drawn."""

    @property
    def size(self) -> int | None:
        """Graphs per class, or nodes."""

    def check(self, task: Any) -> None:
        """Raise if ``task`` cannot give what the settings ask for."""

    def condense(self, task: Any, callbacks: Sequence[Callback] = (), store: Store | None = None) -> Any:
        """The condensed dataset or graph."""


@dataclass(frozen=True, eq=False)
class Made:
    """What a method has made.

    Args:
        graphs: class after class.
        history: what each iteration measured.
        facts: what the method has to say besides, for the file.
    """

    graphs: GraphStore
    history: list[dict[str, float]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to make a few graphs stand for many.

    Args:
        graphs_per_class: how many graphs each class gets.
        in_proportion: spread as many graphs over the classes in proportion to their training graphs instead, at least
            one each.
        seed: decides everything that is drawn.
    """

    name: ClassVar[str]
    size_name: ClassVar[str] = "graphs_per_class"
    in_parts: ClassVar[bool] = False
    """Whether the training graphs may be in several processes."""
    graphs_per_class: int = 10
    in_proportion: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("graphs_per_class", self.graphs_per_class)
        if not isinstance(self.in_proportion, bool):
            raise InputError(f"in_proportion={self.in_proportion!r} must be true or false")
        check_count("seed", self.seed, minimum=0)

    @property
    def size(self) -> int | None:
        """Graphs per class."""
        return self.graphs_per_class

    def class_sizes(self, task: GraphTask) -> list[int]:
        """Graphs that each class gets; every class must have as many training graphs."""
        counts, wanted = task.train_class_counts, self.graphs_per_class
        fewest, smallest = (int(value) for value in counts.min(0))
        total = wanted * task.num_classes
        names = task.class_names or tuple(str(label) for label in range(task.num_classes))
        if fewest == 0:
            raise InputError(
                f"graphs_per_class={wanted} is more than the 0 training graphs of class {names[smallest]}: leave the "
                "class out, or give it training graphs"
            )
        if self.in_proportion:
            if total > int(counts.sum()):
                most = int(counts.sum()) // task.num_classes
                raise InputError(
                    f"graphs_per_class={wanted} of {task.num_classes} classes is more than all {int(counts.sum())} "
                    f"training graphs: use {most} or fewer"
                )
            return in_proportion(counts, total)
        if fewest < wanted:
            raise InputError(
                f"graphs_per_class={wanted} is more than the {fewest} training graphs of class {names[smallest]}: use "
                f"{fewest} or fewer, or spread them in proportion (in_proportion, --in-proportion)"
            )
        return [wanted] * task.num_classes

    def condense(
        self, task: GraphTask, callbacks: Sequence[Callback] = (), store: Store | None = None
    ) -> CondensedDataset:
        """The condensed dataset, with all settings and what it came from in ``info``.

        Args:
            task: what to condense.
            callbacks: told of every iteration.
            store: has the networks that were trained on the whole set before, for the methods that need one; by
                default those of this process.
        """
        if not isinstance(task, GraphTask):
            raise InputError(
                f"task={type(task).__name__} must be a task: make one with gc.graph_task(your graphs); for the nodes "
                "of one graph, use gc.NodeDosCond"
            )
        if task.part is not None and not self.in_parts:
            raise InputError(f"method {self.name!r} cannot be spread over several processes: run it without torchrun")
        self.check(task)
        keep_freed_memory()
        made = self._condense(task, callbacks, store or _STORE)
        info = {
            "dataset": task.name,
            "method": self.name,
            "settings": asdict(self),
            "classes": list(task.class_names),
            "position_features": task.position_features,
            "source": task.source,
            **({"feature_names": list(task.feature_names)} if task.feature_names else {}),
            "train_graphs": int(task.train_class_counts.sum()),
            "original_bytes": payload_bytes(task.train) if task.part is None else task.part.original_bytes,
            "iterations": len(made.history),
            "last": made.history[-1] if made.history else {},
            "versions": versions(),
            **made.facts,
        }
        return CondensedDataset(made.graphs, task.num_classes, task.metric, json_safe(info), made.history)

    @abstractmethod
    def check(self, task: GraphTask) -> None:
        """Raise if ``task`` cannot give what the settings ask for; cheap, so that a long run fails before it starts."""

    @abstractmethod
    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        """The graphs, class after class, and what was measured."""
