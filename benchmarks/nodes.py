"""Node tasks: time and memory of an iteration on a graph of ogbn-arxiv's size, and DosCond against GCond on Cora.

``python benchmarks/nodes.py`` measures everything (a few minutes), writes ``benchmarks/results/nodes.json`` and
``docs/performance.md``. Each line of the memory table has a process of its own. The large graph is made up: the real
one is not at hand here, and neither time nor memory depends on what its labels mean.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from typing import Any

import torch
from bench import RESULTS as BENCH
from bench import peak_memory
from performance_page import NODES, write_page

from graphcondense import NetworkConfig, NodeDosCond, load, preset
from graphcondense.datasets.node_tasks import assemble
from graphcondense.files import write_json
from graphcondense.methods import GCond
from graphcondense.methods.node_doscond import NodeCondensation
from graphcondense.tasks import NodeTask, Split

THREADS = 2
ARXIV = {"nodes": 169_343, "edges": 1_166_243, "features": 128, "classes": 40, "train": 90_941, "val": 29_799}
LARGE = [("sgc", "layerwise-cosine", size) for size in (90, 454)] + [
    ("gcn", "relative-squared", size) for size in (90, 454)
]
STEPS = 10
EPOCHS = 5


def arxiv_sized() -> NodeTask:
    """A made-up graph: classes of unequal size, features that tell them apart a little, a few nodes with many edges."""
    source = torch.Generator().manual_seed(0)
    total, classes, width = ARXIV["nodes"], ARXIV["classes"], ARXIV["features"]
    y = (torch.rand(total, generator=source).square() * classes).long()
    one = torch.randint(total, (ARXIV["edges"],), generator=source)
    other = (torch.rand(ARXIV["edges"], generator=source) ** 3 * total).long()
    x = torch.randn(total, width, generator=source) + torch.randn(classes, width, generator=source)[y] / 2
    order = torch.randperm(total, generator=source)
    train, rest = order[: ARXIV["train"]], order[ARXIV["train"] :]
    split = Split(train, rest[: ARXIV["val"]], rest[ARXIV["val"] :])
    return assemble("made-up", x, torch.stack([one, other]), y, split)


def large(kind: str, distance: str, nodes: int) -> dict[str, float]:
    """Seconds of an iteration, seconds before the first one, and the most memory that the process ever had."""
    torch.set_num_threads(THREADS)
    task = arxiv_sized()
    method = NodeDosCond(nodes=nodes, network=NetworkConfig(kind, hidden=256, layers=2), distance=distance)
    started = time.perf_counter()
    run = NodeCondensation(method, task)
    prepared = time.perf_counter() - started
    seconds = []
    for step in range(STEPS):
        started = time.perf_counter()
        run.step(step)
        seconds.append(time.perf_counter() - started)
    run.result()
    return {"prepare_s": prepared, "iteration_s": statistics.median(seconds[1:]), "peak_mb": peak_memory()}


def against_gcond() -> dict[str, Any]:
    """The same number of epochs of each on Cora, in turns. An epoch is a network: GCond matches several times at it."""
    torch.set_num_threads(THREADS)
    task = load("Cora")
    runs: dict[str, tuple[NodeCondensation, int]] = {}
    for name in ("doscond", "gcond"):
        method = preset("paper", task).method(name, nodes=70)
        assert isinstance(method, NodeDosCond)
        runs[name] = NodeCondensation(method, task), method.outer if isinstance(method, GCond) else 1
        runs[name][0].step(0)  # fills caches, not counted
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for epoch in range(EPOCHS):
        for name, (run, outer) in runs.items():
            started = time.perf_counter()
            for step in range(epoch * outer, (epoch + 1) * outer):
                run.step(step)
            seconds[name].append(time.perf_counter() - started)
    found = {f"{name}_s": statistics.median(values) for name, values in seconds.items()}
    made = runs["doscond"][0].result()
    return found | {"ratio": found["gcond_s"] / found["doscond_s"], "bytes": made.num_bytes, "dense": made.dense_bytes}


def main() -> None:
    """Measure, store, write the page."""
    stored: dict[str, Any] = {"large": {}, "size": ARXIV, "threads": THREADS}
    context = multiprocessing.get_context("spawn")
    for kind, distance, size in LARGE:
        with context.Pool(1) as pool:
            stored["large"][f"{kind} {size}"] = pool.apply(large, (kind, distance, size))
        print(kind, size, stored["large"][f"{kind} {size}"], file=sys.stderr)
    stored["cora"] = against_gcond()
    write_json(NODES, stored)
    write_page(json.loads(BENCH.read_text(encoding="utf-8")))
    print(json.dumps(stored["cora"]))


if __name__ == "__main__":
    main()
