"""``graphcondense export`` and ``graphcondense import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, out, print_json
from graphcondense.cli.options import AsJson, Force
from graphcondense.export import FORMATS, import_graphs
from graphcondense.export import export as write_export
from graphcondense.report.tables import bytes_text, facts_table
from graphcondense.runs.condense import find_condensed
from graphcondense.synthetic import load_condensed, summary


@app.command("export")
@command
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE|RUN", help="Condensed file or run folder.")],
    path: Annotated[Path, typer.Option("--out", help="File .pt, .json or .bin; graphml and csv: a folder.")],
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "pyg",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write condensed graphs for PyG, NetworkX, DGL, or whatever reads GraphML or CSV."""
    condensed = load_condensed(find_condensed(file))
    files = write_export(condensed, path, form, force=force)
    size = sum(one.stat().st_size for one in files)
    facts = summary(condensed)
    result = {"format": form, "out": str(path), "files": [str(one) for one in files], "bytes": size}
    result |= {name: facts[name] for name in ("graphs", "nodes", "edges")}
    if as_json:
        print_json(result)
        return
    lines = [
        ("exported", f"{facts['graphs']} graphs, {facts['nodes']} nodes, {facts['edges']} edges as {form}"),
        ("into", f"{path}, {bytes_text(size)}" + (f" in {len(files)} files" if len(files) > 1 else "")),
    ]
    out().print(facts_table(lines))


@app.command("import")
@command
def import_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="What `export` wrote: .pt, .json, or a folder.")],
    file: Annotated[Path, typer.Option("--out", help="The condensed file to write, .safetensors.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a condensed file of what `export` wrote, changed elsewhere or not."""
    condensed = import_graphs(path)
    condensed.save(file, force=force)
    facts = {"file": str(file), **summary(condensed)}
    if as_json:
        print_json(facts)
        return
    lines = [
        ("imported", f"{facts['graphs']} graphs, {facts['nodes']} nodes, {facts['edges']} edges from {path}"),
        ("file", f"{file}, {bytes_text(facts['bytes'])}"),
    ]
    out().print(facts_table(lines))
