"""How far features spread, and how fast they should be learned."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.tasks import GraphTask

_USUAL_SPREAD = (0.05, 10.0)


def rate_for(task: GraphTask, rate: float) -> float:
    """``rate`` of learning features in proportion to their spread, where that is far from one.

    Adam's step is the rate itself, whatever the features' unit.
    """
    spread = feature_spread(task)
    low, high = _USUAL_SPREAD
    return rate if spread is None or low <= spread <= high else float(f"{rate * spread:.1g}")


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
