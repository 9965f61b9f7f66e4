"""Speed: the plainly written algorithm (textbook.py) and ours, measured in one run, alternating.

``python benchmarks/bench.py run`` measures everything (about an hour on two cores), writes
``benchmarks/results/bench.json`` as it goes, prints the ratios and writes ``docs/performance.md``. ``--resume`` keeps
the cells that are stored; ``--only NCI1,DD`` measures these datasets; ``--parts iteration,floor`` these parts.
``python benchmarks/bench.py render`` only writes the page. Textbook and ours each have a process of their own, as
a user of either would: one works while the other one waits.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from performance_page import write_page
from textbook import Textbook, train_seed
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphcondense import load, preset
from graphcondense.errors import MissingDataError
from graphcondense.evaluation import Protocol, evaluate
from graphcondense.files import write_json
from graphcondense.machine import keep_freed_memory
from graphcondense.methods import DosCond, RandomSelection
from graphcondense.methods.doscond import Condensation
from graphcondense.tasks import GraphTask

THREADS = 2
RESULTS = Path(__file__).resolve().parent / "results" / "bench.json"
SIZES = {
    "MUTAG": (1, 10, 20),
    "NCI1": (1, 10, 50),
    "ogbg-molbace": (1, 10, 50),
    "ogbg-molbbbp": (1, 10, 50),
    "ogbg-molhiv": (1, 10, 50),
    "DD": (1, 10, 50),
    "CIFAR10": (1, 10, 50),
}
PARTS = ("iteration", "floor", "evaluation", "memory", "accuracy", "growth")
BLOCK_SECONDS, ROUNDS = 2.0, 3
SNAPSHOTS = (10, 25, 50, 100, 200, 400, 700, 1000)
ACCURACY = {"MUTAG": 10, "NCI1": 10}
CONDENSE_SEEDS = 1


# ---- in the processes that work ----


class Side:
    """What one process keeps between two commands."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.tasks: dict[str, GraphTask] = {}
        self.ready: tuple[Any, Callable[[int], Any]] | None = None
        torch.set_num_threads(THREADS)
        if who == "ours":
            keep_freed_memory()  # as `condense` and `train` do; textbook's process stays as Python starts it

    def task(self, name: str) -> GraphTask:
        """A dataset, loaded once."""
        if name not in self.tasks:
            self.tasks = {name: load(name)}
        return self.tasks[name]

    def stepper(self, name: str, changes: dict[str, Any]) -> Callable[[int], Any]:
        """One iteration of a condensation that is set up once."""
        key = (name, tuple(sorted(changes.items())))
        if self.ready is None or self.ready[0] != key:
            self.ready = None
            task, method = method_for(self.task(name), changes)
            if self.who == "ours":
                self.ready = key, Condensation(method, task).step
            else:
                self.ready = key, Textbook(task, method, method.start(task)).iteration
        return self.ready[1]

    def iteration(self, name: str, changes: dict[str, Any], seconds: float) -> list[float]:
        """Seconds of each of several iterations, after one that is not counted."""
        step = self.stepper(name, changes)
        step(0)
        return repeat_for(lambda: step(1), seconds)

    def floor(self, name: str, changes: dict[str, Any]) -> dict[str, float]:
        """The bare dense matrix products of one iteration, each shape by itself."""
        step = self.stepper(name, changes)
        step(0)
        with _Products() as products:
            step(1)
        total = 0.0
        for shapes, count in Counter(products.seen).items():
            left, right = (_like(*shape) for shape in shapes)
            product = torch.mm if left.dim() == 2 else torch.bmm
            out = product(left, right)
            product(left, right, out=out)
            times = repeat_for(lambda p=product, a=left, b=right, o=out: p(a, b, out=o), 0.05, least=5)
            total += count * statistics.median(times)
        return {"floor_ms": 1000 * total, "products": len(products.seen)}

    def evaluation(self, name: str, graphs_per_class: int, epochs: int, seeds: int) -> float:
        """Seconds of training ``seeds`` networks for some epochs, validation and test included."""
        task = self.task(name)
        protocol = preset("paper", task).protocol
        shorter = replace(protocol, recipe=replace(protocol.recipe, epochs=epochs))
        graphs = RandomSelection(graphs_per_class=graphs_per_class).condense(task)
        start = time.perf_counter()
        if self.who == "ours":
            evaluate(graphs, task, seeds=seeds, protocol=shorter)
        else:
            for seed in range(seeds):
                train_seed(task, list(graphs.graphs), protocol, seed, epochs)
        return time.perf_counter() - start

    def memory(self, name: str, changes: dict[str, Any], iterations: int) -> dict[str, float]:
        """Peak memory of this whole process after some iterations, and before the first one."""
        step = self.stepper(name, changes)
        before = peak_memory()
        for number in range(iterations):
            step(number)
        return {"start_mb": before, "peak_mb": peak_memory()}

    def accuracy(self, name: str, changes: dict[str, Any], snapshots: tuple[int, ...]) -> list[dict[str, float]]:
        """A whole condensation: seconds so far (without the judge's) and the test score at some iterations."""
        task, method = method_for(self.task(name), changes)
        protocol = preset("paper", task).protocol
        start = time.perf_counter()
        if self.who == "ours":
            run = Condensation(method, task)
            step, result = run.step, run.synthetic.result
        else:
            book = Textbook(task, method, method.start(task))
            step, result = book.iteration, book.result
        found, spent = [], time.perf_counter() - start
        for number in range(method.iterations):
            start = time.perf_counter()
            step(number)
            spent += time.perf_counter() - start
            if number + 1 in snapshots:
                scores = evaluate(result(), task, seeds=10, protocol=protocol)
                found.append({"iteration": number + 1, "seconds": spent, "score": scores.mean})
        return found


