"""``graphcondense inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, out, print_json, say
from graphcondense.cli.options import AsJson, Force
from graphcondense.cli.tasks import ratio_facts
from graphcondense.report.drawing import draw_svg
from graphcondense.report.tables import facts_table
from graphcondense.runs.condense import find_condensed
from graphcondense.synthetic import load_condensed, summary


def plain_text(value: object) -> str:
    """A setting for people: short numbers, no Python punctuation."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain_text(inner)}" for key, inner in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@app.command("inspect")
@command
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE|RUN", help="Condensed file or run folder.")],
    picture: Annotated[Path | None, typer.Option(help="Draw the graphs into this SVG file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Graphs, nodes, edges, bytes, settings, and where a condensed file came from."""
    path = find_condensed(file)
    condensed = load_condensed(path)
    if picture is not None:
        say(f"picture: {draw_svg(condensed, picture, force=force)}")
    facts = {"file": str(path), **summary(condensed), "metric": condensed.metric}
    facts |= {key: value for key, value in condensed.info.items() if key not in facts}
    if as_json:
        print_json(facts)
        return
    shown = {**facts, "bytes": f"{facts['bytes']:,}"}
    if "original_bytes" in facts:
        shown["bytes"] += f" ({facts['bytes'] / facts['original_bytes']:.1%} of the original)"
    lines = []
    for name, value in shown.items():
        if isinstance(value, dict):
            lines += [(f"{name}.{key}", plain_text(inner)) for key, inner in value.items()]
        elif name != "original_bytes":
            lines.append((name, value))
    lines += ratio_facts(condensed)
    out().print(facts_table(lines))
