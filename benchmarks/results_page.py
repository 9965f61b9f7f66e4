"""docs/results.md and docs/figures from the JSON that ``graphcondense reproduce`` wrote; no figure is typed by hand.

``python benchmarks/results_page.py [FOLDER]`` first takes over the JSON files of FOLDER (where ``reproduce --out`` put
them) into ``benchmarks/results/reproduce``, then writes the page. What there is to say of single cells is in
``results_notes.toml``.

A stored file whose name goes on behind the dataset's (``beyond-NCI1-coresets.json``) is of another command on the same
dataset: rows that the plain file has not are taken from it, and its command is named, too.
"""

from __future__ import annotations

import json
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Any

from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text
from graphcondense.reproduce import EXPERIMENTS, Experiment, Result
from graphcondense.reproduce.beyond import Beyond
from graphcondense.reproduce.table1 import METHODS, published
from graphcondense.runs.statistics import supported

HERE = Path(__file__).resolve().parent
STORED = HERE / "results" / "reproduce"
DOCS = HERE.parent / "docs"
BASELINES = METHODS[:-1]
Row = dict[str, Any]


def take_over(folder: Path) -> None:
    """Copy the results of experiments, and nothing else, from ``folder``."""
    STORED.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*-*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if result.get("experiment") in EXPERIMENTS:
            (STORED / path.name).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def stored(experiment: Experiment) -> list[Result]:
    """The results of an experiment, in the paper's order of datasets, others behind."""
    found = [
        json.loads(path.read_text(encoding="utf-8")) | {"file": path.stem} for path in sorted(STORED.glob("*.json"))
    ]
    own = joined([result for result in found if result["experiment"] == experiment.name])
    if isinstance(experiment, Beyond):
        own = [beside_table1(result, found) for result in own]
    order = {name: place for place, name in enumerate(experiment.datasets)}
    return sorted(own, key=lambda result: (order.get(result["dataset"], len(order)), result["dataset"]))


def joined(results: list[Result]) -> list[Result]:
    """One result a dataset: that of the plain file, with rows that it has not from the others, which are ``also``."""
    plain = {one["dataset"]: one for one in results if one["file"] == f"{one['experiment']}-{one['dataset']}"}
    for other in results:
        one = plain[other["dataset"]]
        if other is one or other["file"] == one["file"]:
            continue
        rows = one["data"]["rows"]
        known = {(row["method"], row["graphs_per_class"]) for row in rows}
        more = [row for row in other["data"]["rows"] if (row["method"], row["graphs_per_class"]) not in known]
        also = other | {"rows": rows_in_words(more, known)}
        data = one["data"] | {"rows": [*rows, *more]}
        if "networks" in data:  # of the sizes that the plain file has not
            sizes = {row["graphs_per_class"] for row in data["networks"]}
            networks = [row for row in other["data"].get("networks", []) if row["graphs_per_class"] not in sizes]
            data["networks"] = [*data["networks"], *networks]
        plain[other["dataset"]] = one | {"data": data, "also": [*one.get("also", []), also]}
    return list(plain.values())


def rows_in_words(rows: list[Row], known: set[tuple[str, int]]) -> list[str]:
    """Methods of ``rows``; with their sizes where other sizes of a method are known."""
    sizes: dict[str, list[str]] = {}
    for row in rows:
        sizes.setdefault(row["method"], []).append(str(row["graphs_per_class"]))
    elsewhere = {method for method, _ in known}
    return [f"{name} at {' and '.join(own)}" if name in elsewhere else name for name, own in sizes.items()]


def beside_table1(result: Result, found: list[Result]) -> Result:
    """``result`` with Table 1's rows of the whole set and of DosCond, the same protocol, where it has none itself."""
    rows = result["data"]["rows"]
    own = {row["method"] for row in rows}
    tables = [one["data"]["rows"] for one in found if one["experiment"] == "table1"]
    more = [row for table in tables for row in table if row["dataset"] == result["dataset"]]
    more = [row for row in more if row["method"] in {"whole", "doscond"} - own]
    return result | {"data": result["data"] | {"rows": [*rows, *more]}}


def render(docs: Path = DOCS) -> str:
    """The page; its figures are drawn on the way."""
    notes = tomllib.loads((HERE / "results_notes.toml").read_text(encoding="utf-8"))
    parts = [notes["head"]]
    for experiment in EXPERIMENTS.values():
        results = stored(experiment)
        parts.append(f"## {experiment.title}\n")
        absent = [name for name in experiment.datasets if name not in {result["dataset"] for result in results}]
        if absent:
            parts.append(f"Not run so far: {', '.join(absent)}.\n")
        if not results:
            parts.append(f"`graphcondense reproduce {experiment.name}` runs it.\n")
            continue
        if experiment.name in notes:
            parts.append(notes[experiment.name])
        pictures = experiment.draw(results, docs / "figures", ["svg"])
        parts += [f"![{experiment.title}](figures/{path.name})\n" for path in pictures]
        parts += [sheet.markdown() for sheet in experiment.sheets(results)]
        if experiment.name == "table1":
            parts += [against_baselines(results).markdown(), tally(results, notes["behind"])]
            parts.append(differing_cells(results, notes["cells"]))
        runs = [run for result in results for run in (result, *result.get("also", []))]
        parts += ["Made by:\n", "```", *dict.fromkeys(run["command"] for run in runs), "```\n"]
        cut = [f"- {run['dataset']}{of_rows(run)}: {'; '.join(run['cuts'])}." for run in runs if run["cuts"]]
        if cut:
            parts += ["Less than the paper's protocol:\n", *cut, ""]
        parts.append(with_what(results))
    parts.append(notes["tail"])
    return "\n".join(parts)


