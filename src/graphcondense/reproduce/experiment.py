"""What every experiment is: it runs on a dataset, and shows what came out beside what the paper has."""

from __future__ import annotations

import shlex
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import torch

from graphcondense import datasets
from graphcondense.errors import InputError, check_choice
from graphcondense.files import write_json
from graphcondense.methods import DosCond, versions
from graphcondense.presets import Preset
from graphcondense.report.charts import Panel, draw
from graphcondense.report.sheet import Sheet
from graphcondense.reproduce.effort import FULL, Effort
from graphcondense.runs.grid import Cell, plan
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Store

Row = dict[str, Any]
Result = dict[str, Any]
RunGrid = Callable[[list[Cell], GraphTask | NodeTask, Preset, Path], list[Row]]


@cache
def paper() -> dict[str, Any]:
    """The paper's figures."""
    return tomllib.loads((files("graphcondense.reproduce") / "paper.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False)
class Bench:
    """Where and how experiments run.

    Args:
        effort: how much is run.
        folder: where results and their cells go.
        run_grid: runs cells in a folder, continuing what is there, and gives the rows of their table.
        store: has the networks that were trained on whole sets.
        data_root: where the datasets are.
        say: tells the user what goes on.
    """

    effort: Effort
    folder: Path
    run_grid: RunGrid
    store: Store
    data_root: Path | None = None
    say: Callable[[str], None] = lambda _: None

    def load(self, dataset: str, kind: type[GraphTask] | type[NodeTask] = GraphTask) -> Any:
        """A dataset by name; it must be of the kind that the experiment is for."""
        task = datasets.load(dataset, data_root=self.data_root)
        if not isinstance(task, kind):
            wanted = "many graphs" if kind is GraphTask else "one graph with labelled nodes"
            raise InputError(f"--dataset {dataset} does not fit: this experiment is for datasets of {wanted}")
        return task

    def sizes(self, task: GraphTask) -> list[int]:
        """Graphs per class that are run: the paper's, unless the effort names others."""
        return paper_sizes(task.name) if self.effort.sizes is None else list(self.effort.sizes)

    def compare(
        self,
        part: str,
        task: GraphTask | NodeTask,
        methods: Sequence[str],
        sizes: Sequence[int],
        settings: dict[str, Any] | None = None,
        condense_seeds: int | None = None,
        preset: str = "paper",
    ) -> list[Row]:
        """The rows of a comparison whose cells lie in the folder ``part``."""
        chosen, methods = self.effort.preset(task, preset), self.effort.only(methods)
        if not methods:
            return []
        seeds = condense_seeds or self.effort.condense_seeds
        cells = plan(chosen, methods, sizes, seeds, self.effort.eval_seeds, settings=settings)
        return self.run_grid(cells, task, chosen, self.folder / part)


class Experiment(ABC):
    """A table or a figure of the paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]]
    """The paper's."""
    quick_datasets: ClassVar[tuple[str, ...]]
    """Those that a few minutes are enough for."""
    quick: ClassVar[Effort]
    kind: ClassVar[type[GraphTask] | type[NodeTask]] = GraphTask
    methods: ClassVar[tuple[str, ...]] = ()
    """Those that an effort may leave out; none where all are needed."""
    sized: ClassVar[bool] = False
    """Whether an effort may name other graphs per class."""

    def run(self, bench: Bench, dataset: str, command: Sequence[str]) -> Result:
        """Run on one dataset and write the result down.

        Args:
            bench: where and how.
            dataset: on what.
            command: the command line that asked for it, to be written beside the figures.
        """
        effort = bench.effort
        for method in effort.methods or ():
            if not self.methods:
                raise InputError(f"--methods {method} does not apply: {self.name} needs all of its methods")
            check_choice("method", method, self.methods)
        if effort.sizes is not None and not self.sized:
            raise InputError(f"-n {effort.sizes[0]} does not apply: {self.name} has sizes of its own")
        task = bench.load(dataset, self.kind)
        result = {
            "experiment": self.name,
            "dataset": task.name,
            "command": shlex.join(command),
            "full": effort == FULL,
            "effort": asdict(effort),
            "cuts": effort.cuts(task) + self.more_cuts(effort),
            "threads": torch.get_num_threads(),
            "versions": versions(),
            "data": self.measure(bench, task),
        }
        write_json(bench.folder / f"{self.name}-{task.name}.json", result)
        return result

    def more_cuts(self, effort: Effort) -> list[str]:
        """What else of this experiment is cut at this effort."""
        return []

    @abstractmethod
    def measure(self, bench: Bench, task: Any) -> dict[str, Any]:
        """What the experiment finds, as plain JSON values."""

    @abstractmethod
    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Tables of what was found, the paper's figures beside ours."""

    @abstractmethod
    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """A figure of what was found."""

    def draw(self, results: Sequence[Result], folder: Path, endings: Sequence[str] = ("svg", "png")) -> list[Path]:
        """The figure in ``folder``, a file an ending."""
        return draw(self.panels(results), folder / self.name, endings)

    @property
    def claim(self) -> str:
        """What the paper says of a figure."""
        return str(paper()["claims"][self.name])


def paper_sizes(dataset: str) -> list[int]:
    """Graphs per class in the paper's Table 1; for other datasets 1 and 10."""
    known = paper()["table1"].get(dataset)
    return [int(size) for size in known["doscond"]] if known else [1, 10]


def in_percent(row: Row) -> float:
    """A score as figures show it: accuracy in percent, ROC-AUC as it stands."""
    return float(row["mean"]) * (100 if row["metric"] == "accuracy" else 1)


def most_per_class(task: GraphTask, chosen: Preset) -> int:
    """Graphs a class that DosCond can start from: the smallest class's, as far as they are small enough."""
    method = chosen.method("doscond")
    assert isinstance(method, DosCond)
    small = task.train.num_nodes <= method.num_nodes(task)
    return int(torch.bincount(task.train.y[small], minlength=task.num_classes).min())
