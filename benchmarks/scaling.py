"""How condensing grows with ranks: 1 and 2 ranks with one thread each, in turns, and what they tell each other.

``python benchmarks/scaling.py run`` measures (a quarter of an hour on two idle cores) and writes
``benchmarks/results/scaling.json``; ``make results`` then writes its section of ``docs/performance.md``.
``--only ogbg-molhiv`` measures that dataset; what is stored of others stays.
One rank computes while the two others wait, and the other way round; the ratio is of medians of the same run.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socket
from typing import Any

import torch

from graphcondense import load, preset
from graphcondense.datasets import own_part
from graphcondense.distributed import world
from graphcondense.errors import MissingDataError
from graphcondense.files import write_json
from graphcondense.machine import keep_freed_memory
from graphcondense.methods.doscond import Condensation
from graphcondense.methods.real_side import RealSide

RESULTS = Path(__file__).resolve().parent / "results" / "scaling.json"
CASES: dict[str, dict[str, Any]] = {
    "ogbg-molhiv all": {"dataset": "ogbg-molhiv", "real_batch": "all"},
    "ogbg-molhiv 256": {"dataset": "ogbg-molhiv", "real_batch": 256},
    "CIFAR10 256": {"dataset": "CIFAR10", "real_batch": 256},
}
GRAPHS_PER_CLASS, BLOCK_SECONDS, ROUNDS = 10, 4.0, 5


class Clock:
    """Counts the seconds of the real side: its gradients and, with several ranks, their sum."""

    def __init__(self, real: RealSide) -> None:
        self.seconds, self._gradients = 0.0, real.gradients
        real.gradients = self  # type: ignore[assignment,method-assign]

    def __call__(self, *arguments: Any) -> Any:
        """The gradients."""
        started = time.perf_counter()
        found = self._gradients(*arguments)
        self.seconds += time.perf_counter() - started
        return found


def rank_process(pipe: Connection, rank: int, size: int, port: int, case: dict[str, Any]) -> None:
    """One rank: steps when told to, and says how long they took."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    keep_freed_memory()
    with world() as ranks:
        task = load(case["dataset"])
        graphs = len(task.train)
        task = task if size == 1 else own_part(task, ranks)
        method = preset("paper", task).method(
            "doscond", graphs_per_class=GRAPHS_PER_CLASS, real_batch=case["real_batch"]
        )
        run = Condensation(method, task)
        most = graphs if case["real_batch"] == "all" else int(case["real_batch"])
        clock = Clock(run.objective.real)
        run.step(0)
        sent = ranks.bytes_sent
        run.step(1)
        sent = ranks.bytes_sent - sent
        parameters = sum(theta.numel() for theta in run.objective.network.draw(torch.Generator()).values())
        facts = {"bytes": sent, "classes": task.num_classes, "parameters": parameters, "graphs": graphs}
        pipe.send(facts | {"drawn": int(task.train_class_counts.clamp(max=most).sum())})
        while steps := pipe.recv():
            started = time.perf_counter()
            clock.seconds = 0.0
            for _ in range(steps):
                run.step(1)
            pipe.send((time.perf_counter() - started, clock.seconds))


class Team:
    """Some ranks that work together when told to."""

    def __init__(self, size: int, case: dict[str, Any]) -> None:
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        context = get_context("spawn")
        pairs = [context.Pipe() for _ in range(size)]
        self.pipes = [pair[0] for pair in pairs]
        self.processes = [
            context.Process(target=rank_process, args=(pair[1], rank, size, port, case), daemon=True)
            for rank, pair in enumerate(pairs)
        ]
        for process in self.processes:
            process.start()
        facts = [pipe.recv() for pipe in self.pipes]  # all are ready then
        self.facts = facts[0]

    def steps(self, count: int) -> tuple[float, float]:
        """Seconds an iteration, and of these the real side's, of the slowest rank."""
        for pipe in self.pipes:
            pipe.send(count)
        found = [pipe.recv() for pipe in self.pipes]
        return max(total for total, _ in found) / count, max(real for _, real in found) / count

    def close(self) -> None:
        """Let them go."""
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(0)
            process.join()


def measure(case: dict[str, Any], block: float = BLOCK_SECONDS, rounds: int = ROUNDS) -> dict[str, Any]:
    """Milliseconds an iteration with 1 and with 2 ranks, in turns; the ratio; bytes an iteration."""
    teams = {size: Team(size, case) for size in (1, 2)}
    counts = {size: max(1, round(block / team.steps(1)[0])) for size, team in teams.items()}
    times: dict[int, list[tuple[float, float]]] = {size: [] for size in teams}
    for _ in range(rounds):
        for size, team in teams.items():
            times[size].append(team.steps(counts[size]))
    for team in teams.values():
        team.close()
    total = {size: 1000 * statistics.median(one for one, _ in found) for size, found in times.items()}
    real = {size: 1000 * statistics.median(one for _, one in found) for size, found in times.items()}
    return {
        "ms_1": total[1],
        "ms_2": total[2],
        "real_ms_1": real[1],
        "real_ms_2": real[2],
        "ratio": total[1] / total[2],
        "bytes": teams[2].facts["bytes"],
        **{key: teams[1].facts[key] for key in ("classes", "parameters", "graphs", "drawn")},
    }


def main() -> None:
    """The command line."""
    if sys.argv[1:2] != ["run"]:
        raise SystemExit(__doc__)
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))["cases"] if only and RESULTS.exists() else {}
    found = dict(stored)
    for name, case in CASES.items():
        if only is not None and case["dataset"] not in only:
            continue
        try:
            found[name] = measure(case)
        except MissingDataError as error:
            print(f"{name} is left out: {error}")
            continue
        print(name, found[name], flush=True)
    machine = {"cores": os.cpu_count(), "torch": torch.__version__}
    write_json(
        RESULTS,
        {
            "machine": machine,
            "graphs_per_class": GRAPHS_PER_CLASS,
            "cases": {name: found[name] for name in CASES if name in found},
        },
    )
    print("now: python benchmarks/bench.py render")


if __name__ == "__main__":
    main()
