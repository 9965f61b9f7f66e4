"""A dataset as a folder of shards: each process reads its own, and no process ever has all. Never a pickle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.colours import distinct_rows
from graphcondense.distributed import World
from graphcondense.errors import FileFormatError, InputError, WouldOverwriteError, check_count
from graphcondense.files import parse_json, write_aside, write_json
from graphcondense.graphs import GraphStore, payload_bytes, pointers, repeat
from graphcondense.metrics import METRICS
from graphcondense.parts import Part, class_sizes, deal
from graphcondense.tasks import GraphTask, Split

FORMAT = 1
INDEX = "shards.json"
_SPLITS = ("train", "val", "test")


def split_task(task: GraphTask, shards: int) -> Iterable[GraphTask]:
    """``task`` as so many smaller ones, each with its share of every class in all three splits."""
    check_count("shards", shards)
    dealt = {}
    for name in _SPLITS:
        index = getattr(task.split, name)
        if len(index) < shards:
            raise InputError(f"shards={shards} is more than the {len(index)} {name} graphs of {task.name}: use fewer")
        graphs = task.graphs
        runs = deal(graphs.y[index], task.num_classes, shards, distinct_rows(graphs.subset(index)))
        dealt[name] = [index[part] for part in runs]
    if any(len(part) == 0 for parts in dealt.values() for part in parts):
        raise InputError(f"shards={shards} leaves a shard without training, validation or test graphs: use fewer")
    for number in range(shards):
        yield replace(task, split=Split(*(dealt[name][number] for name in _SPLITS)))


def write_shards(tasks: Iterable[GraphTask], folder: str | Path, *, force: bool = False) -> Path:
    """Write a folder of shards, one a task; only one task need be in memory at a time.

    Args:
        tasks: parts of one dataset, with the same features, classes and metric; an iterator may make them as it goes.
        folder: where; the index is written last, so that a folder with an index is whole.
        force: overwrite what is there.

    Returns:
        The folder, to be given to ``load`` or to ``graphcondense condense``.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
        raise WouldOverwriteError(f"{folder} is not empty: choose another --out, or overwrite it with --force")
    (folder / INDEX).unlink(missing_ok=True)
    common: dict[str, Any] | None = None
    shards = []
    for number, task in enumerate(tasks):
        own = _common(task)
        if common is not None and own != common:
            name = next(key for key in own if own[key] != common[key])
            raise InputError(
                f"shard {number} has {name}={own[name]!r}, the first one {common[name]!r}: not one dataset"
            )
        common = own
        tensors = {f"{s}.{key}": value for s in _SPLITS for key, value in _arrays(getattr(task, s)).items()}
        file = f"shard-{number:05d}.safetensors"
        write_aside(folder / file, to_safetensors(tensors))
        shards.append(
            {
                "file": file,
                "graphs": {s: len(getattr(task, s)) for s in _SPLITS},
                "nodes": sum(int(getattr(task, s).num_nodes.sum()) for s in _SPLITS),
                "train_sizes": class_sizes(task.train, task.num_classes),
                "train_bytes": payload_bytes(task.train),
            }
        )
    if common is None:
        raise InputError("tasks is empty: give at least one")
    write_json(folder / INDEX, {"format": FORMAT, **common, "shards": shards})
    return folder


def _common(task: GraphTask) -> dict[str, Any]:
    """What all shards must agree on."""
    return {
        "name": task.name,
        "num_features": task.num_features,
        "num_classes": task.num_classes,
        "metric": task.metric,
        "class_names": list(task.class_names),
        "position_features": None if task.position_features is None else list(task.position_features),
        "directed": task.graphs.directed,
    }


def _arrays(graphs: GraphStore) -> dict[str, Tensor]:
    shift = repeat(graphs.node_ptr[:-1], graphs.edge_ptr.diff())
    return {
        "x": graphs.x.contiguous(),
        "edges": (graphs.edge_index - shift).int().contiguous(),  # counted within each graph
        "num_nodes": graphs.num_nodes.int(),
        "num_edges": graphs.edge_ptr.diff().int(),
        "y": graphs.y.int(),
    }