def of_rows(run: Result) -> str:
    """Which rows are of a run that is not a dataset's only one."""
    return f" ({', '.join(run['rows'])})" if "rows" in run else ""


def with_what(results: list[Result]) -> str:
    """Seeds, threads and versions, in a line."""
    versions = ", ".join(f"{name} {number}" for name, number in results[0]["versions"].items())
    return f"Seeds count from 0. {versions}.\n"


def rows_of(results: list[Result]) -> list[Row]:
    """All rows of all datasets."""
    return [row for result in results for row in result["data"]["rows"]]


def against_baselines(results: list[Result]) -> Sheet:
    """Where DosCond stands to each baseline, in the paper and here."""
    cells = []
    for result in results:
        rows = {(row["method"], row["graphs_per_class"]): row for row in result["data"]["rows"]}
        for size in sorted({size for _, size in rows if size}):
            own = rows.get(("doscond", size))
            if own is None:
                continue
            line = [result["dataset"], str(size)]
            for name in BASELINES:
                other = rows.get((name, size))
                theirs = [published(row) for row in (own, other) if row is not None]
                if other is None or len(theirs) < 2 or None in theirs:
                    line.append("")
                    continue
                paper_gap = theirs[0][0] - theirs[1][0]  # type: ignore[index]
                line.append(f"{gap_text(own, other)} / {signed(paper_gap, own['metric'])}")
            cells.append(line)
    header = ["dataset", "n", *BASELINES]
    note = (
        "DosCond minus the baseline, ours / the paper's. In brackets: our spread does not support a difference "
        "(Welch's t-test over condensations, 5%); with a question mark: one condensation only, so it cannot be told."
    )
    return Sheet("DosCond against each baseline", header, cells, [note])


def tally(results: list[Result], notes: dict[str, str]) -> str:
    """How often DosCond is ahead, and a paragraph on each baseline that is ahead of it by more than the spread."""
    count = {"ahead": 0, "ahead, supported": 0, "behind": 0, "behind, supported": 0}
    paragraphs = []
    for result in results:
        rows = {(row["method"], row["graphs_per_class"]): row for row in result["data"]["rows"]}
        for (name, size), other in rows.items():
            own = rows.get(("doscond", size))
            if name not in BASELINES or own is None:
                continue
            side = "ahead" if own["mean"] >= other["mean"] else "behind"
            count[side] += 1
            if supported(own["condensation_means"], other["condensation_means"]):
                count[f"{side}, supported"] += 1
                if side == "behind":
                    note = notes.get(f"{result['dataset']}/{name}", notes.get(name, ""))
                    gap = signed(other["mean"] - own["mean"], own["metric"])
                    paragraphs.append(
                        f"**{result['dataset']}, {size} a class**: {name} is ahead by {gap}. {note}".rstrip()
                    )
    words = (
        f"DosCond is ahead of a baseline in {count['ahead']} comparisons (by more than the spread in "
        f"{count['ahead, supported']}) and behind in {count['behind']} (by more than the spread in "
        f"{count['behind, supported']}). In the paper it is ahead, or level, in all."
    )
    return "\n\n".join([words, *paragraphs]) + "\n"


def gap_text(own: Row, other: Row) -> str:
    """The difference of two rows, marked where the spread does not support it."""
    text = signed(own["mean"] - other["mean"], own["metric"])
    told = supported(own["condensation_means"], other["condensation_means"])
    return f"{text}?" if told is None else text if told else f"({text})"


def signed(gap: float, metric: str) -> str:
    """A difference of scores."""
    return f"{100 * gap:+.1f}" if metric == "accuracy" else f"{gap:+.3f}"


def differing_cells(results: list[Result], notes: dict[str, str]) -> str:
    """A paragraph on each cell that is farther from the paper's than both spreads; one for a set that is another."""
    paragraphs = ["### Cells that differ from the paper's by more than the spread\n"]
    paragraphs.append(
        "A cell is listed where our mean is farther from the paper's than the larger of the two standard deviations.\n"
    )
    paragraphs += [
        f"**{result['dataset']}, all cells**: {notes[result['dataset']]}\n"
        for result in results
        if result["dataset"] in notes
    ]
    for row in rows_of(results):
        theirs = published(row)
        if row["dataset"] in notes or theirs is None or abs(row["mean"] - theirs[0]) <= max(row["std"], theirs[1]):
            continue
        size = row["graphs_per_class"]
        name = f"{row['dataset']}, {row['method']}" + ("" if size is None else f", {size} a class")
        text = (
            f"**{name}**: ours {score_text(row['mean'], row['std'], row['metric'])}, the paper's "
            f"{score_text(*theirs, row['metric'])}."
        )
        if row["condensations"] > 1:
            means = row["condensation_means"]
            shown = [score_text(value, None, row["metric"]) for value in (min(means), max(means))]
            between = score_text(statistics.stdev(means), None, row["metric"])
            text += f" Our {len(means)} condensations have means of {shown[0]} to {shown[1]} (sd {between})."
        keys = (f"{row['dataset']}/{row['method']}/{size}", f"{row['dataset']}/{row['method']}", row["method"])
        paragraphs.append(" ".join([text, next((notes[key] for key in keys if key in notes), "")]).rstrip() + "\n")
    if len(paragraphs) == 2:
        paragraphs.append("None.\n")
    return "\n".join(paragraphs)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_over(Path(sys.argv[1]))
    (DOCS / "results.md").write_text(render(), encoding="utf-8")
