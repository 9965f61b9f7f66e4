"""The table of a comparison: for the terminal, as Markdown, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphcondense.files import write_aside, write_json
from graphcondense.metrics import METRIC_TITLES
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import bytes_text, score_text, seconds_text, share_text
from graphcondense.runs.statistics import size_of

Row = dict[str, Any]
CSV_COLUMNS = (
    "dataset",
    "method",
    "graphs_per_class",
    "nodes",
    "metric",
    "mean",
    "std",
    "runs",
    "condensations",
    "condense_seconds",
    "evaluate_seconds",
    "graphs",
    "bytes",
    "share",
    "break_even",
    "is_best",
    "difference_to_best",
    "difference_to_best_supported",
    "difference_to_random",
    "difference_to_random_supported",
)


@dataclass(frozen=True)
class _Column:
    title: str
    text: Callable[[Row], str]


def _size(row: Row) -> str:
    return "all" if size_of(row) is None else str(size_of(row))


def _mark(row: Row) -> str:
    """``*`` for the best of its size, ``=`` for what the spread cannot tell from it, ``?`` where it cannot be told."""
    if "is_best" not in row:
        return ""
    if row["is_best"]:
        return "*"
    return {True: "", False: "=", None: "?"}[row["vs_best"]["supported"]]


def _over_random(row: Row) -> str:
    """The difference to random selection; in brackets where the spread does not support it."""
    if "vs_random" not in row:
        return ""
    scale, digits = (100, 1) if row["metric"] == "accuracy" else (1, 3)
    text = f"{row['vs_random']['difference'] * scale:+.{digits}f}"
    return {True: text, False: f"({text})", None: f"{text}?"}[row["vs_random"]["supported"]]


def _break_even(row: Row) -> str:
    if "break_even" not in row:
        return ""
    return "never" if row["break_even"] is None else f"{row['break_even']:,}"


COLUMNS = (
    _Column("method", lambda row: row["method"]),
    _Column("n", _size),
    _Column("score", lambda row: score_text(row["mean"], row["std"], row["metric"])),
    _Column("", _mark),
    _Column("vs rand", _over_random),
    _Column("runs", lambda row: str(row["runs"])),
    _Column("bytes", lambda row: bytes_text(row["bytes"])),
    _Column("share", lambda row: share_text(row["share"])),
    _Column("condense", lambda row: seconds_text(row["condense_seconds"])),
    _Column("train", lambda row: seconds_text(row["evaluate_seconds"])),
    _Column("pays", _break_even),
)
LEGEND = (
    "n: graphs per class (node tasks: nodes). ±: over all runs. * best of its n; = not told apart from it, ? one "
    "condensation: not known (Welch's t-test over condensations, 5%). vs rand: ahead of random, in brackets where not "
    "supported. share: of the training set's bytes. condense, train: one condensation, one training. pays: after so "
    "many trainings a condensation has paid for itself (needs the method whole)."
)


def by_size(rows: Sequence[Row]) -> list[Row]:
    """The whole set first, then size by size, so that what is to be compared stands together."""
    return sorted(rows, key=lambda row: size_of(row) or 0)


def comparison_sheet(rows: Sequence[Row]) -> Sheet:
    """For people: 80 columns are enough for it in a terminal."""
    title = f"{rows[0]['dataset']}: {METRIC_TITLES[rows[0]['metric']]}"
    cells = [[column.text(row) for column in COLUMNS] for row in by_size(rows)]
    return Sheet(title, [column.title for column in COLUMNS], cells, [LEGEND], left=[3])


def comparison_csv(rows: Sequence[Row]) -> str:
    """As CSV: plain numbers, scores as fractions, nothing where there is nothing to say."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in by_size(rows):
        flat = dict(row)
        for name in ("best", "random"):
            stands = row.get(f"vs_{name}", {})
            flat[f"difference_to_{name}"] = stands.get("difference")
            flat[f"difference_to_{name}_supported"] = stands.get("supported")
        if "break_even" in row and row["break_even"] is None:
            flat["break_even"] = "never"
        writer.writerow(flat)
    return out.getvalue()


def write_comparison(folder: Path, result: dict[str, Any]) -> list[Path]:
    """Write ``table.md``, ``table.csv`` and ``table.json`` into ``folder``."""
    return [
        write_aside(folder / "table.md", comparison_sheet(result["rows"]).markdown().encode()),
        write_aside(folder / "table.csv", comparison_csv(result["rows"]).encode()),
        write_json(folder / "table.json", result),
    ]
