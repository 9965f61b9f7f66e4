"""How a set of training graphs is judged: networks trained on it, scored on the real test graphs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from torch_geometric.data import Data

from graphcondense.datasets import graphs_for
from graphcondense.errors import InputError, check_at_least, check_count
from graphcondense.evaluation.modules import ModuleSource, train_modules
from graphcondense.graphs import GraphStore
from graphcondense.metrics import METRICS
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask
from graphcondense.training import Progress, Recipe, Store, train


@dataclass(frozen=True)
class Protocol:
    """What is trained and how; the defaults are the paper's.

    Args:
        network: the network to train.
        recipe: epochs, rates, batches.
        dropout: share of hidden units that a step of training leaves out; for node tasks.
    """

    network: NetworkConfig = NetworkConfig()
    recipe: Recipe = Recipe()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_at_least("dropout", self.dropout, 0)
        if not self.dropout < 1:
            raise InputError(f"dropout={self.dropout!r} must be below 1")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for files."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Protocol:
        """From what :meth:`to_dict` gave, checked."""
        try:
            network, recipe = NetworkConfig(**values["network"]), Recipe(**values["recipe"])
            return Protocol(network, recipe, values.get("dropout", 0.0))
        except (KeyError, TypeError) as error:
            raise InputError(f"the evaluation settings {values!r} are not complete: {error}") from None


@dataclass(frozen=True)
class Scores:
    """Test scores of several trainings, as fractions.

    Args:
        metric: what was measured.
        per_seed: test score of each training, at its best validation epoch.
        val_per_seed: the validation scores that chose those epochs.
        seconds: wall-clock time of all trainings together.
    """

    metric: str
    per_seed: tuple[float, ...]
    val_per_seed: tuple[float, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def trainings(self) -> int:
        """How many there were."""
        return len(self.per_seed)

    @property
    def mean(self) -> float:
        """Mean over the trainings."""
        return float(np.mean(self.per_seed))

    @property
    def std(self) -> float:
        """Standard deviation over the trainings (of the trainings themselves: divided by their number)."""
        return float(np.std(self.per_seed))

    def to_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "metric": self.metric,
            "mean": self.mean,
            "std": self.std,
            "per_seed": list(self.per_seed),
            "val_per_seed": list(self.val_per_seed),
            "seconds": self.seconds,
        }


def evaluate(
    graphs: CondensedDataset | GraphStore | Sequence[Data],
    task: GraphTask,
    *,
    seeds: int | Sequence[int] = 10,
    protocol: Protocol | None = None,
    model: str | ModuleSource | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
) -> Scores:
    """Train networks on ``graphs`` and score them on the real test graphs of ``task``.

    Args:
        graphs: a condensed dataset, or any labelled graphs with the features and classes of ``task``.
        task: whose validation graphs choose the epoch, and whose test graphs give the score.
        seeds: how many trainings, or their seeds.
        protocol: network and recipe; by default what the condensed dataset was made for, else the paper's.
        model: another network than the protocol's: a built-in kind (``"gin"``), or a function
            ``(in_features, outputs) -> torch.nn.Module`` whose result follows PyG's ``forward(x, edge_index, batch)``.
        progress: called with epochs done and epochs in all.
        store: has networks that were trained before; their seconds are counted in. For built-in networks only.
    """
    chosen = seed_list(seeds)
    if not isinstance(task, GraphTask):
        raise InputError(f"task={type(task).__name__} must be a task: make one with gc.graph_task or gc.load")
    train_graphs = _training_graphs(graphs, task)
    protocol = protocol or own_protocol(graphs)
    started, saved = time.perf_counter(), store.saved_seconds if store else 0.0
    if model is None or isinstance(model, str):
        values = asdict(protocol.network) | ({} if model is None else {"kind": model})
        network = Network(NetworkConfig(**values), task.num_features, task.num_outputs)
        training = train if store is None else store.train
        trained = training(network, train_graphs, task.val, chosen, protocol.recipe, task.metric, progress)
        test, val = METRICS[task.metric](trained.outputs(task.test), task.test.y), trained.val_scores
    else:
        test, val = train_modules(model, train_graphs, task, chosen, protocol.recipe, progress)
    seconds = time.perf_counter() - started + (store.saved_seconds - saved if store else 0.0)
    return Scores(task.metric, tuple(test.tolist()), tuple(val.tolist()), seconds=seconds)


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """A number of seeds, or the seeds themselves, checked."""
    if not isinstance(seeds, Sequence):
        check_count("seeds", seeds)
        return list(range(seeds))
    if not seeds:
        raise InputError("seeds=[] is empty: give at least one")
    for seed in seeds:
        check_count("seeds", seed, minimum=0)
    return list(seeds)


def own_protocol(graphs: CondensedDataset | CondensedGraph | GraphStore | Sequence[Data]) -> Protocol:
    """What a condensed dataset says of how it is to be judged, else the paper's protocol."""
    if isinstance(graphs, CondensedDataset | CondensedGraph) and "evaluation" in graphs.info:
        return Protocol.from_dict(graphs.info["evaluation"])
    return Protocol()


def _training_graphs(graphs: CondensedDataset | GraphStore | Sequence[Data], task: GraphTask) -> GraphStore:
    """The graphs to train on, checked against the task."""
    if isinstance(graphs, CondensedDataset):
        if graphs.num_classes != task.num_classes:
            raise InputError(
                f"the graphs stand for {graphs.num_classes} classes, {task.name} has {task.num_classes}: they do not "
                "belong together"
            )
        store = graphs.graphs
    elif isinstance(graphs, GraphStore):
        store = graphs
    else:
        store = graphs_for(task, graphs)
    if store.num_features != task.num_features:
        raise InputError(
            f"the graphs have {store.num_features} features a node, {task.name} has {task.num_features}: they do not "
            "belong together"
        )
    if store.y.dim() == 2 and store.y.shape[1] != task.num_classes:
        raise InputError(f"the soft labels have {store.y.shape[1]} classes, {task.name} has {task.num_classes}")
    if store.y.dim() == 1 and int(store.y.max()) >= task.num_classes:
        raise InputError(f"a label is {int(store.y.max())}, but {task.name} has classes 0 to {task.num_classes - 1}")
    return store.to(task.graphs.x.device)


def pooled(scores: Sequence[Scores]) -> Scores:
    """All trainings of several condensed sets as one sample: the paper's mean and standard deviation."""
    if not scores or len({score.metric for score in scores}) != 1:
        raise InputError("pooled() needs scores of one and the same metric")
    return Scores(
        scores[0].metric,
        tuple(value for score in scores for value in score.per_seed),
        tuple(value for score in scores for value in score.val_per_seed),
        sum(score.seconds for score in scores),
    )
