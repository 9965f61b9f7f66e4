"""Condensed graphs in the forms that other programs read, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphcondense.errors import InputError, MissingDataError, check_choice
from graphcondense.export.dgl import to_dgl, write_dgl
from graphcondense.export.networks import read_graphml, read_json_graphs, to_networkx, write_graphml, write_json_graphs
from graphcondense.export.pyg import read_pt, write_pt
from graphcondense.export.tables import read_csv, write_csv
from graphcondense.synthetic import CondensedDataset, CondensedGraph

_WRITERS: dict[str, Callable[..., list[Path]]] = {
    "pyg": write_pt,
    "networkx": write_json_graphs,
    "graphml": write_graphml,
    "csv": write_csv,
    "dgl": write_dgl,
}
FORMATS = tuple(_WRITERS)


def export(
    condensed: CondensedDataset | CondensedGraph, path: str | Path, format: str = "pyg", *, force: bool = False
) -> list[Path]:
    """Write condensed graphs for another program; returns the files.

    Args:
        condensed: what to write.
        path: a ``.pt`` (pyg), ``.json`` (networkx) or ``.bin`` (dgl) file, or a folder (graphml, csv).
        format: one of ``FORMATS``.
        force: whether what is there may be replaced.
    """
    if not isinstance(condensed, CondensedDataset | CondensedGraph):
        raise InputError(f"condensed={type(condensed).__name__} must be a condensed dataset or graph")
    return _WRITERS[check_choice("format", format, FORMATS)](condensed, Path(path), force=force)


def import_graphs(path: str | Path) -> CondensedDataset | CondensedGraph:
    """Read what :func:`export` wrote as pyg, networkx, graphml or csv; everything is checked as in a condensed file."""
    path = Path(path)
    if not path.exists():
        raise MissingDataError(f"{path} is not there: give what `graphcondense export` wrote")
    if path.is_dir():
        return read_csv(path) if (path / "nodes.csv").is_file() else read_graphml(path)
    readers: dict[str, Callable[[Path], Any]] = {".pt": read_pt, ".json": read_json_graphs}
    if path.suffix not in readers:
        raise InputError(f"{path} is none of: a .pt or .json file, or a folder of csv or graphml files")
    made: CondensedDataset | CondensedGraph = readers[path.suffix](path)
    return made


__all__ = ["FORMATS", "export", "import_graphs", "to_dgl", "to_networkx"]
