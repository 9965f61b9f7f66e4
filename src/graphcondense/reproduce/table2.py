"""Table 2: how long herding and DosCond take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from graphcondense.methods import Condenser, DosCond, Herding
from graphcondense.methods.doscond import Condensation
from graphcondense.models import Network
from graphcondense.presets import Preset
from graphcondense.report.charts import Curve, Panel
from graphcondense.report.sheet import Sheet
from graphcondense.reproduce.effort import FULL, Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, paper, paper_sizes
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, train

_WARM_UP = 2  # iterations that fill caches and are not counted
_FEWEST = 5  # that are


class Table2(Experiment):
    """Running times. Below the full effort some iterations and epochs are timed and counted up to all of them."""

    name: ClassVar[str] = "table2"
    title: ClassVar[str] = "Table 2: running time"
    datasets: ClassVar[tuple[str, ...]] = ("CIFAR10", "ogbg-molhiv", "DD")
    quick_datasets: ClassVar[tuple[str, ...]] = ("DD", "ogbg-molhiv")
    quick: ClassVar[Effort] = Effort(iterations=10, epochs=2)

    def more_cuts(self, effort: Effort) -> list[str]:
        """Whether times are counted up."""
        return [] if effort == FULL else ["times are counted up from those iterations and epochs to all of them"]

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """Seconds of each. Nothing else should be running."""
        whole, cut = FULL.preset(task), bench.effort.preset(task)
        sizes = paper_sizes(task.name)
        trained = self._training(task, cut.protocol.recipe, whole)
        rows = []
        for size in sizes:
            selected = self._selection(task, whole.method("herding", graphs_per_class=size))
            method = whole.method("doscond", graphs_per_class=size)
            assert isinstance(method, DosCond)
            condensed, iterations = self._condensing(task, method, bench.effort.iterations or method.iterations)
            rows.append(
                {
                    "graphs_per_class": size,
                    "herding_seconds": trained["seconds"] + selected,
                    "doscond_seconds": condensed,
                    "iterations_timed": iterations,
                }
            )
            bench.say(f"{task.name}, {size} a class: herding {rows[-1]['herding_seconds']:.0f} s, {condensed:.0f} s")
        return {"rows": rows, "training": trained}

    @staticmethod
    def _training(task: GraphTask, cut: Recipe, whole: Preset) -> dict[str, Any]:
        network = Network(whole.network, task.num_features, task.num_outputs)
        train(network, task.train, task.val, [0], replace(cut, epochs=1), task.metric)  # fills caches, not counted
        started = time.perf_counter()
        train(network, task.train, task.val, [0], cut, task.metric)
        seconds = time.perf_counter() - started
        # Every epoch of the full training validates, so every timed one must.
        return {"seconds": seconds / cut.epochs * whole.recipe.epochs, "epochs_timed": cut.epochs}

    @staticmethod
    def _selection(task: GraphTask, method: Condenser) -> float:
        """Seconds of embedding and choosing, once the network is there."""
        assert isinstance(method, Herding)
        store = Store()
        quick = replace(method, recipe=replace(method.recipe, epochs=1, validate_every=1))
        quick.condense(task, store=store)
        started = time.perf_counter()
        quick.condense(task, store=store)
        return time.perf_counter() - started

    @staticmethod
    def _condensing(task: GraphTask, method: DosCond, iterations: int) -> tuple[float, int]:
        iterations = max(iterations, _WARM_UP + _FEWEST)
        started = time.perf_counter()
        run = Condensation(method, task)
        for iteration in range(_WARM_UP):
            run.step(iteration)
        prepared = time.perf_counter() - started
        started = time.perf_counter()
        for iteration in range(_WARM_UP, iterations):
            run.step(iteration)
        each = (time.perf_counter() - started) / (iterations - _WARM_UP)
        return prepared + each * (method.iterations - _WARM_UP), iterations

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Minutes over the size."""
        panels = []
        for result in results:
            rows = result["data"]["rows"]
            sizes = [row["graphs_per_class"] for row in rows]
            curves = [
                Curve(title, sizes, [row[f"{name}_seconds"] / 60 for row in rows])
                for name, title in (("herding", "Herding"), ("doscond", "DosCond"))
            ]
            panels.append(Panel(result["dataset"], curves, "graphs per class", "minutes", log_x=True, log_y=True))
        return panels

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Minutes, ours on this machine's processor beside the paper's on a GPU."""
        cells = []
        for result in results:
            known = paper()["table2"].get(result["dataset"], {})
            for row in result["data"]["rows"]:
                size = str(row["graphs_per_class"])
                theirs = [known.get(method, {}).get(size) for method in ("herding", "doscond")]
                ours = [row["herding_seconds"] / 60, row["doscond_seconds"] / 60]
                ratio = f"{ours[0] / ours[1]:.1f}x"
                paper_ratio = f"{theirs[0] / theirs[1]:.1f}x" if all(theirs) else ""
                texts = ["" if value is None else f"{value:.2f}" for value in (*theirs, *ours)]
                cells.append([result["dataset"], size, *texts[:2], paper_ratio, *texts[2:], ratio])
        header = ["dataset", "n", "herding", "DosCond", "ratio", "our herding", "our DosCond", "ratio"]
        threads = sorted({result["threads"] for result in results})
        machine = f"Minutes. The paper's are of a GPU, ours of {threads[0] if threads else '?'} threads of a CPU."
        return [Sheet("Minutes for one selection or condensation", header, cells, [machine])]
