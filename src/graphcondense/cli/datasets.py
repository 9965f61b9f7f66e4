"""``graphcondense datasets``."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from graphcondense import datasets
from graphcondense.cli.console import app, command, out, print_json, tell
from graphcondense.cli.options import AsJson, DataRoot


@app.command("datasets")
@command
def list_datasets(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """What is known, its size, and whether it is at hand offline."""
    rows: list[dict[str, Any]] = [
        {
            "name": info.name,
            "kind": info.kind,
            "graphs": info.graphs,
            "classes": info.classes,
            "nodes": info.avg_nodes,
            "edges": info.avg_edges,
            "metric": info.metric,
            "available": info.available(data_root),
            "missing": [str(path) for path in info.missing_files(data_root)],
        }
        for info in datasets.known()
    ]
    if as_json:
        print_json({"data_root": str(datasets.data_root(data_root)), "datasets": rows})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("name", "graphs", "classes", "nodes", "edges", "metric", "at hand"):
        table.add_column(name, justify="left" if name in ("name", "metric", "at hand") else "right")
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['graphs']:,}",
            str(row["classes"]),
            f"{row['nodes']:.1f}",
            f"{row['edges']:.1f}",
            row["metric"],
            "yes" if row["available"] else "no",
        )
    out().print(table)
    tell(f"\nnodes and edges: average of a graph. Data root: {datasets.data_root(data_root)}")
    tell("Your own: a folder (TU format, GraphML, GEXF), SMILES, PyG graphs in Python.")
