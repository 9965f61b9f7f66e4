"""Past the paper: what was added since, judged by the paper's protocol beside the paper's own method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from statistics import fmean, pstdev
from typing import Any, ClassVar

from graphcondense.evaluation import Protocol, evaluate
from graphcondense.files import parse_json, write_json
from graphcondense.report.charts import Panel
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text, share_text
from graphcondense.reproduce.effort import Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, Row
from graphcondense.reproduce.table1 import Splits, panel, published
from graphcondense.synthetic import CondensedDataset, json_safe
from graphcondense.tasks import GraphTask

HARD = "pursuit-hard"
METHODS = ("whole", "doscond", "random-soft", "herding-soft", "pursuit", HARD)
_TRANSFERRED, _TRAININGS = 2, 5  # condensations that other networks are trained on, and how many networks on each


def others(protocol: Protocol) -> dict[str, Protocol]:
    """What else than the judge is trained on the same graphs."""
    network, recipe = protocol.network, protocol.recipe
    return {
        "GIN": replace(protocol, network=replace(network, kind="gin")),
        "GraphSAGE": replace(protocol, network=replace(network, kind="sage")),
        "GCN, 512 units, rate 0.003": replace(
            protocol, network=replace(network, hidden=512), recipe=replace(recipe, rate=0.003)
        ),
    }


class Beyond(Experiment):
    """Soft labels and pursuit, all with the preset ``paper``: its network, its recipe, its DosCond beside them."""

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
    sized: ClassVar[bool] = True

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """All methods at the sizes of Table 1, and other networks on what pursuit chose."""
        part = f"{self.name}/{task.name}"
        rows = bench.compare(part, task, [name for name in METHODS if name != HARD], bench.sizes(task))
        wanted = bench.effort.only(METHODS)
        if HARD in wanted:
            every = replace(bench, effort=replace(bench.effort, methods=None))
            hard = every.compare(f"{part}-hard", task, ["pursuit"], bench.sizes(task), {"labels": "own"})
            rows += [row | {"method": HARD} for row in hard]
        return {"rows": rows, "networks": transferred(bench, task, part) if "pursuit" in wanted else []}

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """One table a dataset, and one of other networks for all."""
        sheets = [_sheet(result) for result in results]
        return sheets + ([_networks(results)] if any(result["data"].get("networks") for result in results) else [])

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Scores over the size, a curve a method."""
        return [panel(result["dataset"], result["data"]["rows"]) for result in results]


class BeyondSplits(Splits):
    """The same on splits that no choice of ours was made with."""

    name: ClassVar[str] = "beyond-splits"
    title: ClassVar[str] = "Past the paper on repeated stratified splits"
    methods: ClassVar[tuple[str, ...]] = tuple(name for name in METHODS if name != HARD)


def transferred(bench: Bench, task: GraphTask, part: str) -> list[Row]:
    """Scores of other networks on the graphs that pursuit chose; each is kept as soon as it is there."""
    protocols = others(bench.effort.preset(task).protocol)
    trainings = min(_TRAININGS, bench.effort.eval_seeds)
    rows = []
    for size in bench.sizes(task):
        for name, protocol in protocols.items():
            scores: list[float] = []
            for seed in range(min(_TRANSFERRED, bench.effort.condense_seeds)):
                scores += _scores(bench, task, part, f"pursuit-{size}-{seed}", name, protocol, trainings)
            found = {"mean": fmean(scores), "std": pstdev(scores), "runs": len(scores)}
            rows.append({"network": name, "graphs_per_class": size, "metric": task.metric, **found})
    return rows


def _scores(
    bench: Bench, task: GraphTask, part: str, stem: str, name: str, protocol: Protocol, trainings: int
) -> list[float]:
    """Scores of one kind of network on one condensed set: what was kept, if it is of the very same."""
    folder = bench.folder / part
    made = folder / f"{stem}.safetensors"
    kept = folder / "networks" / f"{stem}-{name.replace(', ', '-').replace(' ', '-')}.json"
    asked = json_safe(
        {"protocol": protocol.to_dict(), "trainings": trainings, "graphs": sha256(made.read_bytes()).hexdigest()}
    )
    known = parse_json(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if known.get("asked") != asked:
        bench.say(f"{task.name}: {name} on {stem}")
        scores = evaluate(CondensedDataset.load(made), task, seeds=trainings, protocol=protocol)
        known = {"asked": asked, **scores.to_dict()}
        kept.parent.mkdir(exist_ok=True)
        write_json(kept, known)
    return list(known["per_seed"])


def _networks(results: Sequence[Result]) -> Sheet:
    """Scores of other networks, the judge's before them."""
    names = list(others(Protocol()))
    cells = []
    for result in results:
        rows = {(row["network"], row["graphs_per_class"]): row for row in result["data"].get("networks", [])}
        own = {row["graphs_per_class"]: row for row in result["data"]["rows"] if row["method"] == "pursuit"}
        for size in sorted({size for _, size in rows}):
            shown = [own[size], *(rows[name, size] for name in names)]
            cells.append(
                [result["dataset"], str(size), *(score_text(row["mean"], row["std"], row["metric"]) for row in shown)]
            )
    note = (
        "Test scores of networks trained on pursuit's graphs, which were chosen with the judge's. judge: as above; "
        f"others: at most {_TRANSFERRED} of the condensations and {_TRAININGS} trainings each."
    )
    return Sheet("Other networks on the same graphs", ["dataset", "n", "judge", *names], cells, [note])


def _sheet(result: Result) -> Sheet:
    rows = sorted(result["data"]["rows"], key=lambda row: (row["graphs_per_class"] or 0, METHODS.index(row["method"])))
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
