"""Table 1: every method on every dataset, and the ablation of the norm regulariser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from graphcondense.datasets import resplit
from graphcondense.metrics import METRIC_TITLES
from graphcondense.report.charts import Curve, Panel
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text, share_text
from graphcondense.reproduce.effort import Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, Row, in_percent, paper, paper_sizes
from graphcondense.tasks import GraphTask

METHODS = ("random", "herding", "kcenter", "dcg", "doscond")
ABLATION = "doscond-no-norm"
LEGEND = (
    "n: graphs per class. ±: standard deviation over all runs. verdict: our mean is ahead of the paper's, within one "
    "of its standard deviations below, or so many of them (sd) below. cond. s, train s: seconds of one condensation, "
    "one training. bytes: of the file, over those of the training set."
)


class Table1(Experiment):
    """The paper's main table."""

    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Table 1: classification with condensed graphs"
    datasets: ClassVar[tuple[str, ...]] = tuple(paper()["table1"])
    quick_datasets: ClassVar[tuple[str, ...]] = ("MUTAG", "ogbg-molbace")
    quick: ClassVar[Effort] = Effort(condense_seeds=2, eval_seeds=3, iterations=200, epochs=100)
    methods: ClassVar[tuple[str, ...]] = ("whole", *METHODS)
    sized: ClassVar[bool] = True

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """All methods and the whole set; without the norm regulariser too, where the paper has it."""
        sizes = bench.sizes(task)
        rows = bench.compare(f"{self.name}/{task.name}", task, self.methods, sizes)
        if bench.effort.preset(task).condense["norm_weight"]:
            ablated = bench.compare(f"{self.name}/{task.name}-no-norm", task, ["doscond"], sizes, {"norm_weight": 0.0})
            rows += [row | {"method": ABLATION} for row in ablated]
        return {"rows": rows}

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """One table a dataset: paper and ours side by side, method by method."""
        return [_sheet(result["dataset"], result["data"]["rows"]) for result in results]

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Scores over the size, a curve a method."""
        return [panel(result["dataset"], result["data"]["rows"]) for result in results]


class Splits(Experiment):
    """The TU sets again on several stratified splits: their test sets are small, and one split says little."""

    name: ClassVar[str] = "table1-splits"
    title: ClassVar[str] = "Table 1 on repeated stratified splits"
    datasets: ClassVar[tuple[str, ...]] = ("MUTAG", "NCI1", "DD")
    quick_datasets: ClassVar[tuple[str, ...]] = ("MUTAG",)
    quick: ClassVar[Effort] = Effort(condense_seeds=3, eval_seeds=3, iterations=200, epochs=100)
    methods: ClassVar[tuple[str, ...]] = ("whole", *METHODS)
    sized: ClassVar[bool] = True

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """A split a condensation: what is random in one is random in the other too."""
        rows: list[Row] = []
        for seed in range(bench.effort.condense_seeds):
            part = f"{self.name}/{task.name}/split-{seed}"
            made = resplit(task, seed)
            rows += bench.compare(part, made, self.methods, bench.sizes(task), condense_seeds=1)
        return {"rows": _pooled(rows), "splits": bench.effort.condense_seeds}

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Scores over the size, a curve a method."""
        return [panel(result["dataset"], result["data"]["rows"]) for result in results]

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """One table a dataset."""
        sheets = [_sheet(result["dataset"], result["data"]["rows"], self.methods) for result in results]
        splits = [result["data"]["splits"] for result in results]
        return [
            replace(sheet, title=f"{sheet.title}, {count} stratified splits, one condensation each")
            for sheet, count in zip(sheets, splits, strict=True)
        ]


def _pooled(rows: Sequence[Row]) -> list[Row]:
    """Rows of several splits as one table: each split's mean is one sample."""
    groups: dict[tuple[str, int | None], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["graphs_per_class"]), []).append(row)
    return [_merge(members) for members in groups.values()]


def _merge(members: Sequence[Row]) -> Row:
    means = [row["mean"] for row in members]
    mean = sum(means) / len(means)
    # All splits have as many trainings: the variance of all is that within plus that between the splits.
    variance = sum(row["std"] ** 2 + (row["mean"] - mean) ** 2 for row in members) / len(members)
    averages = ("condense_seconds", "evaluate_seconds", "bytes", "share")
    merged = {name: value for name, value in members[0].items() if name not in ("vs_best", "vs_random", "is_best")}
    merged |= {name: sum(row[name] for row in members) / len(members) for name in averages}
    return merged | {
        "mean": mean,
        "std": variance**0.5,
        "runs": sum(row["runs"] for row in members),
        "condensations": len(members),
        "condensation_means": means,
    }


def published(row: Row) -> tuple[float, float] | None:
    """The paper's mean and standard deviation for a row, as fractions; ``None`` where it has none."""
    known = paper()["table1"].get(row["dataset"], {}).get(row["method"])
    if known is None:
        return None
    values = known if row["graphs_per_class"] is None else known.get(str(row["graphs_per_class"]))
    if values is None:
        return None
    scale = 100 if row["metric"] == "accuracy" else 1
    return values[0] / scale, values[1] / scale


def verdict(row: Row) -> str:
    """How our mean stands to the paper's: ``ahead``, ``within`` one of its standard deviations, or how many below."""
    theirs = published(row)
    if theirs is None:
        return ""
    gap = row["mean"] - theirs[0]
    if gap >= 0:
        return "ahead"
    return "within" if gap >= -theirs[1] else f"{gap / theirs[1]:.1f} sd" if theirs[1] else "below"


def _sheet(dataset: str, rows: Sequence[Row], order: Sequence[str] = ("whole", *METHODS, ABLATION)) -> Sheet:
    cells = []
    for row in sorted(rows, key=lambda row: (row["graphs_per_class"] or 0, order.index(row["method"]))):
        theirs = published(row)
        size = "all" if row["graphs_per_class"] is None else str(row["graphs_per_class"])
        shown = "" if theirs is None else score_text(theirs[0], theirs[1] or None, row["metric"])
        ours = score_text(row["mean"], row["std"], row["metric"])
        seconds = [f"{row['condense_seconds']:.1f}", f"{row['evaluate_seconds']:.2f}"]
        cells.append(
            [row["method"], size, shown, ours, verdict(row), str(row["runs"]), *seconds, share_text(row["share"])]
        )
    header = ["method", "n", "paper", "ours", "verdict", "runs", "cond. s", "train s", "bytes"]
    return Sheet(dataset, header, cells, [LEGEND], left=[4])


def panel(dataset: str, rows: Sequence[Row]) -> Panel:
    """Scores over the size, a curve a method; the whole set's as a line."""
    sizes = paper_sizes(dataset)
    curves = [
        Curve("whole", [sizes[0], sizes[-1]], [in_percent(row)] * 2) for row in rows if row["graphs_per_class"] is None
    ]
    for method in dict.fromkeys(row["method"] for row in rows if row["graphs_per_class"]):
        own = {row["graphs_per_class"]: in_percent(row) for row in rows if row["method"] == method}
        curves.append(Curve(method, sorted(own), [own[size] for size in sorted(own)]))
    return Panel(dataset, curves, "graphs per class", METRIC_TITLES[rows[0]["metric"]], log_x=True)
