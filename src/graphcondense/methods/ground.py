"""Graphs to choose from, what regressions from a few of them say of all, and choices with how they did in trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from graphcondense.errors import GraphcondenseError
from graphcondense.graphs import GraphStore
from graphcondense.methods.regression import View, best_labels, exchange

Key = tuple[frozenset[int], bool]
_AS_WELL = 0.95  # of the judge's score: what other kinds of network should reach
_LEAST = 0.01  # probability of a class in a learned label


@dataclass(frozen=True, eq=False)
class Choice:
    """Graphs that were chosen.

    Args:
        places: of the graphs among those that they were chosen from.
        chosen: the graphs.
        labels: theirs, by kind: see :class:`Pursuit`.
        errors: of the regression from them with the teacher's labels, after each round of exchanges.
        matched: whether ``chosen`` are what gradient matching made of the graphs that were chosen.
    """

    places: Tensor
    chosen: GraphStore
    labels: dict[str, Tensor]
    errors: list[float]
    matched: bool = False

    @property
    def key(self) -> Key:
        """The same for the same graphs in another order."""
        return frozenset(self.places.tolist()), self.matched

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
        ground: what the graphs were chosen from, and for which kind of labels.
        choice: the graphs.
        kind: of their labels.
        score: of the judge's kind of network.
        said: gives the probabilities that those say on average of the graphs that are chosen from, ``G x C``.
        others: lowest score of other kinds of network; ``None`` where none were trained.
    """

    ground: Ground
    choice: Choice
    kind: str
    score: float
    said: Callable[[], Tensor]
    others: float | None = None

    @property
    def graphs(self) -> GraphStore:
        """The graphs with their labels."""
        return self.choice.with_labels(self.kind)

    @property
    def row(self) -> list[str | float | None]:
        """What the file says of it: labels, error, score, that of other networks; learned graphs have no error."""
        matched, others = self.choice.matched, self.others
        error = None if matched else round(self.choice.errors[-1], 6)
        return [
            f"{self.kind}, matched" if matched else self.kind,
            error,
            round(self.score, 6),
            others and round(others, 6),
        ]

    @property
    def all_round(self) -> float:
        """The score, less half of what other kinds of network fall short of 95% of it."""
        return self.score if self.others is None else self.score - max(0.0, _AS_WELL * self.score - self.others) / 2


def likeliest(trials: Sequence[Trial]) -> list[int]:
    """Places of the trials, the best score first; of several with the same graphs the best one counts."""
    found: dict[Key, int] = {}
    for place in sorted(range(len(trials)), key=lambda place: -trials[place].score):
        found.setdefault(trials[place].choice.key, place)
    return list(found.values())


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

    def hard(self) -> Ground:
        """The same for graphs that keep their own classes: regressions are from these, and still aim at the teacher."""
        classes = self.taught.shape[1]
        target = F.one_hot(self.graphs.y, classes).double() - 1 / classes
        return Ground(self.graphs, self.taught, [replace(view, target=target) for view in self.views], self.pull)

    def choice(self, start: Tensor, rounds: int, aim: Tensor | None = None) -> Choice:
        """Where exchanges end.

        Args:
            start: places of the graphs to start from.
            rounds: how often each may be exchanged.
            aim: what should be said of all graphs, ``G x C``; by default what the teacher says.
        """
        views = self.views if aim is None else [view.towards(aim) for view in self.views]
        try:
            places, errors = exchange(views, start, self.graphs.y, rounds)
            learned = best_labels(views, places, self.pull) + 1 / self.taught.shape[1]
        except RuntimeError as error:
            if "singular" not in str(error):
                raise
            raise GraphcondenseError(
                "kernel regression from the chosen graphs has no solution: raise penalty, or scale the features (the "
                f"largest is {float(self.graphs.x.abs().max()):.3g})"
            ) from None
        kinds = {"own": self.graphs.y[places], "teacher": self.taught[places], "learned": _probabilities(learned)}
        return Choice(places, self.graphs.subset(places), kinds, errors)

    def gap(self, trial: Trial) -> Tensor:
        """What regression from the graphs of a trial says of all graphs, minus what networks said, ``G x C``."""
        classes = self.taught.shape[1]
        labels = trial.graphs.y
        soft = labels if labels.is_floating_point() else F.one_hot(labels, classes)
        expected = [view.said(trial.choice.places, soft.double() - 1 / classes) for view in self.views]
        return torch.stack(expected).mean(0) - (trial.said() - 1 / classes)

    def next_to(self, choice: Choice, gap: Tensor) -> Choice:
        """The choice that aims at the teacher's word plus ``gap``, so that networks come to say the teacher's word."""
        return self.choice(choice.places, 1, self.views[0].aim + gap)


def _probabilities(values: Tensor) -> Tensor:
    """Values as probabilities: none below a hundredth, rows that add up to one."""
    positive = values.clamp(min=_LEAST, max=1)
    return (positive / positive.sum(1, keepdim=True)).float()
