"""Paths that a user types: a folder or a file, perhaps with options behind it, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from graphcondense.datasets.graph_folders import has_graph_files, load_graph_folder
from graphcondense.datasets.molecules import load_smiles
from graphcondense.datasets.networks import network_data
from graphcondense.datasets.node_tasks import node_task
from graphcondense.datasets.shards import ShardFolder
from graphcondense.datasets.tu import has_tu_files, load_tu
from graphcondense.datasets.xmlgraphs import SUFFIXES, read_network
from graphcondense.errors import FileFormatError, InputError, MissingDataError, unknown_name
from graphcondense.tasks import GraphTask, NodeTask

SEPARATOR = "::"
OPTIONS = ("label", "smiles")
_TABLES = (".csv", ".tsv")
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".gpickle", ".joblib")
_FORMS = (
    "a folder in TU format, a folder of GraphML or GEXF files with a labels.csv, a .csv file of SMILES, or one "
    ".graphml or .gexf file whose nodes are classified"
)
Options = dict[str, str]


def split_options(text: str) -> tuple[str, Options]:
    """``FILE::label=activity`` as the path and its options.

    >>> split_options("drugs.csv::smiles=SMILES::label=active")
    ('drugs.csv', {'smiles': 'SMILES', 'label': 'active'})
    """
    path, *pairs = text.split(SEPARATOR)
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if name not in OPTIONS:
            raise unknown_name(f"option in {text!r},", name, OPTIONS)
        if not equals or not value:
            raise InputError(f"{pair!r} in {text!r} is not NAME=VALUE, e.g. {path}{SEPARATOR}label=activity")
        options[name] = value
    return path, options


def with_options(path: Path, options: Options) -> str:
    """The text that :func:`split_options` takes apart."""
    return SEPARATOR.join([str(path), *(f"{name}={value}" for name, value in options.items())])


def is_node_file(path: Path) -> bool:
    """Whether a path is one graph whose nodes are classified, as far as its name tells."""
    return path.suffix.lower() in SUFFIXES and not path.is_dir()


def load_path(path: Path, options: Options, split_seed: int, published: Callable[[Path], bool]) -> GraphTask | NodeTask:
    """The dataset in a folder or a file, whichever of the usual forms it has.

    Args:
        path: the folder or file.
        options: names of columns or attributes, see :data:`OPTIONS`.
        split_seed: for parts of the split that are not given.
        published: whether a TU folder is below the data root, so that it gets the split of that set.
    """
    path = path.expanduser().absolute()
    form, reader = _reader(path, split_seed, published)
    for name in options:
        if name not in form:
            remedy = f"it takes {' and '.join(form)}" if form else "leave it out"
            raise InputError(f"{name}={options[name]!r} does not apply to {path}: {remedy}")
    return replace(reader(options), source=with_options(path, options))


def _reader(
    path: Path, seed: int, published: Callable[[Path], bool]
) -> tuple[tuple[str, ...], Callable[[Options], GraphTask | NodeTask]]:
    """The options that the form of ``path`` has, and who reads it."""
    suffix = path.suffix.lower()
    if path.is_dir():
        shards = ShardFolder.find(path)
        if shards is not None:
            return (), lambda _: shards.load()
        if not has_tu_files(path) and has_graph_files(path):
            return ("label",), lambda own: load_graph_folder(path, label=own.get("label"), split_seed=seed)
        return (), lambda _: load_tu(path, split_seed=seed, reference_split=published(path))
    if not path.is_file():
        raise MissingDataError(f"there is no folder or file {path}: name a known dataset, {_FORMS}")
    if suffix in _TABLES:
        return OPTIONS, lambda own: load_smiles(path, smiles=own.get("smiles"), label=own.get("label"), split_seed=seed)
    if is_node_file(path):
        return ("label",), lambda own: network_task(
            read_network(path), name=path.stem, label=own.get("label"), split_seed=seed
        )
    if suffix in _PICKLES:
        raise InputError(
            f"{path} is a pickle, which can run any code, and is never read: load it in Python if you trust it, then "
            "gc.graph_task(graphs)"
        )
    raise FileFormatError(f"{path} is of no form that is read here: give {_FORMS}")


def network_task(
    network: object, *, name: str = "custom", label: str | None = None, inductive: bool = False, split_seed: int = 0
) -> NodeTask:
    """A task from one NetworkX graph whose nodes are classified.

    Args:
        network: the graph; node attributes are its features (numbers, text as categories, rows of numbers).
        name: what the dataset is called.
        label: which attribute is the label; otherwise ``label``, ``class``, ``y`` or ``target``.
        inductive: whether nodes that are not for training are hidden from it.
        split_seed: for parts of the split that no attribute ``split`` gives.

    >>> import networkx as nx
    >>> club = nx.karate_club_graph()
    >>> task = network_task(club, label="club")
    >>> task.num_nodes, task.class_names
    (34, ('Mr. Hi', 'Officer'))
    """
    data, names, notes = network_data(network, label)
    task = node_task(data, name=name, inductive=inductive, split_seed=split_seed)
    said = [note for note in task.notes if not names or not note.startswith("labels numbered anew")]
    return replace(task, notes=(*notes, *said), class_names=names or task.class_names)
