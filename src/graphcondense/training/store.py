"""Networks that were trained before: the same data, settings and seed are not trained twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.errors import GraphcondenseError
from graphcondense.files import parse_json, write_aside
from graphcondense.graphs import GraphStore
from graphcondense.models import Network, Parameters
from graphcondense.training.trainer import Progress, Recipe, TrainedNetworks, train

_TOGETHER = 2**17  # rows of all networks' hidden layers in one training step; more gain nothing and take memory
_KEY = "trained"


@dataclass(frozen=True, eq=False)
class _Entry:
    """One trained network: what :class:`TrainedNetworks` has of it, and the seconds that it took."""

    weights: Parameters
    statistics: Parameters
    val_score: float
    best_epoch: int
    seconds: float


class Store:
    """Keeps trained networks while the process lives, a few at a time.

    ``saved_seconds`` counts what the networks that were recalled had taken, so that their time can be counted in.
    """

    def __init__(self, most: int = 64) -> None:
        self.saved_seconds = 0.0
        self._most = most
        self._entries: dict[str, _Entry] = {}

    def train(
        self,
        network: Network,
        graphs: GraphStore,
        val: GraphStore,
        seeds: Sequence[int],
        recipe: Recipe,
        metric: str,
        progress: Progress | None = None,
    ) -> TrainedNetworks:
        """As :func:`graphcondense.training.train`; each seed is trained only if it is not at hand."""
        common = fingerprint(network, graphs, val, recipe, metric)
        keys = {seed: f"{common}-{seed}" for seed in seeds}
        entries = {seed: entry for seed in seeds if (entry := self._recall(keys[seed], network)) is not None}
        self.saved_seconds += sum(entry.seconds for entry in entries.values())
        missing = [seed for seed in keys if seed not in entries]
        rows = min(recipe.batch_size, len(graphs)) * int(graphs.num_nodes.sum()) / len(graphs)
        together = max(1, int(_TOGETHER / rows))
        for start in range(0, len(missing), together):
            part = missing[start : start + together]
            started = time.perf_counter()
            trained = train(network, graphs, val, part, recipe, metric, _shifted(progress, start, missing, together))
            seconds = (time.perf_counter() - started) / len(part)
            for place, seed in enumerate(part):
                entries[seed] = _entry(trained, place, seconds)
                self._keep(keys[seed], entries[seed])
        return _joined(network, [entries[seed] for seed in seeds], graphs.x.device)

    def _recall(self, key: str, network: Network) -> _Entry | None:
        return self._entries.get(key)

    def _keep(self, key: str, entry: _Entry) -> None:
        while len(self._entries) >= self._most:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = entry


class FolderStore(Store):
    """Keeps trained networks as files, one a network.

    Args:
        folder: where; made when the first network is kept.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def _recall(self, key: str, network: Network) -> _Entry | None:
        return super()._recall(key, network) or _read(self._path(key), network)

    def _keep(self, key: str, entry: _Entry) -> None:
        super()._keep(key, entry)
        facts = {"val_score": entry.val_score, "best_epoch": entry.best_epoch, "seconds": entry.seconds}
        tensors = {name: value.contiguous() for name, value in (entry.weights | entry.statistics).items()}
        with suppress(GraphcondenseError):  # a cache that cannot be written costs time and nothing else
            write_aside(self._path(key), to_safetensors(tensors, {_KEY: json.dumps(facts)}))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.safetensors"


def fingerprint(network: Network, graphs: GraphStore, val: GraphStore, recipe: Recipe, metric: str) -> str:
    """What decides a trained network apart from its seed, as a short name."""
    digest = hashlib.sha256()
    for store in (graphs, val):
        digest.update(str(store.directed).encode())
        for tensor in (store.x, store.edge_index, store.node_ptr, store.y):
            digest.update(str((tuple(tensor.shape), tensor.dtype)).encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).numpy().data)
    packages = {name: version(name) for name in ("graphcondense", "torch")}
    facts = [asdict(network.config), network.in_features, network.outputs, asdict(recipe), metric, packages]
    digest.update(json.dumps(facts, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def _read(path: Path, network: Network) -> _Entry | None:
    """A network of a file; ``None`` if it is not there or not what it should be: then it is trained again."""
    try:
        with safe_open(str(path), framework="pt") as file:
            facts = parse_json(file.metadata()[_KEY])
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
        shapes = {name: (1, *shape) for name, shape in network.shapes.items()}
        shapes |= {name: tuple(value.shape) for name, value in network.fresh_statistics(1).items()}
        if {name: tuple(value.shape) for name, value in tensors.items()} != shapes:
            return None
        if not all(value.dtype == torch.float32 and bool(value.isfinite().all()) for value in tensors.values()):
            return None
        weights = {name: tensors.pop(name) for name in network.parameter_names}
        return _Entry(weights, tensors, float(facts["val_score"]), int(facts["best_epoch"]), float(facts["seconds"]))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _entry(trained: TrainedNetworks, place: int, seconds: float) -> _Entry:
    def own(values: Parameters) -> Parameters:
        return {name: value[place : place + 1].clone() for name, value in values.items()}

    score, epoch = float(trained.val_scores[place]), int(trained.best_epochs[place])
    return _Entry(own(trained.weights), own(trained.statistics), score, epoch, seconds)


def _joined(network: Network, entries: Sequence[_Entry], device: torch.device) -> TrainedNetworks:
    def stacked(parts: Sequence[Parameters]) -> Parameters:
        return {name: torch.cat([part[name].to(device) for part in parts]) for name in parts[0]}

    scores: Tensor = torch.tensor([entry.val_score for entry in entries], dtype=torch.float64)
    epochs = torch.tensor([entry.best_epoch for entry in entries])
    weights = stacked([entry.weights for entry in entries])
    return TrainedNetworks(network, weights, stacked([entry.statistics for entry in entries]), scores, epochs)


def _shifted(progress: Progress | None, start: int, missing: Sequence[int], together: int) -> Progress | None:
    """Progress of one group of seeds as progress of all."""
    if progress is None:
        return None
    groups = -(-len(missing) // together)
    return lambda done, total: progress(start // together * total + done, groups * total)
