"""Grids of runs: methods x sizes x seeds, in parallel, and continued where they stopped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from joblib import Parallel, delayed

from graphcondense.errors import (
    FileFormatError,
    InputError,
    WouldOverwriteError,
    check_count,
    unknown_name,
)
from graphcondense.evaluation import evaluate, evaluate_nodes
from graphcondense.files import parse_json, write_json
from graphcondense.machine import be_deterministic
from graphcondense.methods import Condenser, Coreset
from graphcondense.models import Network, NetworkConfig
from graphcondense.presets import Preset
from graphcondense.runs.backends import backend
from graphcondense.runs.checkpoint import check_same_settings
from graphcondense.runs.condense import condense_with
from graphcondense.runs.folder import check_is_no_file, describe, locked, make_folder
from graphcondense.runs.progress import Advance, ProgressCallback
from graphcondense.runs.statistics import annotate, size_of
from graphcondense.synthetic import json_safe
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import FolderStore, Recipe, Store

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """One condensation and its trainings.

    Args:
        method: the method with its settings and seed.
        eval_seeds: number of trainings on its result.
        model: network to judge with instead of the preset's; ``None`` for the preset's.
    """

    method: Condenser
    eval_seeds: int
    model: str | None = None

    @property
    def size(self) -> int | None:
        """Graphs per class, or nodes; ``None`` for the whole set."""
        return None if self.method.name == "whole" else self.method.size

    @property
    def stem(self) -> str:
        """Name of the cell's files."""
        parts = [self.method.name, "all" if self.size is None else str(self.size), str(self.method.seed)]
        return "-".join(parts + ([self.model] if self.model else []))


def plan(
    preset: Preset,
    methods: Sequence[str],
    sizes: Sequence[int],
    condense_seeds: int = 5,
    eval_seeds: int = 10,
    model: str | None = None,
    settings: dict[str, Any] | None = None,
) -> list[Cell]:
    """All cells of a comparison. The whole set, which has no size and no seed, is one cell.

    Args:
        preset: settings of all methods.
        methods: names of methods.
        sizes: graphs per class.
        condense_seeds: condensations for each method and size, seeds 0, 1, ...
        eval_seeds: trainings for each condensation.
        model: network to judge with instead of the preset's.
        settings: settings on top of the preset's, for the methods that have them.
    """
    check_count("condense_seeds", condense_seeds)
    check_count("eval_seeds", eval_seeds)
    size_name = "nodes" if preset.nodes else "graphs_per_class"
    for size in sizes:
        check_count(size_name, size)
    if not methods or not sizes:
        raise InputError(f"a comparison needs at least one method and one number of {size_name.replace('_', ' ')}")
    given = settings or {}
    for name in methods:
        preset.check_method(name)
    _check_settings(given, preset, methods, {size_name, "seed"})
    cells = []
    for name in methods:
        if name == "whole":
            cells.append(Cell(preset.method(name), eval_seeds, model))
            continue
        own = {key: value for key, value in given.items() if key in _setting_names(preset, name)}
        cells += [
            Cell(preset.method(name, seed=seed, **{size_name: size}, **own), eval_seeds, model)
            for size in sizes
            for seed in range(condense_seeds)
        ]
    return cells


def _setting_names(preset: Preset, method: str) -> set[str]:
    return {field.name for field in fields(preset.methods[method]) if field.init}


def _check_settings(settings: dict[str, Any], preset: Preset, methods: Sequence[str], varied: set[str]) -> None:
    """Each setting must be one of some method, and not one that the grid itself varies."""
    if settings and all(_setting_names(preset, name) <= varied for name in methods):
        raise InputError(f"{', '.join(methods)}: no setting to change, but {sorted(settings)[0]!r} was given")
    known = sorted(set().union(*(_setting_names(preset, name) for name in methods)) - varied)
    for name in settings:
        if name in varied:
            raise InputError(f"setting {name!r} is what a comparison varies: use -n, --nodes and --condense-seeds")
        if name not in known:
            raise unknown_name("setting", name, known)


def run_cell(
    cell: Cell,
    task: GraphTask | NodeTask,
    preset: Preset,
    folder: Path | None,
    store: Store,
    advance: Advance | None = None,
) -> Row:
    """Condense, evaluate, and write both down if there is a folder."""
    callbacks = [] if advance is None else [ProgressCallback(advance)]
    condensed, seconds = condense_with(cell.method, task, preset, callbacks, store)
    if isinstance(task, NodeTask):
        scores = evaluate_nodes(condensed, task, seeds=cell.eval_seeds, model=cell.model, progress=advance)
    else:
        known = store if cell.size is None else None  # only networks of the whole set are of use to others
        scores = evaluate(condensed, task, seeds=cell.eval_seeds, model=cell.model, progress=advance, store=known)
    row = {
        "dataset": task.name,
        "method": cell.method.name,
        cell.method.size_name: cell.size,
        "seed": cell.method.seed,
        "graphs": 1 if isinstance(task, NodeTask) else len(condensed),
        "bytes": condensed.num_bytes,
        "condense_seconds": seconds,
        "evaluation": scores.to_dict(),
        "info": condensed.info,
        "model": cell.model,
        "threads": torch.get_num_threads(),
    }
    if folder is not None:
        if cell.size is not None:
            condensed.save(folder / f"{cell.stem}.safetensors", force=True)
        write_json(folder / f"{cell.stem}.json", row)
    return row


