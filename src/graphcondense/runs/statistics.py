"""What a table of scores supports: which differences are more than luck, and when condensing has paid for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

LEVEL = 0.05
"""A difference that chance alone would make more often than this is not supported."""
_SAME = 1e-9  # scores that differ by less are equal but for rounding


def supported(first: Sequence[float], second: Sequence[float]) -> bool | None:
    """Whether the means of two samples differ by more than their spread explains (Welch's t-test).

    ``None`` where it cannot be told: a sample of one has no spread.

    >>> supported([0.60, 0.61, 0.62], [0.70, 0.71, 0.69]), supported([0.6, 0.7], [0.65, 0.75]), supported([0.6], [0.7])
    (True, False, None)
    """
    if min(len(first), len(second)) < 2:
        return None
    (mean_1, std_1, n_1), (mean_2, std_2, n_2) = ((np.mean(s), np.std(s, ddof=1), len(s)) for s in (first, second))
    if max(std_1, std_2) < _SAME:
        return bool(abs(mean_1 - mean_2) > _SAME)
    test = stats.ttest_ind_from_stats(mean_1, std_1, n_1, mean_2, std_2, n_2, equal_var=False)
    return bool(test.pvalue < LEVEL)


def break_even(condense_seconds: float, train_seconds: float, whole_seconds: float) -> int | None:
    """Trainings on the condensed set, instead of the whole one, until condensing has paid for itself.

    ``None`` for never: a training on the condensed set takes no less.

    >>> break_even(30.0, 1.0, 11.0), break_even(0.0, 1.0, 11.0), break_even(30.0, 2.0, 2.0)
    (3, 1, None)
    """
    saved = whole_seconds - train_seconds
    return max(1, math.ceil(condense_seconds / saved)) if saved > 0 else None


def size_of(row: dict[str, Any]) -> int | None:
    """Graphs per class of a row, or nodes where it is of a node task; ``None`` for the whole set."""
    size: int | None = row["nodes"] if "nodes" in row else row["graphs_per_class"]
    return size


def annotate(rows: Sequence[dict[str, Any]]) -> None:
    """Add to each row of a table how it stands against the others of its size.

    ``is_best`` marks the best condensed set of a size. ``vs_best`` and ``vs_random`` have the ``difference`` of the
    means and whether it is ``supported``; the unit is a condensation (for the whole set a training), because
    trainings on one and the same condensed set share its luck. ``break_even`` is ``None`` for never, and absent where
    the whole set was not run. ``share`` is bytes over those of the original.
    """
    for row in rows:
        peers = [other for other in rows if other["dataset"] == row["dataset"]]
        whole = next((other for other in peers if size_of(other) is None), None)
        if row is whole:
            continue
        same = [other for other in peers if size_of(other) == size_of(row)]
        best = max(same, key=lambda other: other["mean"])
        row["is_best"] = best["mean"] - row["mean"] < _SAME
        targets = {"vs_best": best, "vs_random": next((o for o in same if o["method"] == "random"), None)}
        for name, other in targets.items():
            if other is not None and other is not row and not (name == "vs_best" and row["is_best"]):
                row[name] = {
                    "difference": row["mean"] - other["mean"],
                    "supported": supported(row["condensation_means"], other["condensation_means"]),
                }
        if whole is not None:
            row["break_even"] = break_even(row["condense_seconds"], row["evaluate_seconds"], whole["evaluate_seconds"])
