"""Kill a condensation at many moments, go on with it, and see that its files are those of one that was let be.

Run as a program by ``test_survival.py``: everything is imported once, and each victim is a fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from graphcondense.methods import DCG, DosCond, DosCondBi, GCond, NodeDosCond
from graphcondense.models import NetworkConfig
from graphcondense.presets import preset
from graphcondense.runs.callbacks import Every
from graphcondense.runs.condense import condense_into
from graphcondense.runs.folder import CONDENSED, HISTORY, RESULT
from tests.made_up import toy_nodes, toy_task

torch.set_num_threads(1)
NETWORK = NetworkConfig(hidden=8, layers=2)
GRAPHS, NODES = toy_task(40), toy_nodes()
SMALL: dict[str, Any] = {"iterations": 24, "network": NETWORK, "real_batch": 5}
GRAPH: dict[str, Any] = SMALL | {"graphs_per_class": 2, "nodes": 8, "restart_at": 13}
KINDS: list[tuple[Any, Any]] = [
    (DosCond(**GRAPH), GRAPHS),
    (DosCondBi(**GRAPH, outer=5, inner=2), GRAPHS),
    (DCG(**GRAPH, outer=3, inner=2), GRAPHS),
    (NodeDosCond(**SMALL, nodes=6, restart_at=13, fanout=3), NODES),
    (GCond(**SMALL, nodes=6, outer=5, inner=2, feature_turns=3, structure_turns=2), NODES),
]


def condense(folder: Path, kind: int, resume: bool) -> None:
    method, task = KINDS[kind]
    chosen = replace(preset("paper", task), network=NETWORK)
    condense_into(folder, method, task, chosen, resume=resume, every=Every(iterations=2))


def forked(work: Callable[[], None], after: float | None = None) -> int:
    """Do ``work`` in a fork, killed after some seconds; what became of it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def die_at(call: int, name: str) -> None:
    """Kill this process at the ``call``-th flush or rename: before it when the number is odd, else after it."""
    original, left = getattr(os, name), [call]

    def fatal(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and call % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        value = original(*arguments, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(os, name, fatal)


def files(folder: Path) -> dict[str, Any]:
    """All that a run measured and made, without the times."""
    history = [json.loads(line) for line in (folder / HISTORY).read_text().splitlines()]
    result = json.loads((folder / RESULT).read_text())
    for record in [result, *history]:
        del record["seconds"]
    del result["file"]
    names = sorted(file.name for file in folder.iterdir())
    settings = (folder / "settings.json").read_bytes()
    return {"c": (folder / CONDENSED).read_bytes(), "h": history, "r": result, "s": settings, "names": names}


def main() -> None:
    root, seed = Path(sys.argv[1]), int(sys.argv[2])
    source = random.Random(seed)
    expected, took = [], []
    for kind in range(len(KINDS)):
        started = time.perf_counter()
        assert forked(lambda kind=kind: condense(root / f"whole{kind}", kind, resume=False)) == 0  # type: ignore[misc]
        took.append(time.perf_counter() - started)
        expected.append(files(root / f"whole{kind}"))
    resumed = 0
    for number in range(20):
        kind, folder = number % len(KINDS), root / str(number)
        if number % 2:  # at any moment

            def victim(kind: int = kind, folder: Path = folder) -> None:
                condense(folder, kind, resume=False)

            forked(victim, after=took[kind] * source.random())
        else:  # while something is being written
            call, name = source.randint(1, 14), source.choice(["fsync", "replace"])

            def victim(kind: int = kind, folder: Path = folder, call: int = call, name: str = name) -> None:
                die_at(call, name)
                condense(folder, kind, resume=False)

            assert os.WTERMSIG(forked(victim)) == signal.SIGKILL, number
        resumed += bool(list(folder.glob("checkpoint-*"))) if folder.is_dir() else False
        assert forked(lambda kind=kind, folder=folder: condense(folder, kind, resume=True)) == 0, number  # type: ignore[misc]
        assert files(folder) == expected[kind], (number, KINDS[kind][0].name)
    print(json.dumps({"killed": 20, "went on from a checkpoint": resumed}))


if __name__ == "__main__":
    main()
