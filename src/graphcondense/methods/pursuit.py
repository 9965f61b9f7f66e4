"""Real graphs, chosen so that networks that are trained on them agree with a teacher of all graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from graphcondense.errors import InputError, check_at_least, check_choice, check_count
from graphcondense.graphs import GraphStore
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.regression import View, best_labels, exchange
from graphcondense.methods.soft import Soft
from graphcondense.methods.trials import Examiner
from graphcondense.models import Network
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, adam_scales, tangent_kernel

LABELS = ("best", "learned", "teacher", "own")
TRIED = ("learned", "teacher")
Step = Callable[[], None]
_GRAPHS_STARTED, _FEWEST_STARTS, _MOST_STARTS = 128, 2, 32
_GRAPHS_TRAINED, _FEWEST_TRAINED, _MOST_TRAINED = 40, 2, 5
_AS_WELL = 0.95  # of the judge's score: what other kinds of network should reach
_TINY = 12  # graphs: of so few, a trial takes longer than all else, and a handful of trials finds what there is
_SETS, _STEPS = 3, 60  # random choices, and steps of training on each, that show Adam's scales
_LEAST = 0.01  # probability of a class in a learned label


@dataclass(frozen=True, eq=False)
class Choice:
    """Graphs that were chosen.

    Args:
        places: of the graphs among those that they were chosen from.
        chosen: the graphs.
        labels: theirs, by kind: see :class:`Pursuit`.
        errors: of the regression from them with the teacher's labels, after each round of exchanges.
    """

    places: Tensor
    chosen: GraphStore
    labels: dict[str, Tensor]
    errors: list[float]

    @property
    def history(self) -> list[dict[str, float]]:
        """What each round of exchanges measured."""
        return [{"loss": error} for error in self.errors]

    def with_labels(self, kind: str) -> GraphStore:
        """The graphs with a kind of labels."""
        return replace(self.chosen, y=self.labels[kind])


@dataclass(frozen=True, eq=False)
class Trial:
    """A choice with a kind of labels, and how networks did that were trained on it.

    Args:
        choice: the graphs.
        kind: of their labels.
        score: of the judge's kind of network.
        said: what those say on average of the graphs that are chosen from: probabilities minus an even share,
            ``G x C``.
        others: lowest score of other kinds of network; ``None`` where none were trained.
    """

    choice: Choice
    kind: str
    score: float
    said: Tensor
    others: float | None = None

    @property
    def graphs(self) -> GraphStore:
        """The graphs with their labels."""
        return self.choice.with_labels(self.kind)

    @property
    def all_round(self) -> float:
        """The score, as far as other kinds of network come within 5% of it."""
        return self.score if self.others is None else min(self.score, self.others / _AS_WELL)


class Ground:
    """The graphs that are chosen from, with what regressions from a few of them say of all.

    Args:
        graphs: with their classes.
        taught: the teacher's probabilities, ``G x C``.
        views: one a kernel.
        pull: how strongly learned labels are drawn towards the teacher's.
    """

    def __init__(self, graphs: GraphStore, taught: Tensor, views: list[View], pull: float) -> None:
        self.graphs, self.taught, self.views, self.pull = graphs, taught, views, pull

    def choice(self, start: Tensor, rounds: int, aim: Tensor | None = None) -> Choice:
        """Where exchanges end.

        Args:
            start: places of the graphs to start from.
            rounds: how often each may be exchanged.
            aim: what should be said of all graphs, ``G x C``; by default what the teacher says.
        """
        views = self.views if aim is None else [view.towards(aim) for view in self.views]
        places, errors = exchange(views, start, self.graphs.y, rounds)
        even = 1 / self.taught.shape[1]
        kinds = {
            "own": self.graphs.y[places],
            "teacher": self.taught[places],
            "learned": _probabilities(best_labels(views, places, self.pull) + even),
        }
        return Choice(places, self.graphs.subset(places), kinds, errors)

    def gap(self, trial: Trial) -> Tensor:
        """What regression from the graphs of a trial says of all graphs, minus what networks said, ``G x C``."""
        classes = self.taught.shape[1]
        labels = trial.graphs.y
        soft = labels if labels.is_floating_point() else F.one_hot(labels, classes)
        expected = [view.said(trial.choice.places, soft.double() - 1 / classes) for view in self.views]
        return torch.stack(expected).mean(0) - trial.said

    def next_to(self, choice: Choice, gap: Tensor) -> Choice:
        """The choice that aims at the teacher's word plus ``gap``, so that networks come to say the teacher's word."""
        return self.choice(choice.places, 1, self.views[0].aim + gap)


@dataclass(frozen=True, kw_only=True)
class Pursuit(Soft):
    """Choose the real graphs, and their labels, from which networks learn best what a teacher says of all graphs.

    Training a network on a few graphs is much like kernel regression with its tangent kernel. With that, the error of
    any choice of graphs on the whole training set is a matter of a small system of equations, and that of all
    exchanges of one graph for another a matter of a few products. From random choices, each graph in turn is
    exchanged for the one of its class with the least error, over several untrained networks at once. Then labels are
    learned: those with the least error, drawn towards the teacher's.

    Kernel regression is not training, so the ends of several starts are tried: networks are trained on each as the
    judge does, and scored on training and validation graphs (see :class:`Examiner`). From the best, a few steps are
    taken that set right what the networks said wrongly, and each is tried. On the best of all, networks of two other
    kinds are trained, so that what is taken teaches them too. Test graphs are not looked at.

    Args:
        labels: ``"learned"``; ``"teacher"`` for the teacher's probabilities; ``"own"`` for the graphs' own classes;
            ``"best"`` tries the first two (of up to 12 graphs the first alone).
        recipe: how the networks of trials are trained.
        finalists: ends that are tried, those with the least error; 1 (and one kind of labels, no steps) for no trials.
        steps: taken from the best of them, each of which is tried; ``None`` for 4 of up to 12 graphs and 8 of more.
        all_round: choices, the best of those tried, that other kinds of network are trained on; 1 for none, ``None``
            for 2 of up to 12 graphs and 3 of more.
        trained: networks that are trained in a trial; ``None`` for as many as make 40 graphs, but 2 to 5.
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
    >>> method = Pursuit(graphs_per_class=1, kernels=1, pool=50, labels="learned", finalists=1, steps=0)
    >>> method.condense(load("digits")).graphs.y.shape
    torch.Size([10, 10])
    """

    name: ClassVar[str] = "pursuit"
    labels: str = "best"
    recipe: Recipe = Recipe()
    finalists: int = 2
    steps: int | None = None
    all_round: int | None = None
    trained: int | None = None
    scored: int = 4000
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
        for argument in ("finalists", "scored", "kernels", "kernel_hidden", "pool", "rounds"):
            check_count(argument, getattr(self, argument))
        if self.steps is not None:
            check_count("steps", self.steps, minimum=0)
        for argument in ("starts", "trained", "all_round"):
            if getattr(self, argument) is not None:
                check_count(argument, getattr(self, argument))
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

    def num_trained(self, task: GraphTask) -> int:
        """Networks that are trained in a trial: what they learn from a few graphs differs more than from many."""
        if self.trained is not None:
            return self.trained
        return min(_MOST_TRAINED, max(_FEWEST_TRAINED, _GRAPHS_TRAINED // sum(self.class_sizes(task))))

    def is_tiny(self, task: GraphTask) -> bool:
        """Whether there are so few graphs that less is tried."""
        return sum(self.class_sizes(task)) <= _TINY

    def num_steps(self, task: GraphTask) -> int:
        """Steps from the best end."""
        return self.steps if self.steps is not None else 4 if self.is_tiny(task) else 8

    def num_all_round(self, task: GraphTask) -> int:
        """Choices that other kinds of network are trained on."""
        return self.all_round if self.all_round is not None else 2 if self.is_tiny(task) else 3

    def kinds(self, task: GraphTask) -> tuple[str, ...]:
        """Kinds of labels that are tried."""
        return (self.labels,) if self.labels != "best" else TRIED[:1] if self.is_tiny(task) else TRIED

    def condense(
        self, task: GraphTask, callbacks: Sequence[Callback] = (), store: Store | None = None
    ) -> CondensedDataset:
        """The choice that taught best; ``info["trials"]`` has the scores of all that were tried."""
        self._begin(task)
        graphs, history, trials = self._tried(task, callbacks)
        return self._finish(task, graphs, history, trials=trials)

    def _condense(
        self, task: GraphTask, callbacks: Sequence[Callback], store: Store
    ) -> tuple[GraphStore, list[dict[str, float]]]:
        graphs, history, _ = self._tried(task, callbacks)
        return graphs, history

    def _tried(
        self, task: GraphTask, callbacks: Sequence[Callback]
    ) -> tuple[GraphStore, list[dict[str, float]], dict[str, Any]]:
        """The winner with its history, and how all did; without trials where there is but one."""
        kinds, steps, ends = self.kinds(task), self.num_steps(task), self.num_starts(task)
        tried = min(self.finalists, ends) * len(kinds) + steps
        with told(callbacks, self.kernels + ends + tried + min(self.num_all_round(task), tried)) as step:
            ground = self.ground(task, step)
            entrants = [
                (choice, kind) for choice in self.choices(task, ground, step)[: self.finalists] for kind in kinds
            ]
            if len(entrants) == 1 and steps == 0:
                choice, kind = entrants[0]
                return choice.with_labels(kind), choice.history, {}
            examiner = Examiner(task, self.network, self.recipe, ground.graphs, self.scored, self.seed)
            trials = [self.trial(task, examiner, choice, kind, step) for choice, kind in entrants]
            latest = max(trials, key=lambda trial: trial.score)  # the first of equals
            gap = ground.gap(latest)
            for _ in range(steps):
                latest = self.trial(task, examiner, ground.next_to(latest.choice, gap), kinds[0], step)
                trials.append(latest)
                gap = (gap + ground.gap(latest)) / 2
            trials = self.with_others(task, examiner, trials, step)
            best = max(trials, key=lambda trial: (trial.others is not None, trial.all_round))
            shown = [
                [one.kind, round(one.choice.errors[-1], 6), round(one.score, 6), one.others and round(one.others, 6)]
                for one in trials
            ]
            facts = {"winner": trials.index(best), "labels, error, score, other networks": shown}
            return best.graphs, best.choice.history, facts

    def trial(self, task: GraphTask, examiner: Examiner, choice: Choice, kind: str, step: Step = lambda: None) -> Trial:
        """Networks trained on a choice as the judge does, and how they do."""
        found = examiner.examine(choice.with_labels(kind), self.num_trained(task))
        step()
        return Trial(choice, kind, found.score, found.pool - 1 / task.num_classes)

    def with_others(
        self, task: GraphTask, examiner: Examiner, trials: Sequence[Trial], step: Step = lambda: None
    ) -> list[Trial]:
        """The trials, the best of them with what other kinds of network score, half as many as of the judge's kind.

        Of several trials with the same graphs only the best one counts: labels change little.
        """
        likely: dict[frozenset[int], int] = {}
        for number in sorted(range(len(trials)), key=lambda number: -trials[number].score):
            likely.setdefault(frozenset(trials[number].choice.places.tolist()), number)
        found = list(trials)
        most = self.num_all_round(task)
        for number in list(likely.values())[: most if most > 1 else 0]:
            half = (self.num_trained(task) + 1) // 2
            scores = [examiner.examine(found[number].graphs, half, kind).score for kind in examiner.other_kinds]
            found[number] = replace(found[number], others=min(scores))
            step()
        return found

    def ground(self, task: GraphTask, step: Step = lambda: None) -> Ground:
        """The graphs that are chosen from, with kernels.

        Args:
            task: whose training graphs they are.
            step: called after each kernel.
        """
        source = generator(self.seed, "pool")
        graphs = task.train.subset(self._pool(task, source))
        taught = self.teacher(task).probabilities(graphs)
        even, weights = 1 / task.num_classes, _weights(task, graphs.y)
        aim = taught.double() - even
        target = F.one_hot(graphs.y, task.num_classes).double() - even if self.labels == "own" else aim
        network = Network(replace(self.network, hidden=self.kernel_hidden), task.num_features, task.num_outputs)
        sources = [generator(self.seed, f"tangent {number}") for number in range(self.kernels)]
        thetas = [network.draw(one) for one in sources]
        stacked = {name: torch.cat([theta[name] for theta in thetas]) for name in thetas[0]}
        labelled = graphs if self.labels == "own" else replace(graphs, y=taught)
        sets = [labelled.subset(_draw(graphs.y, self.class_sizes(task), source)) for _ in range(_SETS)]
        scales = adam_scales(network, stacked, sets, self.recipe.rate, min(_STEPS, self.recipe.epochs))
        views = []
        for theta, scale, own in zip(thetas, scales, sources, strict=True):
            kernel = tangent_kernel(network, theta, graphs, own, scale)
            views.append(View.of(kernel, target, weights, self.penalty, aim))
            step()
        return Ground(graphs, taught, views, self.pull)

    def choices(self, task: GraphTask, ground: Ground | None = None, step: Step = lambda: None) -> list[Choice]:
        """Where the exchanges ended, from each start, without repeats, the one with the least error first.

        Args:
            task: where to choose from.
            ground: its graphs with kernels, where they are known already.
            step: called after each start.
        """
        ground, source = ground or self.ground(task), generator(self.seed, "pursuit")
        found: dict[frozenset[int], Choice] = {}
        for _ in range(self.num_starts(task)):
            choice = ground.choice(_draw(ground.graphs.y, self.class_sizes(task), source), self.rounds)
            found[frozenset(choice.places.tolist())] = choice
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