def run_grid(
    cells: Sequence[Cell],
    task: GraphTask | NodeTask,
    preset: Preset,
    *,
    folder: Path | None = None,
    resume: bool = False,
    force: bool = False,
    jobs: int = 1,
    where: str = "local",
    scheduler: str | None = None,
    store: Store | None = None,
    advance: Advance | None = None,
    advance_cell: Advance | None = None,
    show: Callable[[list[Row]], None] | None = None,
) -> list[Row]:
    """The rows of all cells; those that ``folder`` has already are read instead of run.

    Args:
        cells: what to run.
        task: on what.
        preset: with what protocol.
        folder: where each cell is written as soon as it is done.
        resume: take finished cells from ``folder``.
        force: overwrite what ``folder`` has.
        jobs: processes; each gets its share of the cores as threads.
        where: ``"local"``, ``"dask"`` or ``"ray"``: whose processes. Those of a cluster must see ``folder`` and the
            store's folder.
        scheduler: address of the cluster; without it, one with ``jobs`` workers is started on this machine.
        store: has the networks that were trained on the whole set; those that the cells need are trained first.
        advance: called with cells done and cells in all.
        advance_cell: with one job, called with the steps of the running cell.
        show: called with the rows that there are whenever one more is there.
    """
    check_count("jobs", jobs)
    for cell in cells:
        cell.method.check(task)
    if folder is not None:
        check_is_no_file(folder)
        folder = folder.absolute()  # workers may be elsewhere
    with nullcontext() if folder is None else _own(folder):
        done = _finished(cells, task, preset, folder, resume=resume, force=force)
        if folder is not None:
            _describe(folder, cells, task, preset)
        rest = [cell for cell in cells if cell.stem not in done]

        def count() -> None:
            if advance is not None:
                advance(len(done), len(cells))
            if show is not None:
                show([done[cell.stem] for cell in cells if cell.stem in done])

        count()
        here = jobs == 1 and where == "local"
        with backend(where, jobs, scheduler), _shared(store, here) as networks:
            rows = (
                _run_here(rest, task, preset, folder, networks, advance_cell)
                if here
                else _run_in_processes(rest, task, preset, folder, networks, jobs, where != "local", scheduler is None)
            )
            for cell, row in rows:
                done[cell.stem] = row
                count()
    return [done[cell.stem] for cell in cells]


@contextmanager
def _own(folder: Path) -> Iterator[None]:
    """Have the folder for this process alone."""
    make_folder(folder)
    with locked(folder):
        yield


def _describe(folder: Path, cells: Sequence[Cell], task: GraphTask | NodeTask, preset: Preset) -> None:
    """Write what was asked for last, and with what; each cell has its own settings, too."""
    asked = [{"method": c.method.name, "settings": asdict(c.method), "trainings": c.eval_seeds} for c in cells]
    facts = {
        "dataset": task.name,
        "source": task.source,
        "preset": preset.name,
        "model": cells[0].model,
        "cells": asked,
    }
    describe(folder, facts)


@contextmanager
def _shared(store: Store | None, here: bool) -> Iterator[Store]:
    """A store that all processes see: what one keeps in memory, another does not have."""
    if here or isinstance(store, FolderStore):
        yield store or Store()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield FolderStore(Path(folder))


def _run_here(
    cells: Sequence[Cell],
    task: GraphTask | NodeTask,
    preset: Preset,
    folder: Path | None,
    store: Store,
    advance: Advance | None,
) -> Iterator[tuple[Cell, Row]]:
    for needed in _whole_networks(cells, preset, parts=1):
        assert isinstance(task, GraphTask)  # others need none
        needed.train(task, store, advance)
    for cell in cells:
        yield cell, run_cell(cell, task, preset, folder, store, advance)


