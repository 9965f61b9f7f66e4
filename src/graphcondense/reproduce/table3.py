"""Table 3: node classification, GCond and DosCond."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from graphcondense.methods import GCond, NodeDosCond
from graphcondense.methods.node_doscond import NodeCondensation
from graphcondense.report.charts import Curve, Panel
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text
from graphcondense.reproduce.effort import FULL, Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, Row, in_percent, paper
from graphcondense.tasks import GraphTask, NodeTask

METHODS = ("random", "herding", "kcenter", "doscond-x", "doscond", "gcond")
OURS = ("doscond-x", "doscond")  # also with the preset "default"
_EPOCHS = 100


class Table3(Experiment):
    """One small graph for one large one. An epoch is a network: one matching step of DosCond, ``outer`` of GCond."""

    name: ClassVar[str] = "table3"
    title: ClassVar[str] = "Table 3: node classification"
    datasets: ClassVar[tuple[str, ...]] = tuple(paper()["table3"])
    quick_datasets: ClassVar[tuple[str, ...]] = ("Cora",)
    quick: ClassVar[Effort] = Effort(condense_seeds=1, eval_seeds=3, iterations=200, validate_every=10)
    kind: ClassVar[type[GraphTask] | type[NodeTask]] = NodeTask
    methods: ClassVar[tuple[str, ...]] = ("whole", *METHODS)

    def measure(self, bench: Bench, task: NodeTask) -> dict[str, Any]:
        """Scores of all methods at the paper's size, and the seconds of 100 epochs."""
        nodes = paper()["table3"].get(task.name, {}).get("nodes", 10 * task.num_classes)
        rows = bench.compare(f"{self.name}/{task.name}", task, self.methods, [nodes])
        ours = bench.compare(f"{self.name}/{task.name}-default", task, OURS, [nodes], preset="default")
        rows += [row | {"method": f"{row['method']}, default"} for row in ours]
        return {"rows": rows, "nodes": nodes, "seconds": self._seconds(task, nodes, bench.effort)}

    def more_cuts(self, effort: Effort) -> list[str]:
        """Whether times are counted up."""
        return [] if effort == FULL else [f"times counted up to {_EPOCHS} epochs from fewer"]

    @staticmethod
    def _seconds(task: NodeTask, nodes: int, effort: Effort) -> dict[str, float]:
        """Of 100 epochs of each, one after the other in one run."""
        found = {}
        epochs = _EPOCHS if effort == FULL else 5
        for name in ("doscond", "gcond"):
            method = FULL.preset(task).method(name, nodes=nodes)
            assert isinstance(method, NodeDosCond)
            run = NodeCondensation(method, task)
            outer = method.outer if isinstance(method, GCond) else 1
            run.step(0)  # fills caches, not counted
            started = time.perf_counter()
            for step in range(epochs * outer):
                run.step(step)
            found[name] = (time.perf_counter() - started) * _EPOCHS / epochs
        return found

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Scores and times, the paper's beside ours."""
        cells = []
        for result in results:
            theirs, data = paper()["table3"].get(result["dataset"], {}), result["data"]
            for row in data["rows"]:
                name = row["method"]
                seconds = data["seconds"].get(name)
                known = [theirs.get(name), theirs.get(f"{name}_seconds")]
                cells.append(
                    [
                        result["dataset"],
                        name,
                        "all" if row["nodes"] is None else str(row["nodes"]),
                        "" if known[0] is None else f"{known[0]:.1f}",
                        score_text(row["mean"], row["std"], row["metric"]),
                        str(row["runs"]),
                        "" if known[1] is None else f"{known[1]:.1f}",
                        "" if seconds is None else f"{seconds:.1f}",
                        f"{row['bytes']:,}",
                    ]
                )
        header = ["dataset", "method", "nodes", "paper", "ours", "runs", "its s", "our s", "bytes"]
        ratios = []
        for result in results:
            seconds = result["data"]["seconds"]
            times = f"{seconds['gcond'] / seconds['doscond']:.0f}"
            ratios.append(f"{result['dataset']}: DosCond is {times} times as fast as GCond.")
        note = f"Seconds of {_EPOCHS} epochs. The paper's are of a GPU. {' '.join(ratios)}"
        return [Sheet("Accuracy (%)", header, cells, [note], left=[1])]

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Scores of the methods, a panel a dataset."""
        panels = []
        for result in results:
            rows: list[Row] = result["data"]["rows"]
            places = list(range(len(rows)))
            curve = Curve("accuracy", places, [in_percent(row) for row in rows], [100 * row["std"] for row in rows])
            names = ", ".join(row["method"] for row in rows)
            panels.append(Panel(result["dataset"], [curve], names, "accuracy (%)"))
        return panels
