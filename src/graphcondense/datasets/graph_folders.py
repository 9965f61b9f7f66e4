"""A folder of GraphML or GEXF files, one a graph, with a CSV file that says their classes."""

from __future__ import annotations

from pathlib import Path

import torch

from graphcondense.datasets.assembly import LooseGraphs, clean, counted, make_task
from graphcondense.datasets.labelled_rows import LABELS, Rows, class_numbers, read_rows, splits_of
from graphcondense.datasets.networks import attributes_of, edge_notes, edges_of, node_features
from graphcondense.datasets.splits import complete_split
from graphcondense.datasets.textfiles import short
from graphcondense.datasets.xmlgraphs import SUFFIXES, read_network
from graphcondense.errors import InputError, MissingDataError
from graphcondense.graphs import pointers, repeat
from graphcondense.tasks import GraphTask

_FILES = ("file", "filename", "graph", "name", "id")
_TABLE = "labels.csv"


def has_graph_files(folder: Path) -> bool:
    """Whether ``folder`` has graphs that :func:`load_graph_folder` reads."""
    return any(True for _ in _graph_files(folder))


def load_graph_folder(folder: Path, *, label: str | None = None, split_seed: int = 0) -> GraphTask:
    """The graphs in ``folder``, with the classes that ``labels.csv`` (or the only CSV file) gives them.

    Args:
        folder: with ``.graphml`` or ``.gexf`` files.
        label: column of the class; otherwise ``label``, ``class``, ``y`` or ``target``.
        split_seed: for the parts of the split that the table does not give in a column ``split``.
    """
    rows = read_rows(_table(folder))
    files = rows.pick(None, _FILES, "file")
    labels = rows.pick(label, LABELS, "label")
    paths = [_inside(folder, name, rows, line) for name, line in zip(rows.column(files), rows.lines, strict=True)]
    _check_once(paths, rows)
    places = [f"{rows.path.name}, line {line}," for line in rows.lines]
    y, names = class_numbers(rows.column(labels), places)
    networks = [read_network(path) for path in paths]
    for path, network in zip(paths, networks, strict=True):
        if len(network) == 0:
            raise InputError(f"{path} has no nodes: take it out of {rows.path.name}")
    num_nodes = torch.tensor([len(network) for network in networks])
    where = [f"{path.name}, node {short(str(node))}" for path, one in zip(paths, networks, strict=True) for node in one]
    features = node_features([own for network in networks for own in attributes_of(network)], where)
    edges = [edges_of(network) for network in networks]
    shift = repeat(pointers(num_nodes)[:-1], torch.tensor([pairs.shape[1] for pairs in edges]))
    loose = LooseGraphs(features.x, torch.cat(edges, dim=1) + shift, num_nodes, y, names, features.names)
    graphs = clean(loose)
    split, made = complete_split(splits_of(rows, places), graphs.store.y, split_seed)
    alone = len(set(_graph_files(folder)) - set(paths))
    left = [f"{counted(alone, 'file')} not in {rows.path.name}: left out"] if alone else []
    return make_task(folder.name, graphs, split, notes=[*features.notes, *edge_notes(networks), *left, *made])


def _graph_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)


def _table(folder: Path) -> Path:
    if (folder / _TABLE).is_file():
        return folder / _TABLE
    tables = sorted(folder.glob("*.csv"))
    if len(tables) != 1:
        found = f"several CSV files ({', '.join(path.name for path in tables)})" if tables else "no CSV file"
        raise MissingDataError(
            f"{folder} has graphs and {found}: put a {_TABLE} there with the columns file and label, one row a graph"
        )
    return tables[0]


def _check_once(paths: list[Path], rows: Rows) -> None:
    """Raise if a file is in the table twice: which of two labels would be right?"""
    lines: dict[Path, int] = {}
    for path, line in zip(paths, rows.lines, strict=True):
        first = lines.setdefault(path, line)
        if first != line:
            raise InputError(f"{rows.path}, line {line}: {path.name} is in line {first} already: take one out")


def _inside(folder: Path, name: str, rows: Rows, line: int) -> Path:
    """The file that a row names: in the folder, with or without its ending."""
    problem = f"{rows.path}, line {line}: file {short(name)}"
    try:
        endings = ("", *SUFFIXES) if name else ()
        found = next((folder / f"{name}{end}" for end in endings if (folder / f"{name}{end}").is_file()), None)
        outside = not (folder / name).resolve().is_relative_to(folder.resolve())
        if found is not None:
            outside = not found.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # names that no file can have
        found, outside = None, False
    if outside:
        raise InputError(f"{problem} is outside of {folder}: put it there")
    if found is None:
        raise MissingDataError(f"{problem} is not in {folder}: put it there, or take the row out")
    return found