def _count(value: Any, least: int = 0) -> bool:
    return type(value) is int and least <= value < 2**48


def _fits_shard(shard: Any) -> bool:
    """Whether it is what :func:`write_shards` notes of a shard; its file must lie in the folder itself."""
    if (
        not isinstance(shard, dict)
        or not isinstance(shard.get("file"), str)
        or not isinstance(shard.get("graphs"), dict)
    ):
        return False
    sizes, graphs = shard.get("train_sizes"), shard["graphs"]
    return (
        re.fullmatch(r"[\w-]+\.safetensors", shard["file"]) is not None
        and set(graphs) == set(_SPLITS)
        and all(map(_count, graphs.values()))
        and _count(shard.get("nodes"), 1)
        and _count(shard.get("train_bytes"), 1)
        and isinstance(sizes, list)
        and all(
            isinstance(own, dict) and all(nodes.isdecimal() and _count(count) for nodes, count in own.items())
            for own in sizes
        )
    )


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "num_features": lambda value: _count(value, 1),
    "num_classes": lambda value: _count(value, 1) and value <= 1_000_000,
    "metric": lambda value: isinstance(value, str) and value in METRICS,
    "class_names": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "position_features": lambda value: (
        value is None or (isinstance(value, list) and len(value) == 2 and all(map(_count, value)))
    ),
    "directed": lambda value: isinstance(value, bool),
    "shards": lambda value: isinstance(value, list) and bool(value) and all(map(_fits_shard, value)),
}


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards by its index."""

    folder: Path
    index: dict[str, Any]

    @staticmethod
    def find(folder: Path) -> ShardFolder | None:
        """The folder, if it is one of shards."""
        path = folder / INDEX
        if not path.is_file():
            return None
        try:
            index = parse_json(path.read_text(encoding="utf-8"))
            if not isinstance(index, dict) or "format" not in index:
                raise ValueError("no index of shards")
        except (OSError, ValueError):
            raise FileFormatError(f"{path} is damaged: write the shards again") from None
        if index["format"] != FORMAT:
            raise FileFormatError(f"{path} has format {index['format']!r}, this version reads {FORMAT}: update it")
        for name, fits in _FIELDS.items():
            if name not in index or not fits(index[name]):
                raise FileFormatError(f"{path} is damaged: its {name} cannot be read: write the shards again")
        for shard in index["shards"]:
            if len(shard["train_sizes"]) != index["num_classes"]:
                raise FileFormatError(f"{path} is damaged: {shard['file']} has other classes: write the shards again")
        if any(column >= index["num_features"] for column in index["position_features"] or ()):
            raise FileFormatError(f"{path} is damaged: position features that are not there: write the shards again")
        return ShardFolder(folder, index)

    def load(self, numbers: Sequence[int] | None = None) -> GraphTask:
        """Some shards as one task; all of them without ``numbers``."""
        chosen = [self.index["shards"][n] for n in (range(len(self.index["shards"])) if numbers is None else numbers)]
        read = [self._read(shard) for shard in chosen]
        stores = [_joined([part[name] for part in read]) for name in _SPLITS]
        counts = [len(store) for store in stores]
        ends = torch.arange(sum(counts)).split(counts)
        position = self.index["position_features"]
        return GraphTask(
            self.index["name"],
            _joined(stores),
            Split(*ends),
            self.index["num_classes"],
            self.index["metric"],
            tuple(self.index["class_names"]),
            position_features=None if position is None else (int(position[0]), int(position[1])),
            source=str(self.folder.absolute()),
        )

    def load_part(self, world: World, same_batch: bool) -> GraphTask:
        """This process's shards as a task that knows of the others'."""
        shards = self.index["shards"]
        if len(shards) < world.size:
            raise InputError(
                f"{self.folder} has {len(shards)} shards for {world.size} ranks: start fewer, or shard anew"
            )
        owners = [torch.arange(len(shards)).tensor_split(world.size)[rank].tolist() for rank in range(world.size)]
        sizes = []
        for own in owners:
            per_class = []
            for label in range(self.index["num_classes"]):
                total: dict[int, int] = {}
                for number in own:
                    for nodes, count in shards[number]["train_sizes"][label].items():
                        total[int(nodes)] = total.get(int(nodes), 0) + count
                per_class.append(total)
            sizes.append(per_class)
        graphs = sum(sum(shard["graphs"].values()) for shard in shards)
        mean = sum(shard["nodes"] for shard in shards) / graphs
        part = Part(world, sizes, mean, sum(shard["train_bytes"] for shard in shards), same_batch)
        return replace(self.load(owners[world.rank]), part=part)

    def _read(self, shard: dict[str, Any]) -> dict[str, GraphStore]:
        path = self.folder / shard["file"]
        try:
            tensors = load_file(path)
            stores = {name: self._store(tensors, name) for name in _SPLITS}
            _need({name: len(store) for name, store in stores.items()} == shard["graphs"], "other graphs than noted")
            noted = [{int(nodes): count for nodes, count in own.items()} for own in shard["train_sizes"]]
            _need(class_sizes(stores["train"], self.index["num_classes"]) == noted, "other training graphs than noted")
            return stores
        except (SafetensorError, OSError, KeyError, RuntimeError, ValueError) as error:
            raise FileFormatError(f"{path} is missing or damaged: write the shards again ({error})") from None

    def _store(self, tensors: dict[str, Tensor], name: str) -> GraphStore:
        x, edges, y = (tensors[f"{name}.{key}"] for key in ("x", "edges", "y"))
        num_nodes, num_edges = (tensors[f"{name}.{key}"] for key in ("num_nodes", "num_edges"))
        _need(all(part.dtype == torch.int32 for part in (edges, y, num_nodes, num_edges)), "not whole numbers")
        _need(y.dim() == 1 and y.shape == num_nodes.shape == num_edges.shape, "labels and graphs disagree")
        num_nodes, num_edges = num_nodes.long(), num_edges.long()
        _need(not len(y) or (int(num_nodes.min()) >= 1 and int(num_edges.min()) >= 0), "a graph without nodes")
        _need(x.shape == (int(num_nodes.sum()), self.index["num_features"]), "features and node counts disagree")
        _need(x.dtype == torch.float32 and bool(x.isfinite().all()), "features that are not finite numbers")
        _need(edges.shape == (2, int(num_edges.sum())), "edges and their counts disagree")
        owners = repeat(num_nodes, num_edges)
        _need(not edges.numel() or bool(((edges >= 0) & (edges < owners)).all()), "an edge leaves its graph")
        _need(not len(y) or 0 <= int(y.min()) <= int(y.max()) < self.index["num_classes"], "a label is no class")
        node_ptr = pointers(num_nodes)
        shifted = edges.long() + repeat(node_ptr[:-1], num_edges)
        return GraphStore(x, shifted, node_ptr, pointers(num_edges), y.long(), self.index["directed"])


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _joined(stores: Sequence[GraphStore]) -> GraphStore:
    starts = pointers(torch.tensor([len(store.x) for store in stores]))
    return GraphStore(
        torch.cat([store.x for store in stores]),
        torch.cat([store.edge_index + int(start) for store, start in zip(stores, starts, strict=False)], dim=1),
        pointers(torch.cat([store.num_nodes for store in stores])),
        pointers(torch.cat([store.edge_ptr.diff() for store in stores])),
        torch.cat([store.y for store in stores]),
        stores[0].directed,
    )


def own_part(task: GraphTask, world: World, same_batch: bool = True) -> GraphTask:
    """``task`` with this process's share of the training graphs, where every process has loaded all of it.

    Args:
        task: the whole.
        world: the processes.
        same_batch: see :class:`graphcondense.parts.Part`.
    """
    dealt = deal(task.train.y, task.num_classes, world.size, distinct_rows(task.train))
    if min(len(part) for part in dealt) == 0:
        raise InputError(f"{world.size} ranks are too many for the {len(task.train)} training graphs of {task.name}")
    sizes = [class_sizes(task.train.subset(part), task.num_classes) for part in dealt]
    part = Part(world, sizes, task.mean_nodes, payload_bytes(task.train), same_batch)
    own = task.split.train[dealt[world.rank]]
    return replace(task, split=Split(own, task.split.val, task.split.test), part=part)
