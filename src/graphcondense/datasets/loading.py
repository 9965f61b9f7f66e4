"""One door for all datasets: a name, a path or graphs in, a task out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

import networkx as nx
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphcondense.datasets import places
from graphcondense.datasets.amazon import load_amazon_ego
from graphcondense.datasets.catalogue import (
    TU_FOLDER,
    DatasetInfo,
    Layout,
    find_known,
    known,
    match_name,
    tu_sets_at_hand,
)
from graphcondense.datasets.checks import GraphSequence, check_sequence
from graphcondense.datasets.custom import graph_task
from graphcondense.datasets.digits import load_digits
from graphcondense.datasets.download import fetch
from graphcondense.datasets.node_files import load_amazon, load_flickr, load_ogbn, load_planetoid
from graphcondense.datasets.node_tasks import node_task
from graphcondense.datasets.ogb import load_ogb
from graphcondense.datasets.paths import Options, is_node_file, load_path, network_task, split_options
from graphcondense.datasets.shards import ShardFolder, own_part
from graphcondense.datasets.superpixels import load_superpixels
from graphcondense.datasets.tu import load_tu
from graphcondense.distributed import World
from graphcondense.errors import InputError, check_count, unknown_name
from graphcondense.tasks import GraphTask, NodeTask

Progress = Callable[[float], None]


def load(
    source: str | Path | GraphSequence | Data | nx.Graph,
    *,
    data_root: str | Path | None = None,
    split_seed: int = 0,
    label: str | None = None,
    smiles: str | None = None,
    progress: Progress | None = None,
) -> GraphTask | NodeTask:
    """A dataset as a task.

    Args:
        source: the name of a known dataset or of a TU set in the data root (case, ``-`` and ``_`` do not matter), a
            folder in TU format or of shards, a folder of GraphML or GEXF files with a ``labels.csv``, a CSV file of
            SMILES, a GraphML or GEXF file with labelled nodes, a PyG dataset, a list of PyG ``Data``, one ``Data`` or
            NetworkX graph with labelled nodes. A known name wins over a folder of that name: write ``./MUTAG`` for
            the folder. Behind a path, ``::label=NAME`` and ``::smiles=NAME`` say the same as the arguments.
        data_root: where the datasets are; see :func:`graphcondense.datasets.data_root`.
        split_seed: for sets that come without a split of their own.
        label: column or node attribute of the class; otherwise ``label``, ``class``, ``y`` or ``target``.
        smiles: column of the molecules in a CSV file; otherwise ``smiles``, ``mol`` or ``molecule``.
        progress: called with the share that is done, where loading takes long.

    >>> task = load("digits")
    >>> task.name, task.metric, len(task.train) + len(task.val) + len(task.test)
    ('digits', 'accuracy', 1797)
    """
    check_count("split_seed", split_seed, minimum=0)
    given = {name: value for name, value in (("label", label), ("smiles", smiles)) if value is not None}
    if isinstance(source, Path):
        return _load_path(source, given, data_root, split_seed)
    if isinstance(source, str):
        return _load_text(source, given, data_root, split_seed, progress)
    name = getattr(source, "name", None)
    name = name if isinstance(name, str) and name else "custom"
    if isinstance(source, nx.Graph):
        return network_task(source, name=name, label=label, split_seed=split_seed)
    _check_no_options(given, "graphs in Python")
    if isinstance(source, Data) and not isinstance(source, Batch):
        return node_task(source, name=name, split_seed=split_seed)
    graphs = check_sequence("source", source)
    if len(graphs) == 1 and _has_labelled_nodes(graphs[0]):  # as PyG keeps one large graph
        return node_task(graphs[0], name=name, split_seed=split_seed)
    return graph_task(graphs, name=name, split_seed=split_seed)


def has_one_graph(source: str) -> bool:
    """Whether a dataset is one graph with labelled nodes: its name or its path alone tells, nothing is loaded."""
    path, _ = split_options(source)
    info = find_known(path)
    return info.task == "node" if info is not None else is_node_file(Path(path).expanduser())


def _has_labelled_nodes(graph: object) -> TypeGuard[Data]:
    y = graph.get("y") if isinstance(graph, Data) else None
    return isinstance(graph, Data) and isinstance(y, Tensor) and y.dim() > 0 and len(y) == graph.num_nodes > 1


def _check_no_options(options: Options, what: str) -> None:
    for name, value in options.items():
        raise InputError(f"{name}={value!r} does not apply to {what}: leave it out")


def load_part(
    source: str,
    world: World,
    *,
    same_batch: bool = True,
    data_root: str | Path | None = None,
    progress: Progress | None = None,
) -> GraphTask:
    """This process's part of a dataset: of a folder of shards it reads its own, of any other set it keeps its own.

    Args:
        source: as for :func:`load`.
        world: the processes.
        same_batch: see :class:`graphcondense.parts.Part`.
        data_root: as for :func:`load`.
        progress: as for :func:`load`.
    """
    shards = None if find_known(source) else ShardFolder.find(Path(source).expanduser())
    if shards is not None:
        return shards.load_part(world, same_batch)
    task = load(source, data_root=data_root, progress=progress)
    if not isinstance(task, GraphTask):
        raise InputError(f"{task.name} is one graph, which cannot be spread over processes: run without torchrun")
    return own_part(task, world, same_batch)


def _load_text(
    source: str, given: Options, root: str | Path | None, split_seed: int, progress: Progress | None
) -> GraphTask | NodeTask:
    """What a user typed: a path if it has a separator, else a known name, a folder, or a TU set in the data root."""
    if not source.strip():
        raise InputError(f"source={source!r} is empty: give the name of a dataset, a folder or a file")
    if "\0" in source:
        raise InputError(f"source={source!r} has a NUL character: no file is called that")
    source, options = split_options(source)
    options |= given
    if any(separator in source for separator in (os.sep, "/")) or source.startswith(("~", ".")):
        return _load_path(Path(source), options, root, split_seed)
    info = find_known(source)
    if info is not None:
        _check_no_options(options, info.name)
        return _load_known(info, root, split_seed, progress)
    if Path(source).exists():
        return _load_path(Path(source), options, root, split_seed)
    _check_no_options(options, f"a dataset by name, and there is no file {source}")
    at_hand = tu_sets_at_hand(root)
    name = match_name(source, list(at_hand))
    if name is None:
        raise unknown_name("dataset", source, dict.fromkeys([*(info.name for info in known()), *at_hand]))
    return replace(load_tu(at_hand[name], split_seed=split_seed), source=name)


def _load_path(path: Path, options: Options, root: str | Path | None, split_seed: int) -> GraphTask | NodeTask:
    """A folder or a file; a TU set below a data root is the set of that name and gets the same split as by its name."""

    def published(folder: Path) -> bool:
        roots = [place / TU_FOLDER for place in (places.data_root(root), places.cache_root())]
        return any(folder.resolve().is_relative_to(place.resolve()) for place in roots)

    return load_path(path, options, split_seed, published)


def _load_known(
    info: DatasetInfo, root: str | Path | None, split_seed: int, progress: Progress | None
) -> GraphTask | NodeTask:
    """A dataset of the catalogue, downloaded first if it is not at hand."""
    home = info.home(root) if info.available(root) else fetch(info, root)
    readers: dict[Layout, Callable[[], GraphTask | NodeTask]] = {
        Layout.EMBEDDED: lambda: load_digits(split_seed=split_seed),
        Layout.TU: lambda: load_tu(home, split_seed=split_seed),
        Layout.OGB: lambda: load_ogb(info.name, home, metric=info.metric),
        Layout.AMAZON: lambda: load_amazon_ego(info.name, home, split_seed=split_seed),
        Layout.PLANETOID: lambda: load_planetoid(info.name, home),
        Layout.AMAZON_NODES: lambda: load_amazon(info.name, home / info.files[0], split_seed),
        Layout.OGBN: lambda: load_ogbn(info.name, home),
        Layout.FLICKR: lambda: load_flickr(info.name, home),
        Layout.SUPERPIXELS: lambda: load_superpixels(info.name, home, progress=progress),
    }
    task = replace(readers[info.layout](), source=info.name)
    if split_seed and info.published_split:
        task = replace(task, notes=(*task.notes, f"split_seed={split_seed} is not used: {info.name} has a split"))
    return task
