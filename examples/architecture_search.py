"""Architecture search on condensed data: does the small set rank networks as the whole set does?

Every architecture is trained once on the condensed graphs and once on all training graphs; Spearman's rank correlation
of their test scores says whether the cheap ranking can be trusted.

    python examples/architecture_search.py
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from typing import Any

from scipy.stats import spearmanr

import graphcondense as gc
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask


def scores_of(
    graphs: Any, task: GraphTask, networks: list[gc.NetworkConfig], recipe: gc.Recipe, seeds: int
) -> tuple[list[float], float]:
    """Mean test score of each network trained on ``graphs``, and the seconds that all of them took."""
    started = time.perf_counter()
    means = [gc.evaluate(graphs, task, seeds=seeds, protocol=gc.Protocol(network, recipe)).mean for network in networks]
    return means, time.perf_counter() - started


def search(
    task: GraphTask, condensed: CondensedDataset, widths: list[int], depths: list[int], epochs: int, small_epochs: int
) -> dict[str, Any]:
    """Rank kinds, widths and depths on both sets."""
    networks = [
        gc.NetworkConfig(kind=kind, hidden=width, layers=depth)
        for kind, width, depth in itertools.product(("gcn", "gin", "sage", "mlp"), widths, depths)
    ]
    # An epoch of the small set is a single step, so that it gets more of them.
    small, small_seconds = scores_of(condensed, task, networks, gc.Recipe(epochs=small_epochs, rate=0.01), seeds=3)
    whole, whole_seconds = scores_of(task.train, task, networks, gc.Recipe(epochs=epochs, rate=0.01), seeds=1)
    correlation = spearmanr(small, whole)
    rows = [
        {"kind": network.kind, "hidden": network.hidden, "layers": network.layers, "condensed": one, "whole": two}
        for network, one, two in zip(networks, small, whole, strict=True)
    ]
    chosen = max(range(len(rows)), key=lambda place: small[place])
    return {
        "rows": rows,
        "spearman": float(correlation.statistic),
        "p_value": float(correlation.pvalue),
        "condensed_seconds": small_seconds,
        "whole_seconds": whole_seconds,
        "chosen_loses": max(whole) - whole[chosen],
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Condense the digits, rank, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--small-epochs", type=int, default=200)
    parser.add_argument("--widths", type=int, nargs="+", default=[32])
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3])
    options = parser.parse_args(arguments)
    task = gc.load("digits")
    started = time.perf_counter()
    condensed = gc.DosCond(graphs_per_class=10, iterations=options.iterations, real_batch=32, seed=0).condense(task)
    result = {"condense_seconds": time.perf_counter() - started}
    result |= search(task, condensed, options.widths, options.depths, options.epochs, options.small_epochs)
    print(json.dumps(result, indent=2))
    return result


if __name__ == "__main__":
    main()
