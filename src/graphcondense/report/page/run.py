"""The page of one condensation."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from graphcondense.errors import GraphcondenseError
from graphcondense.evaluation import Look, Scores, evaluate_any, look, own_protocol
from graphcondense.methods import RandomNodes, RandomSelection
from graphcondense.metrics import METRIC_TITLES
from graphcondense.report.charts import Curve
from graphcondense.report.page.figures import Figure, lines, strips
from graphcondense.report.page.findings import distributions, nearest_real, plane, taken_for
from graphcondense.report.page.folder import RunFolder
from graphcondense.report.page.gallery import gallery, one_graph
from graphcondense.report.page.render import render
from graphcondense.report.tables import bytes_text, score_text, seconds_text
from graphcondense.runs.statistics import size_of
from graphcondense.synthetic import CondensedDataset, CondensedGraph, summary
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Progress

_MOST_STEPS = 300  # points of a curve
_SCORE_NAMES = ("score", "accuracy", "roc_auc", "val_score", "val_accuracy", "test_score", "test_accuracy")
_SMALL_TEST = 100  # test graphs; below, a single one moves the score by more than a point


@dataclass
class Page:
    """A page, what is not on it, and what was measured for it."""

    html: str
    left_out: list[str]
    scores: dict[str, Scores] = field(default_factory=dict)
    snapped_scores: dict[str, Scores] = field(default_factory=dict)


def run_page(
    run: RunFolder,
    task: GraphTask | NodeTask | None = None,
    *,
    seeds: int = 3,
    random: bool = False,
    known: Sequence[dict[str, Any]] = (),
    progress: Progress | None = None,
) -> Page:
    """The page of a run; what needs the real data is left out where ``task`` is not given.

    Args:
        run: the run folder.
        task: the dataset that it was made from.
        seeds: trainings for scores that were not measured before.
        random: whether to judge one random selection of the same budget, too.
        known: rows of a comparison on the same dataset, for the scores of random and of the whole set.
        progress: called with epochs done and epochs in all.
    """
    condensed = run.condensed
    kind = own_protocol(condensed).network.kind
    new, new_snapped = {}, {}  # type: dict[str, Scores], dict[str, Scores]
    seen, other = None, None
    left_out = []
    if task is not None:
        seen = look(condensed, task, seeds=1 if kind in run.scores else seeds, progress=progress)
        if kind not in run.scores:
            new[kind] = seen.scores
        if run.snapped is not None and kind not in run.snapped_scores:
            new_snapped[kind] = evaluate_any(run.snapped[1], task, seeds=seeds, progress=progress)
        if random and not _row(known, "random", condensed):
            other = _random(condensed, task, seeds)
    else:
        left_out.append(
            "The real data was not at hand (--dataset, --data-root): scores that were not kept, nearest real graphs, "
            "distributions, t-SNE and confusion matrix."
        )
    scores, snapped = run.scores | new, run.snapped_scores | new_snapped
    tests = None if task is None else len(task.split.test)
    if not _row(known, "whole", condensed):
        what = "The score of the whole set" if other else "The scores of random graphs and of the whole set"
        left_out.append(f"{what}: {_compare_command(run, other is None)}")
    if len(scores) == 1:
        folder = shlex.quote(str(run.file.parent))
        kinds = "gcn,sgc,sage" if isinstance(condensed, CondensedGraph) else "gcn,gin,sage"
        how = f"graphcondense evaluate {folder} --models {kinds}, then the report again with --force"
        if not run.result:  # a file of its own, perhaps of graphs in Python
            how = "gc.evaluate(condensed, task, model=...) in Python"
        left_out.append(f"Other networks: {how}.")
    history = history_figures(run.history, exchanges="trials" in run.condensed.info)
    if not run.history:
        left_out.append("Loss, terms, temperature and density: no history.jsonl beside the condensed file.")
    elif not any(name in record for record in run.history for name in _SCORE_NAMES):
        left_out.append("Score over iterations: it was not measured on the way.")
    classes = class_names(condensed)
    made = graphs = None
    if isinstance(condensed, CondensedGraph):
        made = one_graph(condensed, classes)
    else:
        real = task.train if isinstance(task, GraphTask) else None
        nearest = nearest_real(condensed, task, seen) if isinstance(task, GraphTask) and seen is not None else None
        graphs = gallery(condensed, real, nearest)
        if graphs.left_out:
            left_out.append(f"{graphs.left_out} of {len(condensed)} graphs are not drawn, to keep the page small.")
    html = render(
        "run.html",
        version=version("graphcondense"),
        title=f"{condensed.info.get('dataset', 'Condensed graphs')}, condensed",
        lead=_lead(condensed),
        headline=_headline(run, scores.get(kind), other, known, tests),
        scores=_score_figures(scores, snapped, other, known, condensed, tests),
        snapped=_snapped_rows(run, scores.get(kind), snapped.get(kind)),
        small_test=_small_test(tests),
        gallery=graphs,
        gallery_text="" if graphs is None else _gallery_text(graphs.shaded, task is not None),
        one_graph=made,
        classes=classes,
        findings=_findings(condensed, task, seen, classes),
        history=history,
        commands=run.commands,
        settings=_facts(condensed.info.get("settings", {})),
        evaluation=_facts(condensed.info.get("evaluation", {})),
        versions=_facts(condensed.info.get("versions", {}) | run.environment),
        left_out=left_out,
    )
    return Page(html, left_out, new, new_snapped)


def class_names(condensed: CondensedDataset | CondensedGraph) -> list[str]:
    """A name a class: the dataset's, else its number."""
    names = condensed.info.get("classes") or []
    return [names[c] if c < len(names) else str(c) for c in range(condensed.num_classes)]


