"""The section of docs/performance.md on several ranks, from what scaling.py stored: no figure is typed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORED = Path(__file__).resolve().parent / "results" / "scaling.json"
TITLE = "Several ranks"
BASE = "ogbg-molhiv all"
MOLECULES, MACHINES, ITERATIONS = 100_000_000, 64, 1000
BYTES_PER_SECOND = 1e9  # assumed: what a network of 10 Gbit/s carries

NOTE = """One and two ranks on this machine, one thread each, in turns in one run (`python benchmarks/scaling.py run`);
preset `paper`, {graphs_per_class} graphs a class. "All" are full gradients. The bytes are those that a rank hands over
for sums in an iteration: classes x weights of the network x 4, whatever the number of graphs."""

ESTIMATE = """**What {molecules:,} molecules on {machines} machines would take.** An iteration is the real side, which
is shared by the ranks, the synthetic side, which each does for itself, and the sum:

    seconds = real * graphs / ranks + synthetic + 2 * bytes * (ranks - 1) / ranks / bandwidth

From the first line: real = {real_ms:.4g} ms / {graphs:,} graphs = {per_graph:.3g} us a graph,
synthetic = {synthetic_ms:.3g} ms, bytes = {bytes:,}. The bandwidth is an assumption: {bandwidth:.0f} GB/s.
With full gradients and one rank of one thread on each machine an iteration takes

    {per_graph:.3g} us * {molecules:,} / {machines} + {synthetic_ms:.3g} ms + {sum_ms:.3g} ms = {iteration:.3g} s

and {iterations:,} iterations take {hours:.3g} hours; with {machines} x 16 such ranks {hours_16:.3g} hours, if 16 ranks
on a machine do not slow each other down, which was not measured. What this leaves out: graphs that share rows become
more the more graphs there are (so the real side grows more slowly than this line), the slowest machine (all wait for
it), the time to read the shards, and waiting in the sum (latency), which two ranks on one machine do not show. With
`--real-batch 256` the number of graphs does not matter: an iteration costs what it costs on any set."""


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def table(stored: dict[str, Any]) -> str:
    """A line a case."""
    rows = [
        [
            name,
            f"{one['ms_1']:.4g}",
            f"{one['ms_2']:.4g}",
            f"{one['ratio']:.2f}x",
            f"{one['ratio'] / 2:.0%}",
            f"{one['real_ms_1'] / one['ms_1']:.0%}",
            f"{one['bytes']:,}",
        ]
        for name, one in stored["cases"].items()
    ]
    header = ["dataset, real graphs a class", "1 rank ms", "2 ranks ms", "ratio", "efficiency"]
    return grid([*header, "real side of 1 rank", "bytes an iteration"], rows)


def estimate(one: dict[str, Any]) -> dict[str, float]:
    """The figures of the worked estimate."""
    synthetic = (one["ms_1"] - one["real_ms_1"]) / 1000
    per_graph = one["real_ms_1"] / 1000 / one["graphs"]
    summed = 2 * one["bytes"] * (MACHINES - 1) / MACHINES / BYTES_PER_SECOND
    ranks = 16 * MACHINES
    summed_16 = 2 * one["bytes"] * (ranks - 1) / ranks / BYTES_PER_SECOND
    iteration = per_graph * MOLECULES / MACHINES + synthetic + summed
    return {
        "real_ms": one["real_ms_1"],
        "graphs": one["graphs"],
        "per_graph": 1e6 * per_graph,
        "synthetic_ms": 1000 * synthetic,
        "bytes": one["bytes"],
        "sum_ms": 1000 * summed,
        "iteration": iteration,
        "hours": ITERATIONS * iteration / 3600,
        "hours_16": ITERATIONS * (per_graph * MOLECULES / ranks + synthetic + summed_16) / 3600,
    }


def section(path: Path = STORED) -> str:
    """The section; empty where nothing was measured."""
    if not path.is_file():
        return ""
    stored = json.loads(path.read_text(encoding="utf-8"))
    parts = [f"## {TITLE}", NOTE.format(graphs_per_class=stored["graphs_per_class"]), table(stored)]
    if BASE in stored["cases"]:
        named = {"molecules": MOLECULES, "machines": MACHINES, "iterations": ITERATIONS}
        parts.append(ESTIMATE.format(**named, bandwidth=BYTES_PER_SECOND / 1e9, **estimate(stored["cases"][BASE])))
    return "\n\n".join(parts)
