"""How much a pursuit tries: what is not given follows from the numbers of condensed and of real graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from graphcondense.tasks import GraphTask

_TINY = 12  # graphs: of so few, a trial takes longer than all else, and real ones are hardly ever right
_MANY, _VERY_MANY = 500, 2000  # training graphs: with less all else is so quick that little may be tried
_LARGE = 100  # nodes of a graph on average
_GRAPHS_STARTED, _FEWEST_STARTS, _MOST_STARTS = 128, 2, 16
_GRAPHS_TRAINED, _FEWEST_TRAINED, _MOST_TRAINED, _MOST_TRAINED_ON_FEW = 40, 2, 4, 3


@dataclass(frozen=True)
class Effort:
    """How much a pursuit tries.

    Args:
        finalists: ends that are tried. Of few graphs errors tell little, and scores on many training graphs much.
        starts: random choices to start from: fewer where each is larger.
        steps: from the best end.
        matched: choices that graphs are learned from.
        matched_steps: iterations of gradient matching: on large graphs fewer were worse, and DosCond takes long, too.
        trained: networks that are trained in a trial: what they learn from a few graphs differs more than from many.
            Where there are few training graphs, scores differ more by these than by the networks.
    """

    finalists: int
    starts: int
    steps: int
    matched: int
    matched_steps: int
    trained: int

    @staticmethod
    def names() -> list[str]:
        """Names of all of it: settings of a pursuit, where they may be left out."""
        return [one.name for one in fields(Effort)]

    @staticmethod
    def of(task: GraphTask, graphs: int, given: Mapping[str, int | None]) -> Effort:
        """What is given, and for what is ``None`` what fits.

        Args:
            task: the dataset.
            graphs: that it is condensed to, in all.
            given: by name.

        >>> from graphcondense import load
        >>> Effort.of(load("digits"), 10, dict.fromkeys(Effort.names()) | {"starts": 3})
        Effort(finalists=2, starts=3, steps=0, matched=2, matched_steps=300, trained=4)
        """
        tiny, real = is_tiny(graphs), len(task.train)
        most_trained = _MOST_TRAINED if real >= _MANY else _MOST_TRAINED_ON_FEW
        usual = {
            "finalists": 5 if tiny and real >= _VERY_MANY else 2,
            "starts": min(_MOST_STARTS, max(_FEWEST_STARTS, _GRAPHS_STARTED // graphs)),
            "steps": 0 if tiny else 8,
            "matched": 0 if not tiny else 2 if real >= _MANY else 1,
            "matched_steps": 1000 if task.mean_nodes >= _LARGE else 300,
            "trained": min(most_trained, max(_FEWEST_TRAINED, _GRAPHS_TRAINED // graphs)),
        }
        return Effort(**{name: value if (own := given[name]) is None else own for name, value in usual.items()})


def is_tiny(graphs: int) -> bool:
    """Whether so few graphs are condensed to that less is tried, and graphs are learned."""
    return graphs <= _TINY
