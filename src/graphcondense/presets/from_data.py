"""Settings that come from the data itself, so that a dataset which nobody tuned for gets what fits it."""

from __future__ import annotations

from typing import Any

import torch

from graphcondense.methods.rates import rate_for
from graphcondense.parts import class_sizes
from graphcondense.tasks import GraphTask

_DECIDES = 0.6


def network_from(task: GraphTask) -> dict[str, Any]:
    """Sum instead of mean pooling where the class is largely a matter of size, which a mean does not see."""
    return {"pooling": "sum"} if size_share(task) >= _DECIDES else {}


def condense_from(task: GraphTask, settings: dict[str, Any]) -> dict[str, Any]:
    """A rate for features in proportion to their spread, where that is far from one: Adam's step is the rate itself."""
    if "feature_rate" not in settings:
        return {}
    rate = rate_for(task, settings["feature_rate"])
    return {} if rate == settings["feature_rate"] else {"feature_rate": rate}


def size_share(task: GraphTask) -> float:
    """Share of the variance of the graphs' sizes (their logarithms) that their classes explain, adjusted for chance."""
    parts = [class_sizes(task.train, task.num_classes)] if task.part is None else task.part.sizes
    count, total, squares = torch.zeros(3, task.num_classes, dtype=torch.double)
    for part in parts:
        for label, sizes in enumerate(part):
            nodes = torch.tensor(list(sizes), dtype=torch.double).log()
            often = torch.tensor(list(sizes.values()), dtype=torch.double)
            count[label] += often.sum()
            total[label] += (often * nodes).sum()
            squares[label] += (often * nodes.square()).sum()
    graphs, classes = float(count.sum()), int((count > 0).sum())
    whole = float(squares.sum() - total.sum() ** 2 / graphs)
    within = float((squares - total.square() / count.clamp(min=1)).sum())
    if graphs <= classes or whole <= 1e-12:
        return 0.0
    return max(0.0, 1 - (within / (graphs - classes)) / (whole / (graphs - 1)))
