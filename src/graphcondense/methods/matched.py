"""From chosen graphs to learned ones: a short condensation by gradient matching that starts from the choice."""

from __future__ import annotations

from dataclasses import replace

import torch

from graphcondense.graphs import GraphStore
from graphcondense.methods.doscond import Condensation, DosCond
from graphcondense.methods.numbers import DivergedError, all_finite
from graphcondense.methods.rates import rate_for
from graphcondense.models import NetworkConfig
from graphcondense.tasks import GraphTask, Split

_WAY = 10.0  # iterations times rate, how far a feature can move: as in DosCond's 1,000 iterations at 0.01
_FEW, _REAL_BATCH = 500, 64  # real graphs: of more, so many of each class are drawn each time, a quarter of DosCond's
_MOST_ENTRIES = 2**21  # of all adjacency matrices: larger graphs are left as they are


def match_from(
    start: GraphStore, real: GraphStore, task: GraphTask, network: NetworkConfig, iterations: int, seed: int
) -> GraphStore | None:
    """Graphs whose features and 0/1 structure were learned by one-step gradient matching.

    Args:
        start: the graphs to start from, with their classes, class after class; they keep their sizes.
        real: graphs whose class gradients are matched.
        task: the dataset that both are of.
        network: whose gradients are matched.
        iterations: each at a fresh network.
        seed: decides what is drawn.

    Returns:
        The graphs, or nothing where they are so large that it would take long, or where learning diverged.
    """
    sizes = torch.bincount(start.y, minlength=task.num_classes)
    most = int(start.num_nodes.max())
    if task.num_classes * int(sizes.max()) * most**2 > _MOST_ENTRIES:
        return None
    settings = DosCond(
        network=network,
        nodes=most,
        iterations=iterations,
        real_batch="all" if len(real) < _FEW else _REAL_BATCH,
        feature_rate=rate_for(task, _WAY / iterations),
        restart_at=max(1, 2 * iterations // 5),
        seed=seed,
    )
    every = torch.arange(len(real))  # only training graphs are looked at
    own = replace(task, graphs=real, split=Split(every, every, every))
    try:
        run = Condensation(settings, own, start)
        for iteration in range(iterations):
            run.step(iteration)
    except DivergedError:
        return None
    found = run.result()
    return found if all_finite([found.x]) else None