def _run_in_processes(
    cells: Sequence[Cell],
    task: GraphTask | NodeTask,
    preset: Preset,
    folder: Path | None,
    store: Store,
    jobs: int,
    cluster: bool,
    share_cores: bool,
) -> Iterator[tuple[Cell, Row]]:
    """In ``jobs`` processes, or in all that a cluster has; workers elsewhere keep the threads that they have there."""
    fixed = torch.are_deterministic_algorithms_enabled()
    threads = 1 if fixed else max(1, (os.cpu_count() or 1) // jobs) if share_cores else None
    pool = Parallel(n_jobs=-1 if cluster else jobs, return_as="generator_unordered")
    needed = _whole_networks(cells, preset, parts=jobs)
    for _ in pool(delayed(_in_worker)(threads, fixed, one.train, task, store) for one in needed):
        pass  # all of them before the cells, so that no two cells train the same one
    # Large sets go first, so that no single one is left running alone at the end.
    order = sorted(cells, key=lambda cell: -(cell.size or 10**9))
    yield from pool(delayed(_in_worker)(threads, fixed, _cell_and_row, c, task, preset, folder, store) for c in order)


def _in_worker(threads: int | None, fixed: bool, function: Callable[..., T], *arguments: Any) -> T:
    if fixed:
        be_deterministic()
    if threads is not None:
        torch.set_num_threads(threads)
    return function(*arguments)


def _cell_and_row(
    cell: Cell, task: GraphTask | NodeTask, preset: Preset, folder: Path | None, store: Store
) -> tuple[Cell, Row]:
    return cell, run_cell(cell, task, preset, folder, store)


@dataclass(frozen=True)
class _Networks:
    """Networks to be trained on the whole set."""

    network: NetworkConfig
    recipe: Recipe
    seeds: tuple[int, ...]

    def train(self, task: GraphTask, store: Store, advance: Advance | None = None) -> None:
        network = Network(self.network, task.num_features, task.num_outputs)
        store.train(network, task.train, task.val, self.seeds, self.recipe, task.metric, advance)


def _whole_networks(cells: Sequence[Cell], preset: Preset, parts: int) -> list[_Networks]:
    """The networks that ``cells`` need, those of a kind together or in ``parts``."""
    seeds: dict[tuple[NetworkConfig, Recipe], set[int]] = {}
    for cell in cells if not preset.nodes else ():
        if isinstance(cell.method, Coreset):
            seeds.setdefault((cell.method.network, cell.method.recipe), set()).add(cell.method.seed)
        elif cell.size is None:
            judge = preset.protocol.network
            judge = judge if cell.model is None else replace(judge, kind=cell.model)
            seeds.setdefault((judge, preset.recipe), set()).update(range(cell.eval_seeds))
    split = [(kind, sorted(all_seeds)[part::parts]) for kind, all_seeds in seeds.items() for part in range(parts)]
    return [_Networks(*kind, tuple(own)) for kind, own in split if own]


def _finished(
    cells: Sequence[Cell], task: GraphTask | NodeTask, preset: Preset, folder: Path | None, *, resume: bool, force: bool
) -> dict[str, Row]:
    """The cells that are in ``folder`` already and were made with the very same settings."""
    if folder is None:
        return {}
    files = {cell.stem: folder / f"{cell.stem}.json" for cell in cells}
    there = {stem: file for stem, file in files.items() if file.exists()}
    if there and not (resume or force):
        raise WouldOverwriteError(
            f"{folder} has {len(there)} of these {len(cells)} cells: continue with --resume, replace them with "
            "--force, or choose another --out"
        )
    if not resume:
        return {}
    rows = {}
    for cell in cells:
        if cell.stem not in there:
            continue
        try:
            row = parse_json(there[cell.stem].read_text(encoding="utf-8"))
            made_with = {
                "dataset": row["dataset"],
                "source": row["info"]["source"],
                **row["info"]["settings"],
                "evaluation": row["info"]["evaluation"],
                "model": row["model"],
                "eval_seeds": len(row["evaluation"]["per_seed"]),
            }
            table_rows([row])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            raise FileFormatError(f"{there[cell.stem]} is damaged: remove it, and --resume makes it anew") from None
        asked = {
            "dataset": task.name,
            "source": task.source,
            **json_safe(asdict(cell.method)),
            "evaluation": json_safe(preset.protocol.to_dict()),
            "model": cell.model,
            "eval_seeds": cell.eval_seeds,
        }
        check_same_settings(made_with, asked, there[cell.stem])
        rows[cell.stem] = row
    return rows


def _share(rows: Sequence[Row]) -> float:
    """Bytes over those of the original, on average."""
    return float(np.mean([row["bytes"] / row["info"]["original_bytes"] for row in rows]))


def table_rows(rows: Sequence[Row]) -> list[Row]:
    """One row a dataset, method and size: mean and standard deviation over all condensations and trainings.

    ``condense_seconds`` is for one condensation and ``evaluate_seconds`` for one training, both on average. How rows
    stand against each other: :func:`graphcondense.runs.statistics.annotate`.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["method"], size_of(row)), []).append(row)
    table = []
    for (dataset, method, size), members in groups.items():
        scores = [score for row in members for score in row["evaluation"]["per_seed"]]
        table.append(
            {
                "dataset": dataset,
                "method": method,
                "nodes" if "nodes" in members[0] else "graphs_per_class": size,
                "metric": members[0]["evaluation"]["metric"],
                "mean": float(np.mean(scores)),
                "std": float(np.std(scores)),
                "runs": len(scores),
                "condensations": len(members),
                "condensation_means": [float(np.mean(row["evaluation"]["per_seed"])) for row in members],
                "condense_seconds": float(np.mean([row["condense_seconds"] for row in members])),
                "evaluate_seconds": sum(row["evaluation"]["seconds"] for row in members) / len(scores),
                "graphs": members[0]["graphs"],
                "bytes": round(float(np.mean([row["bytes"] for row in members]))),
                "share": 1.0 if size is None else _share(members),
            }
        )
    annotate(table)
    return table