def _row(known: Sequence[dict[str, Any]], method: str, condensed: CondensedDataset | CondensedGraph) -> dict[str, Any]:
    """The row of a comparison for ``method`` and, but for the whole set, the same budget."""
    if isinstance(condensed, CondensedGraph):
        size: int | None = len(condensed)
    else:
        size = condensed.info.get("settings", {}).get("graphs_per_class")
    for row in known:
        same = row["dataset"] == condensed.info.get("dataset") and row["method"] == method
        if same and (method == "whole" or size_of(row) == size):
            return row
    return {}


def _random(condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask, seeds: int) -> Scores | None:
    """One random selection of the same budget, judged in the same way; ``None`` where there are too few to select."""
    try:
        if isinstance(task, NodeTask):
            other: Any = RandomNodes(nodes=len(condensed), seed=0).condense(task)
        else:
            size = condensed.info.get("settings", {}).get(
                "graphs_per_class", max(1, len(condensed) // task.num_classes)
            )
            spread = condensed.info.get("settings", {}).get("in_proportion") is True
            other = RandomSelection(graphs_per_class=size, in_proportion=spread, seed=0).condense(task)
        return evaluate_any(other, task, seeds=seeds, protocol=own_protocol(condensed))
    except GraphcondenseError:
        return None


def _lead(condensed: CondensedDataset | CondensedGraph) -> str:
    info = condensed.info
    facts = summary(condensed)
    if isinstance(condensed, CondensedGraph):
        made = f"One graph of {facts['nodes']} nodes stands for one of {info.get('original_nodes', 0):,}"
    else:
        made = f"{facts['graphs']} small graphs stand for {info.get('train_graphs', 0):,} training graphs"
    learned = (info.get("iterations") and "trials" not in info) or "learned" in info.get("made_of", "")
    how = f"{'learned' if learned else 'chosen'} by {info.get('method', '?')}"
    return f"{made}, {how} with the preset {info.get('preset', '?')}."


def _headline(
    run: RunFolder, own: Scores | None, random: Scores | None, known: Sequence[dict[str, Any]], tests: int | None
) -> list[dict[str, str]]:
    condensed, info = run.condensed, run.condensed.info
    facts = summary(condensed)
    node = isinstance(condensed, CondensedGraph)
    before = info.get("original_nodes" if node else "train_graphs")
    what = "nodes" if node else "graphs"
    tiles = [
        _tile(what, f"{facts[what]:,}", f"instead of {before:,}" if before else f"{facts['edges']:,} edges"),
    ]
    share = facts["bytes"] / info["original_bytes"] if "original_bytes" in info else None
    tiles.append(
        _tile("file", bytes_text(facts["bytes"]), "" if share is None else f"{share:.1%} of the training set's bytes")
    )
    if own is not None:
        small = f" on {tests:,} test {what}" if tests else ""
        text = f"± is over {len(own.per_seed)} trainings{small}"
        tiles.append(_tile(METRIC_TITLES[own.metric], score_text(own.mean, own.std, own.metric), text))
    row = _row(known, "random", condensed)
    if row:
        more = f"{row['condensations']} selections of the same budget, {row['runs']} trainings"
        tiles.append(_tile("random instead", score_text(row["mean"], row["std"], row["metric"]), more))
    elif random is not None:
        more = f"one selection of the same budget, {len(random.per_seed)} trainings"
        tiles.append(_tile("random instead", score_text(random.mean, random.std, random.metric), more))
    row = _row(known, "whole", condensed)
    if row:
        tiles.append(_tile("whole set", score_text(row["mean"], row["std"], row["metric"]), f"{row['runs']} trainings"))
    if isinstance(run.result.get("seconds"), int | float):
        more = f"{info.get('iterations', 0):,} iterations"
        tiles.append(_tile("time to condense", seconds_text(run.result["seconds"]), more))
    return tiles


def _tile(what: str, value: str, more: str) -> dict[str, str]:
    return {"what": what, "value": value, "more": more}


def _score_figures(
    scores: dict[str, Scores],
    snapped: dict[str, Scores],
    random: Scores | None,
    known: Sequence[dict[str, Any]],
    condensed: CondensedDataset | CondensedGraph,
    tests: int | None,
) -> list[Figure]:
    """Per-seed scores: of the condensed set by network, and beside what else is known."""
    if not scores:
        return []
    metric = next(iter(scores.values())).metric
    scale = 100 if metric == "accuracy" else 1

    def row(name: str, one: Sequence[float]) -> tuple[str, list[float], str]:
        values = [scale * value for value in one]
        mean = sum(values) / len(values)
        std = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        return name, values, score_text(mean / scale, std / scale, metric)

    note = _small_test(tests)
    by_network = [row(name, one.per_seed) for name, one in scores.items()]
    text = "Scores of each training by network: " + "; ".join(f"{name} {end}" for name, _, end in by_network) + "."
    figures = [
        strips("Scores by network", by_network, METRIC_TITLES[metric], text, f"A dot a training. {note}".strip())
    ]
    kind = next(iter(scores))
    others = [row("condensed", scores[kind].per_seed)]
    others += [row("snapped", snapped[kind].per_seed)] if kind in snapped else []
    for method in ("random", "whole"):
        found = _row(known, method, condensed)
        if found:
            others.append(row(method, found.get("condensation_means") or [found["mean"]]))
        elif method == "random" and random is not None:
            others.append(row("random", random.per_seed))
    if len(others) > 1:
        text = f"Scores with {kind}: " + "; ".join(f"{name} {end}" for name, _, end in others) + "."
        note = f"A dot a training; of a comparison, a dot a condensation. {note}".strip()
        figures.append(strips(f"Against others ({kind})", others, METRIC_TITLES[metric], text, note))
    return figures


def _small_test(tests: int | None) -> str:
    """A warning where a score rests on few graphs."""
    if not tests or tests >= _SMALL_TEST:
        return ""
    return (
        f"Only {tests} test graphs or nodes: one more right or wrong moves a score by {100 / tests:.1f}%, so "
        "differences of a few of them mean nothing."
    )


def _snapped_rows(run: RunFolder, before: Scores | None, after: Scores | None) -> list[dict[str, str]]:
    if run.snapped is None:
        return []

    def row(name: str, condensed: Any, scores: Scores | None) -> dict[str, str]:
        return {
            "name": name,
            "score": "not measured" if scores is None else score_text(scores.mean, scores.std, scores.metric),
            "trainings": "" if scores is None else str(len(scores.per_seed)),
            "size": bytes_text(condensed.num_bytes),
        }

    return [row("as learned", run.condensed, before), row("snapped", run.snapped[1], after)]


def _gallery_text(shaded: bool, real: bool) -> str:
    how = (
        "Nodes stand where their position features put them, shaded by their first feature."
        if shaded
        else "A node's colour is its strongest feature; where it stands says only who its neighbours are."
    )
    beside = (
        " Beside each is the real training graph of its class that a network trained on the condensed set puts nearest."
        if real
        else ""
    )
    return f"Edges are those of the file. {how}{beside} Click a picture to enlarge it."


def _findings(
    condensed: CondensedDataset | CondensedGraph,
    task: GraphTask | NodeTask | None,
    seen: Look | None,
    classes: Sequence[str],
) -> list[Figure]:
    if task is None or seen is None:
        return []
    kind = "nodes" if isinstance(task, NodeTask) else "graphs"
    return [*distributions(condensed, task), plane(seen, classes, kind), taken_for(seen, classes, kind)]


def history_figures(history: Sequence[dict[str, float]], exchanges: bool = False) -> list[Figure]:
    """Curves over the iterations, of what was reported; ``exchanges``: these are rounds of exchanges of real graphs."""
    figures = []
    loss, steps = ("Error of the choice", "rounds of exchanges") if exchanges else ("Matching loss", "iterations")
    plans: list[tuple[str, tuple[tuple[str, str], ...], str, bool]] = [
        (loss, (("loss", "loss"),), "loss", True),
        ("The two terms of the bound", (("first_term", "first"), ("second_term", "second")), "value", True),
        ("Temperature", (("temperature", "temperature"),), "temperature", False),
        ("Density", (("density", "density"),), "edges over pairs of nodes", False),
        *(
            (name.replace("_", " ").capitalize(), ((name, name),), name.replace("_", " "), False)
            for name in _SCORE_NAMES
        ),
    ]
    for title, names, y_name, log in plans:
        curves = []
        for name, shown in names:
            points = [(record["iteration"], record[name]) for record in history if name in record]
            if len(points) > 1:
                kept = points[:: max(1, len(points) // _MOST_STEPS)]
                kept += [points[-1]] if kept[-1] != points[-1] else []
                curves.append(Curve(shown, [x for x, _ in kept], [y for _, y in kept]))
        if curves:
            ends = "; ".join(f"{curve.name} from {curve.y[0]:.3g} to {curve.y[-1]:.3g}" for curve in curves)
            text = f"{title} over {int(curves[0].x[-1]):,} {steps}: {ends}."
            figures.append(lines(title, curves, "round" if exchanges else "iteration", y_name, text, log_y=log))
    return figures


def _facts(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Settings as names and texts; what lies within others is named by both."""
    rows = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _facts(value, f"{prefix}{name}.")
        else:
            rows.append((prefix + name, f"{value:.6g}" if isinstance(value, float) else str(value)))
    return rows


def _compare_command(run: RunFolder, with_random: bool) -> str:
    info, condensed = run.condensed.info, run.condensed
    size = (
        f"--nodes {len(condensed)}"
        if isinstance(condensed, CondensedGraph)
        else (f"-n {info.get('settings', {}).get('graphs_per_class', 10)}")
    )
    if info.get("settings", {}).get("in_proportion") is True:
        size += " --in-proportion"
    source = shlex.quote(str(info.get("source") or "DATASET"))
    return (
        f"graphcondense compare {source} {size} --methods whole,random,{info.get('method', 'doscond')} --out table, "
        f"then the report with --compare table{' (or --random for one random selection)' if with_random else ''}."
    )
