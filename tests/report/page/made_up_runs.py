"""Small run folders and a comparison to make pages of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from graphcondense.evaluation import Protocol
from graphcondense.files import write_json
from graphcondense.methods import DosCond, NodeDosCond
from graphcondense.models import NetworkConfig
from graphcondense.report.comparison import write_comparison
from graphcondense.runs.condense import write_run
from graphcondense.runs.grid import table_rows
from graphcondense.synthetic import snap
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe
from tests.made_up import toy_nodes, toy_task

PROTOCOL = Protocol(NetworkConfig(hidden=8, layers=2), Recipe(epochs=5))


def graph_run(folder: Path, per_class: int = 10) -> GraphTask:
    """Condense the toy task into ``folder``, with a snapped file beside it."""
    task = toy_task()
    settings: dict[str, Any] = {"network": PROTOCOL.network, "iterations": 6, "real_batch": 8}
    made = DosCond(graphs_per_class=per_class, **settings).condense(task)
    info = made.info | {"evaluation": PROTOCOL.to_dict(), "preset": "default", "classes": ["plain", "<b>&co"]}
    made = replace(made, info=info)
    write_run(folder, made, 1.5, snapped=snap(made, task))
    return task


def node_run(folder: Path) -> Any:
    """The same for a node task."""
    task = toy_nodes()
    made = NodeDosCond(nodes=9, iterations=4, network=PROTOCOL.network).condense(task)
    protocol = replace(PROTOCOL, dropout=0.5).to_dict()
    made = replace(made, info=made.info | {"evaluation": protocol, "preset": "default"})
    write_run(folder, made, 0.5)
    return task


def comparison(folder: Path) -> list[dict[str, Any]]:
    """A finished comparison of three methods at two sizes."""
    cells = []
    for method, size, mean in (("whole", None, 0.9), ("random", 1, 0.6), ("random", 10, 0.7), ("doscond", 10, 0.8)):
        for seed in range(2):
            cell = {
                "dataset": "toy",
                "method": method,
                "graphs_per_class": size,
                "seed": seed,
                "graphs": 2 * (size or 48),
                "bytes": 1000,
                "condense_seconds": 1.0,
                "evaluation": {"metric": "accuracy", "per_seed": [mean, mean + 0.01 * (seed + 1)], "seconds": 2.0},
                "info": {"original_bytes": 4000, "source": "/data/toy"},
            }
            cells.append(cell)
            write_json(folder / f"{method}-{size}-{seed}.json", cell)
    rows = table_rows(cells)
    write_comparison(folder, {"dataset": "toy", "preset": "default", "rows": rows, "versions": {"torch": "2"}})
    return rows
