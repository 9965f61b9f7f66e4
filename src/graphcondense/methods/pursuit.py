"""Real graphs, chosen so that networks that are trained on them agree with a teacher of all graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_at_least, check_choice, check_count
from graphcondense.graphs import GraphStore
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.regression import View, best_labels, exchange
from graphcondense.methods.soft import Soft
from graphcondense.metrics import METRICS
from graphcondense.models import Network
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, tangent_kernel, train

LABELS = ("best", "learned", "teacher", "own")
TRIED = ("learned", "teacher")
Step = Callable[[], None]
_GRAPHS_STARTED, _FEWEST_STARTS, _MOST_STARTS = 128, 2, 32
_UNLIKE_A_JUDGE = 10**6  # networks of trials start from other weights than those that users and the judge train
_LOOKS = 20  # at the validation graphs, in a trial
_LEAST = 0.01  # probability of a class in a learned label


@dataclass(frozen=True, eq=False)
class Choice:
    """Graphs that were chosen.

    Args:
        chosen: the graphs.
        labels: theirs, by kind: see :class:`Pursuit`.
        errors: of the regression from them, after each round of exchanges.
    """

    chosen: GraphStore
    labels: dict[str, Tensor]
    errors: list[float]

    def with_labels(self, kind: str) -> GraphStore:
        """The graphs with a kind of labels."""
        return replace(self.chosen, y=self.labels[kind])


@dataclass(frozen=True, eq=False)
class Entrant:
    """Graphs with labels, as they are tried.

    Args:
        graphs: the graphs.
        kind: of their labels.
        errors: of the regression from them with the teacher's labels, after each round of exchanges.
    """

    graphs: GraphStore
    kind: str
    errors: list[float]

    @property
    def history(self) -> list[dict[str, float]]:
        """What each round measured."""
        return [{"loss": error} for error in self.errors]


@dataclass(frozen=True, kw_only=True)
class Pursuit(Soft):
    """Choose the real graphs, and their labels, from which networks learn best what a teacher says of all graphs.

    Training a network on a few graphs is much like kernel regression with its tangent kernel. With that, the error of
    any choice of graphs on the whole training set is a matter of a small system of equations, and that of all
    exchanges of one graph for another a matter of a few products. From random choices, each graph in turn is
    exchanged for the one of its class with the least error, over several untrained networks at once. Then labels are
    learned: those with the least error, drawn towards the teacher's.

    Kernel regression is not training, so the ends of several starts are tried: networks are trained on each as the
    judge does, validation graphs choose the epoch, and scored on training graphs. Test graphs are not looked at.

    Args:
        labels: ``"learned"``; ``"teacher"`` for the teacher's probabilities; ``"own"`` for the graphs' own classes;
            ``"best"`` tries the first two.
        recipe: how the networks of trials are trained.
        finalists: ends that are tried, those with the least error; 1 (and one kind of labels) for no trials.
        trained: networks that are trained on each.
        scored: training graphs that they are scored on, at most.
        kernels: untrained networks whose tangent kernels are averaged over.
        kernel_hidden: their width.
        pool: training graphs that are chosen from and that the error is of, at most; every class has its share.
        rounds: how often each graph may be exchanged.
        starts: random choices to start from; ``None`` for as many as make 128 graphs, but 2 to 32.
        penalty: of the kernel regression, as a share of the kernel's diagonal.
        pull: how strongly learned labels are drawn towards the teacher's.

    The other settings are those of :class:`RandomSoft`.

    >>> from graphcondense import load
    >>> method = Pursuit(graphs_per_class=1, kernels=1, pool=50, teacher_hidden=16, labels="learned", finalists=1)
    >>> method.condense(load("digits")).graphs.y.shape
    torch.Size([10, 10])
    """

    name: ClassVar[str] = "pursuit"
    labels: str = "best"
    recipe: Recipe = Recipe()
    finalists: int = 3
    trained: int = 3
    scored: int = 2000
    kernels: int = 4
    kernel_hidden: int = 64
    pool: int = 2000
    rounds: int = 3
    starts: int | None = None
    penalty: float = 1e-3
    pull: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("labels", self.labels, LABELS)
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe={self.recipe!r} must be a Recipe, e.g. Recipe(epochs=100)")
        for argument in ("finalists", "trained", "scored", "kernels", "kernel_hidden", "pool", "rounds"):
            check_count(argument, getattr(self, argument))
        if self.starts is not None:
            check_count("starts", self.starts)
        for argument in ("penalty", "pull"):
            check_at_least(argument, getattr(self, argument), 0)

    def check(self, task: GraphTask) -> None:
        """There must be as many graphs as asked for."""
        self.class_sizes(task)

    def num_starts(self, task: GraphTask) -> int:
        """Random choices to start from."""
        if self.starts is not None:
            return self.starts
        return min(_MOST_STARTS, max(_FEWEST_STARTS, _GRAPHS_STARTED // sum(self.class_sizes(task))))

    def condense(
        self, task: GraphTask, callbacks: Sequence[Callback] = (), store: Store | None = None
    ) -> CondensedDataset:
        """The choice that taught best; ``info["trials"]`` has the scores of all that were tried."""
        self._begin(task)
        best, trials = self._tried(task, callbacks)
        return self._finish(task, best.graphs, best.history, trials=trials)

    def _condense(
        self, task: GraphTask, callbacks: Sequence[Callback], store: Store
    ) -> tuple[GraphStore, list[dict[str, float]]]:
        best, _ = self._tried(task, callbacks)
        return best.graphs, best.history

    def _tried(self, task: GraphTask, callbacks: Sequence[Callback]) -> tuple[Entrant, dict[str, Any]]:
        """The winner, and how all did; without trials where there is but one."""
        kinds = TRIED if self.labels == "best" else (self.labels,)
        ends = self.num_starts(task)
        with told(callbacks, self.kernels + ends + min(self.finalists, ends) * len(kinds)) as step:
            return self._winner(task, kinds, step)

    def _winner(self, task: GraphTask, kinds: Sequence[str], step: Step) -> tuple[Entrant, dict[str, Any]]:
        entrants = [
            Entrant(choice.with_labels(kind), kind, choice.errors)
            for choice in self.choices(task, step)[: self.finalists]
            for kind in kinds
        ]
        if len(entrants) == 1:
            return entrants[0], {}
        scores = self._scores(task, [entrant.graphs for entrant in entrants], step)
        best = max(range(len(scores)), key=scores.__getitem__)  # the first of equals
        shown = [
            [one.kind, round(one.errors[-1], 6), round(score, 6)] for one, score in zip(entrants, scores, strict=True)
        ]
        return entrants[best], {"winner": best, "labels, error, score": shown}

    def _scores(self, task: GraphTask, sets: Sequence[GraphStore], step: Step) -> list[float]:
        """How networks do on training graphs that were trained on each of ``sets`` as the judge does, on average."""
        judge = Network(self.network, task.num_features, task.num_outputs)
        recipe = replace(self.recipe, validate_every=max(self.recipe.validate_every, self.recipe.epochs // _LOOKS, 1))
        seeds = range(_UNLIKE_A_JUDGE, _UNLIKE_A_JUDGE + self.trained)
        order = torch.randperm(len(task.train), generator=generator(self.seed, "scored graphs"))
        scored, metric = task.train.subset(order[: self.scored].sort().values), METRICS[task.metric]
        scores = []
        for one in sets:
            networks = train(judge, one, task.val, seeds, recipe, task.metric)
            scores.append(float(metric(networks.outputs(scored), scored.y).mean()))
            step()
        return scores

    def choices(self, task: GraphTask, step: Step = lambda: None) -> list[Choice]:
        """Where the exchanges ended, from each start, without repeats, the one with the least error first.

        Args:
            task: where to choose from.
            step: called after each kernel and after each start.
        """
        source = generator(self.seed, "pursuit")
        graphs = task.train.subset(self._pool(task, source))
        said = self.teacher(task).probabilities(graphs)
        target, weights = said.double() - 1 / task.num_classes, _weights(task, graphs.y)
        network = Network(replace(self.network, hidden=self.kernel_hidden), task.num_features, task.num_outputs)
        views = []
        for number in range(self.kernels):
            kernel = tangent_kernel(network, graphs, self.seed, f"tangent {number}")
            views.append(View(kernel, target, weights, self.penalty))
            step()
        found: dict[frozenset[int], Choice] = {}
        for _ in range(self.num_starts(task)):
            start = _draw(graphs.y, self.class_sizes(task), source)
            chosen, errors = exchange(views, start, graphs.y, self.rounds)
            learned = _probabilities(best_labels(views, chosen, self.pull) + 1 / task.num_classes)
            kinds = {"own": graphs.y[chosen], "teacher": said[chosen], "learned": learned}
            found[frozenset(chosen.tolist())] = Choice(graphs.subset(chosen), kinds, errors)
            step()
        return sorted(found.values(), key=lambda choice: choice.errors[-1])

    def _pool(self, task: GraphTask, source: torch.Generator) -> Tensor:
        """Positions of the training graphs to choose from, class after class."""
        share = self.pool // task.num_classes
        most = [
            max(size, min(share, int(count)))
            for size, count in zip(self.class_sizes(task), task.train_class_counts, strict=True)
        ]
        return _draw(task.train.y, most, source)


@contextmanager
def told(callbacks: Sequence[Callback], steps: int) -> Iterator[Step]:
    """What is called after each of so many steps, to tell the callbacks of it."""
    hooks, numbers = Callbacks(callbacks), count(1)
    hooks.on_start(steps)
    try:
        yield lambda: hooks.on_iteration(next(numbers), {})
    finally:
        hooks.on_end()


def _draw(labels: Tensor, sizes: Sequence[int], source: torch.Generator) -> Tensor:
    """Places of so many of each label, label after label, none twice."""
    members = [(labels == label).nonzero().flatten() for label in range(len(sizes))]
    drawn = [own[torch.randperm(len(own), generator=source)[:size]] for own, size in zip(members, sizes, strict=True)]
    return torch.cat(drawn)


def _weights(task: GraphTask, labels: Tensor) -> Tensor:
    """Weights of graphs in the error: classes count as in the training set, for ROC-AUC all as much as any other."""
    counts = task.train_class_counts.double()
    if task.metric == "roc_auc":
        counts = torch.ones_like(counts)
    each = counts / counts.sum() / torch.bincount(labels, minlength=task.num_classes).clamp(min=1)
    return each[labels]


def _probabilities(values: Tensor) -> Tensor:
    """Values as probabilities: none below a hundredth, rows that add up to one."""
    positive = values.clamp(min=_LEAST, max=1)
    return (positive / positive.sum(1, keepdim=True)).float()