def method_for(task: GraphTask, changes: dict[str, Any]) -> tuple[GraphTask, DosCond]:
    """The paper's settings with some changes; ``classes`` deals the training graphs out to that many classes."""
    changes = dict(changes)
    classes = changes.pop("classes", None)
    if classes is not None:
        y = torch.arange(len(task.graphs)) % classes
        names = tuple(str(label) for label in range(classes))
        task = replace(task, graphs=replace(task.graphs, y=y), num_classes=classes, class_names=names)
    method = preset("paper", task).method("doscond", **changes)
    assert isinstance(method, DosCond)
    return task, method


def peak_memory() -> float:
    """Most megabytes that this process had so far. (What getrusage says is inherited from the process that asks.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status does not say VmHWM: peak memory is measured on Linux only")


def repeat_for(work: Callable[[], Any], seconds: float, least: int = 2) -> list[float]:
    """Seconds of each repetition, until ``seconds`` are over."""
    times: list[float] = []
    while sum(times) < seconds or len(times) < least:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


class _Products(TorchDispatchMode):
    """Writes down the shapes and strides of all dense matrix products."""

    OPERANDS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::baddbmm_": 1}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first = self.OPERANDS.get(func._schema.name)
        if first is not None:
            left, right = args[first : first + 2]
            self.seen.append(((tuple(left.shape), left.stride()), (tuple(right.shape), right.stride())))
        return func(*args, **(kwargs or {}))


def _like(shape: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    room = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return torch.randn(room).as_strided(shape, stride)


def serve(who: str, connection: Connection) -> None:
    """Do what is asked until nothing is."""
    os.environ["GRAPHCONDENSE_KEEP_MEMORY"] = str(int(who == "ours"))
    side = Side(who)
    while (command := connection.recv()) is not None:
        name, arguments = command
        connection.send(getattr(side, name)(*arguments))


# ---- in the process that asks ----


class Worker:
    """A process of its own for one side."""

    def __init__(self, who: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(who, theirs), daemon=True)
        self.process.start()

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Ask and wait for the answer."""
        self.connection.send((name, arguments))
        return self.connection.recv()

    def stop(self) -> None:
        """Let the process end."""
        self.connection.send(None)
        self.process.join()


@contextmanager
def both() -> Any:
    """A process for each side."""
    sides = {who: Worker(who) for who in ("textbook", "ours")}
    try:
        yield sides
    finally:
        for worker in sides.values():
            worker.stop()


