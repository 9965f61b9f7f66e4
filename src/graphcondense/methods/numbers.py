"""Numbers that go wrong: when a run is stopped, and what is said of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from graphcondense.errors import GraphcondenseError

EXPLODED = 1e6
"""A loss that is so many times as high as the first one (or as 1, if that is higher) has exploded."""
_USUAL_RATE = 0.1
_IN_A_ROW = 3  # iterations: a single draw of weights may be odd


class DivergedError(GraphcondenseError):
    """A loss is not a number, or has exploded."""


class LossWatch:
    """Stops a run whose loss is not finite, or stays far above where it began.

    Args:
        class_names: for the message.
        rates: settings to lower, with their values: that of the features, that of the structure, and for bi-level
            methods that of the networks.
        largest: largest absolute feature of the real graphs.
    """

    def __init__(self, class_names: Sequence[str], rates: Mapping[str, float], largest: float) -> None:
        self.class_names, self.rates, self.largest = tuple(class_names), dict(rates), largest
        self._first: float | None = None
        self._high = 0

    def recall(self, losses: Iterable[float]) -> None:
        """See again what a run that is continued had seen."""
        self._first, self._high = None, 0
        for loss in losses:
            self._count(loss)

    def see(
        self,
        iteration: int,
        record: Mapping[str, float],
        gaps: Callable[[], Tensor],
        learned: Sequence[Tensor],
        weights: Iterable[Tensor],
    ) -> None:
        """Look at what an iteration measured, before anything is changed by it.

        Args:
            iteration: which one, from 0.
            record: what it measured.
            gaps: gives the distance of each class; asked only if something is wrong.
            learned: features, then structure.
            weights: of the network that was matched.
        """
        wrong = next((name for name, value in record.items() if not math.isfinite(value)), None)
        if wrong is None and not self._count(record["loss"]):
            return
        loss = record["loss"]
        what = f"the loss is {loss}" if wrong in (None, "loss") else f"the loss is {loss:.3g}, {wrong} {record[wrong]}"
        if wrong is None:
            what = f"the loss is {loss:.3g}, {loss / (self._first or 1.0):.0e} times what it was at first"
        raise DivergedError(
            f"{what}, at iteration {iteration + 1}, {self._class(gaps())}: {self._remedy(iteration, learned, weights)}"
        )

    def _count(self, loss: float) -> bool:
        """Note a finite loss; whether it has exploded."""
        if self._first is None:
            self._first = loss
        self._high = self._high + 1 if loss > EXPLODED * max(1.0, self._first) else 0
        return self._high >= _IN_A_ROW

    def _class(self, gaps: Tensor) -> str:
        """The class that is worst off; those that are no numbers before all others."""
        if len(gaps) != len(self.class_names):
            return "in all classes together"
        place = int(torch.where(gaps.isfinite(), gaps, torch.full_like(gaps, math.inf)).argmax())
        return f"worst in class {self.class_names[place]}"

    def _remedy(self, iteration: int, learned: Sequence[Tensor], weights: Iterable[Tensor]) -> str:
        if iteration == 0:
            return f"the real features reach {self.largest:.3g}: scale them, e.g. to mean 0 and standard deviation 1"
        names = list(self.rates)
        suspects = names[2:] if not all_finite(weights) else names[1:2] if not all_finite(learned[1:]) else names[:1]
        name = (suspects or names)[0]
        return f"lower {name}={self.rates[name]}, e.g. to {lower(self.rates[name]):.3g}"


def check_learned(iteration: int, learned: Sequence[Tensor], watch: LossWatch) -> None:
    """Raise if what is to be kept is not finite: the last step was too long, though its loss was fine."""
    if not all_finite(learned):
        name = list(watch.rates)[0 if not all_finite(learned[:1]) else 1]
        raise DivergedError(
            f"what was learned is not finite after iteration {iteration}: lower {name}={watch.rates[name]}, e.g. to "
            f"{lower(watch.rates[name]):.3g}"
        )


def lower(rate: float) -> float:
    """A rate to try instead: a tenth, and no more than what is usual at most."""
    return min(rate / 10, _USUAL_RATE)


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether every number of all tensors is finite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)
