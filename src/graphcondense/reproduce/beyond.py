"""Past the paper: what was added since, judged by the paper's protocol beside the paper's own method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from graphcondense.report.charts import Panel
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text, share_text
from graphcondense.reproduce.effort import Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, paper_sizes
from graphcondense.reproduce.table1 import panel, published
from graphcondense.tasks import GraphTask

METHODS = ("doscond", "random-soft", "herding-soft", "pursuit")


class Beyond(Experiment):
    """Soft labels and trials, all with the preset ``paper``: its network, its recipe, its DosCond among the tried."""

    name: ClassVar[str] = "beyond"
    title: ClassVar[str] = "Past the paper at the same size"
    datasets: ClassVar[tuple[str, ...]] = (
        "ogbg-molbace",
        "ogbg-molbbbp",
        "ogbg-molhiv",
        "DD",
        "MUTAG",
        "NCI1",
        "amazon-ego",
        "digits",
    )
    quick_datasets: ClassVar[tuple[str, ...]] = ("MUTAG",)
    quick: ClassVar[Effort] = Effort(condense_seeds=2, eval_seeds=3, iterations=200, epochs=100)
    methods: ClassVar[tuple[str, ...]] = METHODS

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """All methods at the sizes of Table 1."""
        return {"rows": bench.compare(f"{self.name}/{task.name}", task, self.methods, paper_sizes(task.name))}

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """One table a dataset."""
        return [_sheet(result) for result in results]

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Scores over the size, a curve a method."""
        return [panel(result["dataset"], result["data"]["rows"]) for result in results]


def _sheet(result: Result) -> Sheet:
    rows = sorted(
        result["data"]["rows"], key=lambda row: (row["graphs_per_class"] or 0, ("whole", *METHODS).index(row["method"]))
    )
    cells = []
    for row in rows:
        theirs = published(row | {"method": "doscond"}) if row["graphs_per_class"] else published(row)
        cells.append(
            [
                row["method"],
                str(row["graphs_per_class"] or "all"),
                "" if theirs is None else score_text(theirs[0], theirs[1] or None, row["metric"]),
                score_text(row["mean"], row["std"], row["metric"]),
                f"{row['condensations']} x {row['runs'] // row['condensations']}",
                f"{row['condense_seconds']:.1f}",
                share_text(row["share"]),
            ]
        )
    header = ["method", "n", "paper's DosCond", "ours", "runs", "cond. s", "bytes"]
    note = "paper's DosCond: its published figure at that size, or its whole set. runs: condensations x trainings."
    return Sheet(result["dataset"], header, cells, [note])
