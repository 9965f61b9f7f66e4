"""Trials of condensed graphs: networks are trained on them as the judge does, and scored without any test graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore
from graphcondense.metrics import AGREEMENTS, METRICS
from graphcondense.models import Network, NetworkConfig
from graphcondense.real import SparseBatch
from graphcondense.seeding import generator
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, predict, prediction_batches, probabilities, train

_UNLIKE_A_JUDGE = 10**6  # networks of trials start from other weights than those that users and the judge train
_LOOKS = 20  # at the validation graphs that a trial has at least, where the judge has as many
_SHARE = 0.25  # of the seconds of training that more looks may take
_LOOK = 1 / 3  # of what training on as many nodes costs: no backward pass
_NODES_MORE = 500  # take about as long as all of a pass that does not depend on the number of nodes
_AS_GOOD_AS_LABELS = 1000  # graphs whose classes tell as much as what a model says
_MESSAGE_PASSING = ("gcn", "gin", "sage")


@dataclass(frozen=True, eq=False)
class Said:
    """What networks have learned from a set.

    Args:
        score: mean over the networks, see :class:`Examiner`.
        pool: gives class probabilities of the graphs that are chosen from, mean over the networks, ``G x C``.
    """

    score: float
    pool: Callable[[], Tensor]


class Examiner:
    """Trains networks on sets of graphs and scores them.

    Scores are on training and validation graphs, weighted by the roots of their numbers: there are many training
    graphs, but those that are held out may be of other kinds. Where there is a model, scores are also by how much is
    said what it says: the fewer graphs there are, the less their classes tell, and the more of a score is by the model.

    Args:
        task: its training and validation graphs score; validation graphs choose the epoch, as they do for the judge.
        network: the judge's network.
        recipe: the judge's; validation graphs may be looked at less often, see :meth:`recipe_for`.
        pool: graphs that networks are asked about.
        scored: training graphs that score, at most.
        seed: decides which.
        model: networks that were trained on all graphs, what says their class probabilities, ``G x C``; if any.
    """

    def __init__(
        self,
        task: GraphTask,
        network: NetworkConfig,
        recipe: Recipe,
        pool: GraphStore,
        scored: int,
        seed: int,
        model: Callable[[GraphStore], Tensor] | None = None,
    ) -> None:
        self.task, self.network, self.pool = task, network, pool
        self.recipe = recipe
        order = torch.randperm(len(task.train), generator=generator(seed, "scored graphs"))
        self.scored = task.train.subset(order[:scored].sort().values)
        self._model = None if model is None else [model(graphs) for graphs in (self.scored, task.val)]
        self._batches: dict[tuple[str, str], list[SparseBatch]] = {}

    @property
    def other_kinds(self) -> Sequence[str]:
        """Two kinds of network beside the judge's."""
        return [kind for kind in _MESSAGE_PASSING if kind != self.network.kind][:2]

    def recipe_for(self, graphs: GraphStore) -> Recipe:
        """The judge's recipe, which looks at validation graphs as often as it pays.

        What the judge keeps depends on how often it looks, so a trial looks as often where that is cheap: looks take
        a quarter of the seconds of training at most. But twenty are always taken, or as many as the judge takes.
        """
        look, training = len(self.task.val.x) + _NODES_MORE, len(graphs.x) + _NODES_MORE
        affordable = math.ceil(_LOOK * look / (_SHARE * training))
        every = min(affordable, max(self.recipe.epochs // _LOOKS, 1))
        return replace(self.recipe, validate_every=max(self.recipe.validate_every, every))

    def examine(self, graphs: GraphStore, networks: int, kind: str | None = None) -> Said:
        """Train on ``graphs``; the same networks start from the same weights for every set.

        Args:
            graphs: with hard or soft labels.
            networks: how many.
            kind: of the networks, the judge's by default.
        """
        task, config = self.task, replace(self.network, kind=kind or self.network.kind)
        network = Network(config, task.num_features, task.num_outputs)
        seeds = range(_UNLIKE_A_JUDGE, _UNLIKE_A_JUDGE + networks)
        trained = train(network, graphs, task.val, seeds, self.recipe_for(graphs), task.metric)

        def said_of(name: str, asked: GraphStore) -> Tensor:
            key = (config.kind, name)
            if key not in self._batches:
                self._batches[key] = prediction_batches(network, asked)
            return predict(network, trained.weights, trained.statistics, self._batches[key])

        of_scored = said_of("scored", self.scored)
        scores = [METRICS[task.metric](of_scored, self.scored.y).mean(), trained.val_scores.mean()]
        if self._model is not None:
            agree = AGREEMENTS[task.metric]
            both = (of_scored, said_of("validation", task.val))
            agreed = [agree(said, word).mean() for said, word in zip(both, self._model, strict=True)]
            share = len(self.scored) / (len(self.scored) + _AS_GOOD_AS_LABELS)
            scores = [share * own + (1 - share) * other for own, other in zip(scores, agreed, strict=True)]
        parts = torch.tensor([len(self.scored), len(task.val)], dtype=torch.float64).sqrt()
        score = float(parts @ torch.stack(scores).double() / parts.sum())
        return Said(score, cache(lambda: probabilities(said_of("pool", self.pool).double()).mean(0)))
