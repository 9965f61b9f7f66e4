"""Settings that come from the data itself, so that a dataset which nobody tuned for gets what fits it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphcondense.parts import class_sizes
from graphcondense.tasks import GraphTask

_DECIDES = 0.6
_USUAL_SPREAD = (0.05, 10.0)


def network_from(task: GraphTask) -> dict[str, Any]:
    """Sum instead of mean pooling where the class is largely a matter of size, which a mean does not see."""
    return {"pooling": "sum"} if size_share(task) >= _DECIDES else {}


def condense_from(task: GraphTask, settings: dict[str, Any]) -> dict[str, Any]:
    """A rate for features in proportion to their spread, where that is far from one: Adam's step is the rate itself."""
    spread = feature_spread(task)
    low, high = _USUAL_SPREAD
    if spread is None or low <= spread <= high or "feature_rate" not in settings:
        return {}
    return {"feature_rate": float(f"{settings['feature_rate'] * spread:.1g}")}


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


def feature_spread(task: GraphTask) -> float | None:
    """The largest standard deviation of a column over the training nodes; ``None`` where all are 0 or 1."""
    x = task.train.x.double()
    other = ((x != 0) & (x != 1)).sum()
    moments = torch.cat([torch.tensor([len(x), float(other)], dtype=torch.double), x.sum(0), x.square().sum(0)])
    if task.part is not None:
        task.part.world.add(moments)
    nodes, uncommon = moments[:2].tolist()
    if uncommon == 0:
        return None
    means: Tensor
    means, squares = moments[2:].view(2, -1) / nodes
    spread = float((squares - means.square()).clamp(min=0).max().sqrt())
    return spread or None