class Bench:
    """All measurements, stored as they are made."""

    def __init__(self, resume: bool) -> None:
        self.stored: dict[str, Any] = json.loads(RESULTS.read_text()) if resume and RESULTS.exists() else {}
        self.stored["machine"] = {"threads": THREADS, "cores": os.cpu_count(), "torch": torch.__version__}

    def cell(self, part: str, key: str, measure: Callable[[], Any]) -> None:
        """Measure one cell unless it is stored."""
        cells = self.stored.setdefault(part, {})
        if key not in cells:
            cells[key] = measure()
            write_json(RESULTS, self.stored)
            print(f"{part:10} {key:24} {json.dumps(cells[key])[:150]}", flush=True)

    def iteration(self, name: str) -> None:
        """Milliseconds an iteration of both sides, in turns."""
        with both() as sides:
            for size in SIZES[name]:
                self.cell("iteration", f"{name} {size}", lambda size=size: in_turns(sides, name, size))

    def floor(self, name: str) -> None:
        """The bare products of our iteration, and the iteration itself, measured one after the other."""
        with both() as sides:
            for size in SIZES[name]:
                self.cell("floor", f"{name} {size}", lambda size=size: above_floor(sides["ours"], name, size))

    def evaluation(self, name: str) -> None:
        """Seconds a seed of the judge: one epoch, then some more, so that preparing is counted once."""
        with both() as sides:
            self.cell("evaluation", name, lambda: judged(sides, name))

    def memory(self, name: str) -> None:
        """Peak memory of a fresh process at each size."""

        def peaks(size: int) -> dict[str, Any]:
            found = {}
            for who in ("textbook", "ours"):
                worker = Worker(who)
                found[who] = worker("memory", name, {"graphs_per_class": size}, 3)
                worker.stop()
            return found

        for size in SIZES[name]:
            self.cell("memory", f"{name} {size}", lambda size=size: peaks(size))

    def accuracy(self, name: str) -> None:
        """Textbook's score after its whole run, and our scores on the way."""
        if name not in ACCURACY:
            return
        with both() as sides:
            for seed in range(CONDENSE_SEEDS):
                changes = {"graphs_per_class": ACCURACY[name], "seed": seed}
                for who in ("textbook", "ours"):
                    snapshots = SNAPSHOTS[-1:] if who == "textbook" else SNAPSHOTS
                    self.cell(
                        "accuracy",
                        f"{name} {who} {seed}",
                        lambda who=who, c=changes, s=snapshots: sides[who]("accuracy", name, c, s),
                    )

    def growth(self, name: str) -> None:
        """How our iteration grows with one thing at a time."""
        if name != "NCI1":
            return
        sweeps: dict[str, list[Any]] = {
            "real_batch": [32, 64, 128, 256, 512, 1024, "all"],
            "graphs_per_class": [1, 2, 5, 10, 20, 50, 100],
            "nodes": [30, 60, 120, 240],
            "classes": [2, 5, 10, 20, 50, 100],
        }
        with both() as sides:
            for what, values in sweeps.items():
                for value in values:
                    changes: dict[str, Any] = {"graphs_per_class": 10, what: value}
                    if what == "classes":  # the same graphs in all, on both sides
                        changes |= {"graphs_per_class": 100 // value, "real_batch": 500 // value}
                    self.cell("growth", f"{what} {value}", lambda c=changes: timed(sides["ours"], name, c))


def timed(worker: Worker, name: str, changes: dict[str, Any]) -> dict[str, float]:
    """Median milliseconds of an iteration."""
    return {"ms": 1000 * statistics.median(worker("iteration", name, changes, BLOCK_SECONDS))}


def in_turns(sides: dict[str, Worker], name: str, size: int) -> dict[str, float]:
    """Both sides in turns; medians over everything."""
    times: dict[str, list[float]] = {who: [] for who in sides}
    for _ in range(ROUNDS):
        for who, worker in sides.items():
            times[who] += worker("iteration", name, {"graphs_per_class": size}, BLOCK_SECONDS)
    textbook, ours = (1000 * statistics.median(times[who]) for who in ("textbook", "ours"))
    return {"textbook_ms": textbook, "ours_ms": ours, "ratio": textbook / ours}


def above_floor(worker: Worker, name: str, size: int) -> dict[str, float]:
    """Iteration, products, iteration, products: medians of each."""
    found = []
    for _ in range(ROUNDS):
        ours = timed(worker, name, {"graphs_per_class": size})["ms"]
        found.append({"ours_ms": ours, **worker("floor", name, {"graphs_per_class": size})})
    middle = {key: statistics.median(one[key] for one in found) for key in found[0]}
    return middle | {"ratio": middle["ours_ms"] / middle["floor_ms"]}


def judged(sides: dict[str, Worker], name: str) -> dict[str, float]:
    """Seconds a seed of the whole protocol, from the time of one epoch and of some more."""
    protocol: Protocol = preset("paper", load(name)).protocol
    seeds = {"textbook": 1, "ours": 10}
    first = {who: worker("evaluation", name, 10, 1, seeds[who]) for who, worker in sides.items()}
    first = {who: worker("evaluation", name, 10, 1, seeds[who]) for who, worker in sides.items()}
    more = {who: max(2, min(50, round(4 / seconds))) for who, seconds in first.items()}
    found: dict[str, float] = {"epochs": protocol.recipe.epochs}
    longer: dict[str, list[float]] = {who: [] for who in sides}
    for _ in range(ROUNDS if max(first.values()) < 20 else 1):
        for who, worker in sides.items():
            longer[who].append(worker("evaluation", name, 10, 1 + more[who], seeds[who]))
    for who in sides:
        epoch = (statistics.median(longer[who]) - first[who]) / more[who]
        found[f"{who}_seconds"] = (first[who] + (protocol.recipe.epochs - 1) * epoch) / seeds[who]
    return found | {"ratio": found["textbook_seconds"] / found["ours_seconds"]}


def available(name: str) -> bool:
    """Whether a dataset can be loaded; says so where not."""
    try:
        load(name)
    except MissingDataError as error:
        print(f"{name} is left out: {error}", flush=True)
        return False
    return True


def option(name: str, known: tuple[str, ...]) -> list[str]:
    """The values of ``--name a,b``; all that are known without it."""
    if f"--{name}" not in sys.argv:
        return list(known)
    chosen = sys.argv[sys.argv.index(f"--{name}") + 1].split(",")
    if wrong := [value for value in chosen if value not in known]:
        raise SystemExit(f"--{name} {','.join(wrong)}: choose from {','.join(known)}")
    return chosen


def main() -> None:
    """The command line."""
    if sys.argv[1:2] == ["run"]:
        parts, names = option("parts", PARTS), option("only", tuple(SIZES))
        bench = Bench("--resume" in sys.argv)
        here = [name for name in names if available(name)]
        for part in parts:
            for name in here:
                getattr(bench, part)(name)
    elif sys.argv[1:2] != ["render"]:
        raise SystemExit(__doc__)
    print(write_page(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
