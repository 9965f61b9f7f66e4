"""One door for all datasets: a name, a folder or graphs in, a task out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
from graphcondense.datasets.ogb import load_ogb
from graphcondense.datasets.shards import ShardFolder, own_part
from graphcondense.datasets.superpixels import load_superpixels
from graphcondense.datasets.tu import load_tu
from graphcondense.distributed import World
from graphcondense.errors import InputError, check_count, unknown_name
from graphcondense.tasks import GraphTask, NodeTask

Progress = Callable[[float], None]


def load(
    source: str | Path | GraphSequence,
    *,
    data_root: str | Path | None = None,
    split_seed: int = 0,
    progress: Progress | None = None,
) -> GraphTask | NodeTask:
    """A dataset as a task.

    Args:
        source: the name of a known dataset or of a TU set in the data root (case, ``-`` and ``_`` do not matter), a
            folder in TU format or of shards, a PyG dataset, or a list of PyG ``Data``. A known name wins over a folder
            of that name: write ``./MUTAG`` for the folder.
        data_root: where the datasets are; see :func:`graphcondense.datasets.data_root`.
        split_seed: for sets that come without a split of their own.
        progress: called with the share that is done, where loading takes long.

    >>> task = load("digits")
    >>> task.name, task.metric, len(task.train) + len(task.val) + len(task.test)
    ('digits', 'accuracy', 1797)
    """
    check_count("split_seed", split_seed, minimum=0)
    if isinstance(source, Path):
        return _load_folder(source, data_root, split_seed)
    if isinstance(source, str):
        return _load_text(source, data_root, split_seed, progress)
    graphs = check_sequence("source", source)
    name = getattr(graphs, "name", None)
    return graph_task(graphs, name=name if isinstance(name, str) and name else "custom", split_seed=split_seed)


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
    source: str, root: str | Path | None, split_seed: int, progress: Progress | None
) -> GraphTask | NodeTask:
    """What a user typed: a path if it has a separator, else a known name, a folder, or a TU set in the data root."""
    if not source.strip():
        raise InputError(f"source={source!r} is empty: give the name of a dataset or a folder")
    if any(separator in source for separator in (os.sep, "/")) or source.startswith(("~", ".")):
        return _load_folder(Path(source), root, split_seed)
    info = find_known(source)
    if info is not None:
        return _load_known(info, root, split_seed, progress)
    if Path(source).is_dir():
        return _load_folder(Path(source), root, split_seed)
    at_hand = tu_sets_at_hand(root)
    name = match_name(source, list(at_hand))
    if name is None:
        raise unknown_name("dataset", source, dict.fromkeys([*(info.name for info in known()), *at_hand]))
    return replace(load_tu(at_hand[name], split_seed=split_seed), source=name)


def _load_folder(folder: Path, root: str | Path | None, split_seed: int) -> GraphTask | NodeTask:
    """Shards, or a TU folder; one below a data root is the set of that name and gets the same split as by its name."""
    folder = folder.expanduser().absolute()
    shards = ShardFolder.find(folder)
    if shards is not None:
        return shards.load()
    published = [place / TU_FOLDER for place in (places.data_root(root), places.cache_root())]
    reference = any(folder.resolve().is_relative_to(place.resolve()) for place in published)
    return replace(load_tu(folder, split_seed=split_seed, reference_split=reference), source=str(folder))


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
