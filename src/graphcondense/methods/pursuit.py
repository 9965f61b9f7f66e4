"""Real graphs, chosen so that networks that are trained on them agree with a teacher of all graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_at_least, check_choice, check_count
from graphcondense.graphs import GraphStore
from graphcondense.methods.base import Made
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.effort import Effort, is_tiny
from graphcondense.methods.ground import Choice, Ground, Key, Trial, likeliest
from graphcondense.methods.matched import match_from
from graphcondense.methods.regression import View
from graphcondense.methods.soft import Soft
from graphcondense.methods.teachers import networks_are_as_good, train_teacher
from graphcondense.methods.trials import Examiner
from graphcondense.models import Network
from graphcondense.seeding import generator
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, adam_scales, tangent_kernel

LABELS = ("best", "learned", "teacher", "own")
TRIED = ("learned", "teacher", "own")
_MATCHED = ("learned", "own")
TEACHERS = ("best", "regression", "networks")
_COUNTS = (
    "scored",
    "kernels",
    "kernel_hidden",
    "pool",
    "rounds",
    "patience",
    "all_round",
    "taught_networks",
    "taught_steps",
)
_REAL, _LEARNED = {"made_of": "real graphs"}, {"made_of": "graphs learned from real ones"}
Step = Callable[[], None]
Word = Callable[[GraphStore], Tensor]
_BETTER = 1e-3  # in a trial's score: less is not worth going on for
_SETS, _STEPS = 3, 60  # random choices, and steps of training on each, that show Adam's scales


@dataclass(frozen=True, kw_only=True)
class Pursuit(Soft):
    """Choose the real graphs, and their labels, from which networks learn best what a teacher says of all graphs.

    Training a network on a few graphs is much like kernel regression with its tangent kernel. With that, the error of
    any choice of graphs on the whole training set is a matter of a small system of equations, and that of all
    exchanges of one graph for another a matter of a few products. From random choices, each graph in turn is
    exchanged for the one of its class with the least error, over several untrained networks at once. Then labels are
    learned: those with the least error, drawn towards the teacher's.

    There are two teachers: a regression that is fitted to all graphs, and networks that are trained on all graphs for a
    while. What networks came to say, networks can learn, but the regression often knows more. Validation graphs decide.

    Kernel regression is not training, so the ends of several starts are tried: networks are trained on each as the
    judge does, and scored on training and validation graphs (see :class:`Examiner`). From the best, a few steps are
    taken that set right what the networks said wrongly, and each is tried. Of up to 12 graphs, which real graphs can
    hardly be right for, the best choices are where a short condensation by gradient matching starts from instead, and
    what it learns is tried. On the best of all, networks of two other kinds are trained, so that what is taken teaches
    them too. Test graphs are not looked at.

    Args:
        labels: ``"learned"``; ``"teacher"`` for the teacher's probabilities; ``"own"`` for the graphs' own classes;
            ``"best"`` tries all (of up to 12 graphs not the teacher's).
        taught_by: who says what there is to learn: the ``"regression"`` of :class:`RandomSoft`, or ``"networks"`` that
            are trained on all graphs for a short while; ``"best"`` takes these, unless the regression's score on
            validation graphs is higher by a standard error or more, or both err on the same graphs.
        taught_networks: networks that are trained to teach.
        taught_steps: of their training, at most.
        recipe: how the networks of trials, and those that teach, are trained.
        finalists: ends that are tried, those with the least error; 1 (and one kind of labels, no steps) for no trials.
            ``None`` for 2, but of up to 12 graphs for 5 where there are 2,000 training graphs or more: their scores
            tell well what errors do not tell of so few.
        steps: taken from the best of them, each of which is tried; ``None`` for 8, but 0 of up to 12 graphs.
        patience: steps in a row without a score that is better by .001, after which no more are taken.
        matched: choices, the best of those tried, whose features and 0/1 structure are learned from there by gradient
            matching, and tried, until one is no better, at most; ``None`` for 0, but of up to 12 graphs for 2, and 1
            where there are less than 500 training graphs. Graphs so large that it would take long are left as they are.
        matched_steps: iterations of gradient matching; ``None`` for 300, but 1,000 where graphs have a hundred nodes or
            more on average.
        all_round: choices, the best of those tried, that other kinds of network are trained on, at most; 1 for none.
        trained: networks that are trained in a trial; ``None`` for as many as make 40 graphs, but 2 to 4 (3 where there
            are less than 500 training graphs: the scores differ more by these than by the networks).
        scored: training graphs that they are scored on, at most.
        kernels: untrained networks whose tangent kernels are averaged over.
        kernel_hidden: their width.
        pool: training graphs that are chosen from and that the error is of, at most; every class has its share.
        rounds: how often each graph may be exchanged.
        starts: random choices to start from; ``None`` for as many as make 128 graphs, but 2 to 16.
        penalty: of the kernel regression, as a share of the kernel's diagonal.
        pull: how strongly learned labels are drawn towards the teacher's.

    The other settings are those of :class:`RandomSoft`.

    >>> from graphcondense import load
    >>> untried = {"taught_by": "regression", "labels": "learned", "finalists": 1, "steps": 0}
    >>> method = Pursuit(graphs_per_class=1, kernels=1, pool=50, **untried)
    >>> method.condense(load("digits")).graphs.y.shape
    torch.Size([10, 10])
    """

    name: ClassVar[str] = "pursuit"
    labels: str = "best"
    taught_by: str = "best"
    taught_networks: int = 2
    taught_steps: int = 500
    recipe: Recipe = Recipe()
    finalists: int | None = None
    steps: int | None = None
    patience: int = 3
    matched: int | None = None
    matched_steps: int | None = None
    all_round: int = 3
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
        check_choice("taught_by", self.taught_by, TEACHERS)
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe={self.recipe!r} must be a Recipe, e.g. Recipe(epochs=100)")
        for argument in _COUNTS:
            check_count(argument, getattr(self, argument))
        for argument in ("steps", "matched"):
            if getattr(self, argument) is not None:
                check_count(argument, getattr(self, argument), minimum=0)
        for argument in ("finalists", "starts", "trained", "matched_steps"):
            if getattr(self, argument) is not None:
                check_count(argument, getattr(self, argument))
        for argument in ("penalty", "pull"):
            check_at_least(argument, getattr(self, argument), 0)

    def check(self, task: GraphTask) -> None:
        """There must be as many graphs as asked for."""
        self.class_sizes(task)

    def effort(self, task: GraphTask) -> Effort:
        """How much is tried: what was given, and for the rest what fits ``task``."""
        given = {name: getattr(self, name) for name in Effort.names()}
        return Effort.of(task, sum(self.class_sizes(task)), given)

    def kinds(self, task: GraphTask) -> tuple[str, ...]:
        """Kinds of labels that are tried."""
        tiny = is_tiny(sum(self.class_sizes(task)))
        return (self.labels,) if self.labels != "best" else TRIED[::2] if tiny else TRIED

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        """The choice that taught best; ``info["trials"]`` has the scores of all that were tried."""
        effort = self.effort(task)
        with told(callbacks, self.most_told(task)) as step:
            teacher, word = self.taught(task)
            entrants = self.entrants(task, self.ground(task, word, step), step)
            if len(entrants) == 1 and effort.steps == 0 and not self.matched:
                _, choice, kind = entrants[0]
                return Made(choice.with_labels(kind), choice.history, {"teacher": teacher, "trials": {}, **_REAL})
            pool = entrants[0][0].graphs
            model = word if teacher == "networks" else None
            examiner = Examiner(task, self.network, self.recipe, pool, self.scored, self.seed, model)
            trials = [self.trial(task, examiner, *entrant, step) for entrant in entrants]
            further = self.from_best(task, examiner, trials, step)
            learned = self.learned(task, examiner, [*trials, *further], step)
            trials = self.with_others(task, examiner, [*trials, *further, *learned], step)
            best = max(trials, key=lambda trial: (trial.others is not None, trial.all_round))
            shown = [one.row for one in trials]
            used = {
                "starts": effort.starts,
                "steps": len(further),
                "matched": len({one.choice.key for one in learned}),
                "matched_steps": effort.matched_steps,
                "trained": effort.trained,
                "all_round": sum(one.others is not None for one in trials),
            }
            told_of = {"winner": trials.index(best), "labels, error, score, other networks": shown, "used": used}
            facts = {"teacher": teacher, "trials": told_of, **(_LEARNED if best.choice.matched else _REAL)}
            return Made(best.graphs, best.choice.history, facts)

    def most_told(self, task: GraphTask) -> int:
        """Kernels, starts and trials at most: what progress is counted in."""
        kinds, effort = self.kinds(task), self.effort(task)
        alone, likely = int("own" in kinds and len(kinds) > 1), min(effort.finalists, effort.starts)
        tried = likely * (len(kinds) - alone) + alone * (effort.finalists + 1) // 2 + effort.steps
        matched = min(effort.matched, tried)
        most = tried + matched * (1 + (len(_MATCHED) if self.labels == "best" else 1))
        return self.kernels + effort.starts * (1 + alone) + most + min(self.all_round, most)

    def entrants(self, task: GraphTask, ground: Ground, step: Step = lambda: None) -> list[tuple[Ground, Choice, str]]:
        """What is tried first: the likeliest choices with soft labels of each kind, and half as many with own classes.

        Own classes teach more where soft labels are a weak signal, as with features so small that networks hardly move.
        """
        kinds = self.kinds(task)
        soft = [kind for kind in kinds if kind != "own"]
        found, most = [], self.effort(task).finalists
        if soft:
            likely = self.choices(task, ground, step)[:most]
            found = [(ground, choice, kind) for choice in likely for kind in soft]
        if "own" in kinds:
            hard = ground.hard()
            found += [
                (hard, choice, "own") for choice in self.choices(task, hard, step)[: (most + 1) // 2 if soft else most]
            ]
        return found

    def trial(
        self,
        task: GraphTask,
        examiner: Examiner,
        ground: Ground,
        choice: Choice,
        kind: str,
        step: Step = lambda: None,
    ) -> Trial:
        """Networks trained on a choice as the judge does, and how they do."""
        found = examiner.examine(choice.with_labels(kind), self.effort(task).trained)
        step()
        return Trial(ground, choice, kind, found.score, found.pool)

    def from_best(
        self, task: GraphTask, examiner: Examiner, trials: Sequence[Trial], step: Step = lambda: None
    ) -> list[Trial]:
        """Trials of steps from the best one, until several in a row have not led to a score that is better by .001."""
        latest = max(trials, key=lambda trial: trial.score)  # the first of equals
        best, idle = latest.score, 0
        kind = "own" if latest.kind == "own" else self.kinds(task)[0]
        found: list[Trial] = []
        gap: Tensor | None = None
        for _ in range(self.effort(task).steps):
            ground = latest.ground
            gap = ground.gap(latest) if gap is None else (gap + ground.gap(latest)) / 2
            choice = ground.next_to(latest.choice, gap)
            # Graphs with their own classes teach what they taught before; learned labels differ from step to step.
            before = [one for one in (*trials, *found) if one.kind == kind == "own" and one.choice.key == choice.key]
            latest = before[0] if before else self.trial(task, examiner, ground, choice, kind, step)
            found += [] if before else [latest]
            best, idle = (latest.score, 0) if latest.score >= best + _BETTER else (best, idle + 1)
            if idle == self.patience:
                break
        return found

    def learned(
        self, task: GraphTask, examiner: Examiner, trials: Sequence[Trial], step: Step = lambda: None
    ) -> list[Trial]:
        """Trials of graphs that are learned from those of the best trials, until one was no better.

        Graphs are learned as graphs of their classes, but the soft labels of those that they come from often fit them
        better: these are tried first.
        """
        found: list[Trial] = []
        best = max(trial.score for trial in trials)
        kinds = _MATCHED if self.labels == "best" else (self.labels,)
        for trial in (trials[number] for number in likeliest(trials)[: self.effort(task).matched]):
            real, start = trial.ground.graphs, trial.choice.with_labels("own")
            graphs = match_from(start, real, task, self.network, self.effort(task).matched_steps, self.seed)
            step()
            if graphs is None:
                break
            choice, before = replace(trial.choice, chosen=graphs, matched=True), best
            for kind in kinds:
                found.append(self.trial(task, examiner, trial.ground, choice, kind, step))
                if found[-1].score > before:
                    best = found[-1].score
                    break
            if best == before:
                break
        return found

    def with_others(
        self, task: GraphTask, examiner: Examiner, trials: Sequence[Trial], step: Step = lambda: None
    ) -> list[Trial]:
        """The trials, the best of them with what other kinds of network score, half as many as of the judge's kind.

        Of several trials with the same graphs only the best one counts: labels change little. As other kinds only ever
        count against a choice, none are trained on those that could not come first any more.
        """
        found, most, half = list(trials), self.all_round, max(1, self.effort(task).trained // 2)
        first = -math.inf
        for number in likeliest(trials)[: most if most > 1 else 0]:
            if found[number].score <= first:
                break
            scores = [examiner.examine(found[number].graphs, half, kind).score for kind in examiner.other_kinds]
            found[number] = replace(found[number], others=min(scores))
            first = max(first, found[number].all_round)
            step()
        return found

    def taught(self, task: GraphTask) -> tuple[str, Word]:
        """Who says what there is to learn, and what gives the word of a teacher, ``G x C``."""
        regression = None if self.taught_by == "networks" else self.teacher(task)
        if self.taught_by != "regression":
            few, steps = self.taught_networks, self.taught_steps
            networks = train_teacher(task, self.network, self.recipe, few, steps, self.seed)
            if regression is None or networks_are_as_good(task, networks, regression, self.seed):
                return "networks", networks.probabilities
        assert regression is not None
        return "regression", regression.probabilities

    def ground(self, task: GraphTask, word: Word, step: Step = lambda: None) -> Ground:
        """The graphs that are chosen from, with kernels.

        Args:
            task: whose training graphs they are.
            word: the teacher's.
            step: called after each kernel.
        """
        source = generator(self.seed, "pool")
        graphs = task.train.subset(self._pool(task, source))
        taught = word(graphs)
        even, weights = 1 / task.num_classes, _weights(task, graphs.y)
        aim = taught.double() - even
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
            views.append(View.of(kernel, aim, weights, self.penalty))
            step()
        return Ground(graphs, taught, views, self.pull)

    def choices(self, task: GraphTask, ground: Ground, step: Step = lambda: None) -> list[Choice]:
        """Where the exchanges ended, from each start, without repeats, the one with the least error first.

        Args:
            task: where to choose from.
            ground: its graphs with kernels.
            step: called after each start.
        """
        source = generator(self.seed, "pursuit")
        found: dict[Key, Choice] = {}
        for _ in range(self.effort(task).starts):
            choice = ground.choice(_draw(ground.graphs.y, self.class_sizes(task), source), self.rounds)
            found[choice.key] = choice
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
