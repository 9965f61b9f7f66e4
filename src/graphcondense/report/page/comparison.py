"""The page of a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphcondense.errors import FileFormatError, MissingDataError
from graphcondense.metrics import METRIC_TITLES
from graphcondense.report.charts import Curve
from graphcondense.report.comparison import comparison_sheet
from graphcondense.report.page.figures import Figure, lines, strips
from graphcondense.report.page.folder import changes_of, read_object
from graphcondense.report.page.render import render
from graphcondense.report.tables import score_text
from graphcondense.runs.grid import table_rows
from graphcondense.runs.statistics import size_of

TABLE = "table.json"
_DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)  # what odd rows lead to
Row = dict[str, Any]


def known_rows(folder: Path) -> list[Row]:
    """The rows of a comparison: of its table, else of its finished cells; empty where there are neither."""
    stored = read_object(folder / TABLE)
    try:
        if stored:
            comparison_sheet(stored["rows"])
            return list(stored["rows"])
        found = _cells(folder)
        return table_rows(found) if found else []
    except _DAMAGE:
        raise _unreadable(folder) from None


def _unreadable(folder: Path) -> FileFormatError:
    return FileFormatError(f"{folder} holds no comparison that can be read: make it again")


def comparison_page(folder: Path) -> str:
    """The page of the comparison in ``folder``."""
    rows = known_rows(folder)
    if not rows:
        raise MissingDataError(
            f"{folder} holds neither a condensed file nor a comparison: give a folder of `condense` or `compare`"
        )
    try:
        return _page(folder, rows)
    except _DAMAGE:
        raise _unreadable(folder) from None


def _page(folder: Path, rows: list[Row]) -> str:
    stored = read_object(folder / TABLE)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    sheet = comparison_sheet(rows)
    title = f"{rows[0]['dataset']}: {len(methods)} methods compared"
    return render(
        "comparison.html",
        version=version("graphcondense"),
        title=title,
        lead=f"{sum(row['runs'] for row in rows):,} trainings on {sum(row['condensations'] for row in rows):,} sets, "
        f"judged by {METRIC_TITLES[rows[0]['metric']]} on the real test set.",
        sheet=sheet,
        figures=_figures(rows, methods),
        commands=[_command(folder, rows, methods, str(stored.get("preset", "default")))],
        versions=list((stored.get("versions") or {}).items())
        or [("versions", "not known: the table was not finished")],
        left_out=[] if stored else ["The table is made from the cells that are finished; there is no table.json."],
    )


def _figures(rows: Sequence[Row], methods: Sequence[str]) -> list[Figure]:
    metric = rows[0]["metric"]
    scale = 100 if metric == "accuracy" else 1
    sizes = sorted({size for row in rows if (size := size_of(row)) is not None})
    size_name = "nodes" if "nodes" in rows[0] else "graphs per class"
    figures = []
    if len(sizes) > 1:
        curves = []
        for method in methods:
            own = sorted((size_of(row) or 0, row) for row in rows if row["method"] == method)
            if method == "whole":
                own = [(size, own[0][1]) for size in (sizes[0], sizes[-1])]
            means, stds = [scale * row["mean"] for _, row in own], [scale * row["std"] for _, row in own]
            curves.append(Curve(method, [size for size, _ in own], means, [] if method == "whole" else stds))
        text = f"{METRIC_TITLES[metric]} by {size_name}: " + _ends(rows)
        figures.append(
            lines(
                "Score by budget", curves, size_name, METRIC_TITLES[metric], text, log_x=True, note="Bars: ± one std."
            )
        )
    for size in sizes:
        chosen = [row for row in rows if size_of(row) in (None, size)]
        dots = [
            (
                row["method"],
                [scale * mean for mean in row.get("condensation_means") or [row["mean"]]],
                score_text(row["mean"], row["std"], metric),
            )
            for row in chosen
        ]
        text = f"Means of each condensation with {size} {size_name}: {_ends(chosen)}"
        figures.append(
            strips(f"{size} {size_name}", dots, METRIC_TITLES[metric], text, "A dot is the mean of one condensation.")
        )
    return figures


def _ends(rows: Sequence[Row]) -> str:
    parts = [
        f"{row['method']} {'all' if size_of(row) is None else size_of(row)}: "
        f"{score_text(row['mean'], row['std'], row['metric'])}"
        for row in rows
    ]
    return "; ".join(parts) + "."


def _command(folder: Path, rows: Sequence[Row], methods: Sequence[str], preset: str) -> str:
    sizes = sorted({size for row in rows if (size := size_of(row)) is not None})
    option = "--nodes" if "nodes" in rows[0] else "-n"
    condensations = max(row["condensations"] for row in rows)
    trainings = max(row["runs"] // row["condensations"] for row in rows)
    infos = [cell["info"] for cell in _cells(folder)]
    source = next((str(info["source"]) for info in infos if info.get("source")), str(rows[0]["dataset"]))
    words = ["graphcondense compare", shlex.quote(source)]
    words += [f"{option} {','.join(map(str, sizes))}"] if sizes else []
    words += [f"--methods {','.join(methods)}", f"--preset {preset}"]
    words += [f"--condense-seeds {condensations}", f"--eval-seeds {trainings}"]
    judges = [f"--model {shlex.quote(str(cell['model']))}" for cell in _cells(folder) if cell.get("model")]
    changes = [word for info in infos for word in changes_of(info) if word.startswith("--set")]
    return " ".join([*words, *dict.fromkeys([*judges, *changes]), f"--out {shlex.quote(str(folder))}"])


def _cells(folder: Path) -> list[Row]:
    """The finished cells."""
    found = [read_object(path) for path in sorted(folder.glob("*.json"))]
    return [
        cell
        for cell in found
        if {"method", "evaluation", "condense_seconds"} <= set(cell) and isinstance(cell.get("info"), dict)
    ]
