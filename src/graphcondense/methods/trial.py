"""Candidates that are tried: networks are trained on each for a short while, and the set that teaches best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from graphcondense.errors import InputError, check_count
from graphcondense.graphs import GraphStore
from graphcondense.methods.callbacks import Callback
from graphcondense.methods.doscond import DosCond
from graphcondense.methods.selection import choose_at_random
from graphcondense.methods.soft import fit_teacher
from graphcondense.models import Network, NetworkConfig
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, train

_GRAPHS_TRIED, _FEWEST, _MOST = 480, 8, 64
_NARROWER = 4  # a trial's network has so many times fewer units: a tenth of the time, nearly the same order
_SHORT = Recipe(epochs=200, rate=0.003, decay_at=1.0, validate_every=200)
_SHORT_NETWORKS, _FINAL_NETWORKS = 2, 3
_UNLIKE_A_JUDGE = 10**6  # networks of trials start from other weights than those that users and the judge train


@dataclass(frozen=True, kw_only=True)
class Trial(DosCond):
    """The best of several: random graphs with hard and with soft labels, and those that DosCond learns.

    Several random choices of training graphs are tried, each with its own labels and with a teacher's (see
    :class:`RandomSoft`): small networks are trained on it for 200 steps and scored on training graphs. The best of
    either kind, and what :class:`DosCond` learned with the same settings, meet in a final with the judge's own network
    and recipe. Neither validation nor test graphs are looked at. ``info["trials"]`` has the scores.

    Args:
        recipe: how the networks of the final are trained.
        candidates: random choices that are tried; ``None`` for as many as make 480 graphs, but 8 to 64.
        finalists: of either kind of label, how many come to the final.
        scored: training graphs that trials are scored on, at most.
        teacher_networks: untrained networks that the teacher averages.
        teacher_hidden: their width.

    The other settings are those of :class:`DosCond`.

    >>> from graphcondense import load
    >>> method = Trial(graphs_per_class=1, iterations=2, candidates=2, recipe=Recipe(epochs=2), teacher_hidden=16)
    >>> sorted(method.condense(load("digits")).info["trials"])
    ['scores', 'winner']
    """

    name: ClassVar[str] = "trial"
    in_parts: ClassVar[bool] = False
    recipe: Recipe = Recipe()
    candidates: int | None = None
    finalists: int = 2
    scored: int = 2000
    teacher_networks: int = 4
    teacher_hidden: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe={self.recipe!r} must be a Recipe, e.g. Recipe(epochs=100)")
        for argument in ("finalists", "scored", "teacher_networks", "teacher_hidden"):
            check_count(argument, getattr(self, argument))
        if self.candidates is not None:
            check_count("candidates", self.candidates)

    def num_candidates(self, task: GraphTask) -> int:
        """Random choices that are tried."""
        if self.candidates is not None:
            return self.candidates
        return min(_MOST, max(_FEWEST, _GRAPHS_TRIED // sum(self.class_sizes(task))))

    def condense(
        self, task: GraphTask, callbacks: Sequence[Callback] = (), store: Store | None = None
    ) -> CondensedDataset:
        """The winner; the history is that of the graphs that were learned, whether they won or not."""
        learned = super().condense(task, callbacks, store)
        entrants = [("learned", learned.graphs), *self._chosen(task)]
        judge = Network(self.network, task.num_features, task.num_outputs)
        last_look = replace(self.recipe, validate_every=self.recipe.epochs)
        final = _Trial(judge, last_look, _FINAL_NETWORKS, self._scored(task), task.metric)
        scores = [final.score(graphs) for _, graphs in entrants]
        best = max(range(len(scores)), key=scores.__getitem__)  # the first of equals
        trials = {
            "winner": entrants[best][0],
            "scores": [[kind, round(score, 6)] for (kind, _), score in zip(entrants, scores, strict=True)],
        }
        return replace(learned, graphs=entrants[best][1], info=learned.info | {"trials": trials})

    def _chosen(self, task: GraphTask) -> list[tuple[str, GraphStore]]:
        """The finalists among random choices, with their own and with the teacher's labels."""
        source, sizes = generator(self.seed, "trial"), self.class_sizes(task)
        hard = [task.train.subset(choose_at_random(task, sizes, source)) for _ in range(self.num_candidates(task))]
        teacher = fit_teacher(task, self.network, self.teacher_networks, self.teacher_hidden, self.seed)
        soft = [replace(graphs, y=teacher.probabilities(graphs)) for graphs in hard]
        narrow = NetworkConfig(**(vars(self.network) | {"hidden": max(1, self.network.hidden // _NARROWER)}))
        network = Network(narrow, task.num_features, task.num_outputs)
        trial = _Trial(network, _SHORT, _SHORT_NETWORKS, self._scored(task), task.metric)
        best = []
        for kind, sets in (("hard", hard), ("soft", soft)):
            scores = [trial.score(graphs) for graphs in sets]
            order = sorted(range(len(sets)), key=lambda place: -scores[place])
            best += [(kind, sets[place]) for place in order[: self.finalists]]
        return best

    def _scored(self, task: GraphTask) -> GraphStore:
        """The training graphs that trials are scored on."""
        if len(task.train) <= self.scored:
            return task.train
        order = torch.randperm(len(task.train), generator=generator(self.seed, "scored graphs"))
        return task.train.subset(order[: self.scored].sort().values)


@dataclass(frozen=True)
class _Trial:
    """Networks trained on a set of graphs, scored after the last epoch.

    Args:
        network: what is trained.
        recipe: how; it looks at the scored graphs once, at the end.
        networks: how many.
        graphs: what they are scored on.
        metric: what is measured.
    """

    network: Network
    recipe: Recipe
    networks: int
    graphs: GraphStore
    metric: str

    def score(self, candidate: GraphStore) -> float:
        """How well networks do that were trained on ``candidate``, on average."""
        seeds = range(_UNLIKE_A_JUDGE, _UNLIKE_A_JUDGE + self.networks)
        return float(train(self.network, candidate, self.graphs, seeds, self.recipe, self.metric).val_scores.mean())
