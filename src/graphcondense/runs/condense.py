"""One condensation from start to file: the run folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from graphcondense.datasets import cache_root
from graphcondense.distributed import World
from graphcondense.errors import FileFormatError, InputError, MissingDataError
from graphcondense.files import write_aside, write_json
from graphcondense.methods import Callback, Condenser, DivergedError
from graphcondense.presets import Preset
from graphcondense.runs.callbacks import EVERY_MINUTE, Checkpoints, EarlyStop, Every, History
from graphcondense.runs.folder import CONDENSED, HISTORY, RESULT, SNAPPED, is_unfinished, read_result, run_folder
from graphcondense.synthetic import CondensedDataset, CondensedGraph, json_safe, load_condensed, summary
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import FolderStore, Store

_FINISHED = b"finished"
_TOLD = ("early_stop", "kept_iteration", "made_of")  # of what a result says of itself, where it does
Condensed = CondensedDataset | CondensedGraph


def trained_networks() -> FolderStore:
    """The networks that were trained on whole sets, kept in the cache for all commands."""
    return FolderStore(cache_root() / "trained")


def condense_with(
    method: Condenser,
    task: GraphTask | NodeTask,
    preset: Preset,
    callbacks: Sequence[Callback] = (),
    store: Store | None = None,
) -> tuple[Any, float]:
    """Condense, and note in the result how it is meant to be judged; also the seconds that it took.

    Where a network that was trained before is used again, the seconds of its training are counted in.
    """
    store = store or Store()
    started, saved = time.perf_counter(), store.saved_seconds
    condensed = method.condense(task, callbacks, store)
    seconds = time.perf_counter() - started + store.saved_seconds - saved
    info = condensed.info | {"preset": preset.name, "evaluation": preset.protocol.to_dict()}
    stop = next((hook for hook in callbacks if isinstance(hook, EarlyStop) and hook.best_iteration), None)
    if stop is not None:
        info |= {"early_stop": stop.settings, "kept_iteration": stop.best_iteration}
        info["last"] = condensed.history[stop.best_iteration - 1]  # what the graphs are of
    return replace(condensed, info=info), seconds


def settings_of(method: Condenser, task: GraphTask | NodeTask, preset: Preset, **more: Any) -> dict[str, Any]:
    """What decides a run: two with the same are the same."""
    size = {"train_graphs": int(task.train_class_counts.sum())} if isinstance(task, GraphTask) else {}
    size = size or {"train_nodes": len(task.split.train)}
    decided = {
        "dataset": task.name,
        "source": task.source,
        **size,
        "method": method.name,
        "preset": preset.name,
        "seed": method.seed,
        "settings": asdict(method),
        "evaluation": preset.protocol.to_dict(),
        **more,
    }
    safe: dict[str, Any] = json_safe(decided)
    return safe


def condense_into(
    folder: Path,
    method: Condenser,
    task: GraphTask | NodeTask,
    preset: Preset,
    callbacks: Sequence[Callback] = (),
    store: Store | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    every: Every = EVERY_MINUTE,
    tell: Callable[[str], None] | None = None,
    decided: Mapping[str, Any] | None = None,
    snapped: Callable[[Any], Condensed] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Condense in a run folder that survives whatever ends this process; the result, and what was measured.

    With several processes, the first one has the folder, and the others get nothing of what was measured.

    Args:
        folder: where.
        method: how.
        task: what.
        preset: where the settings came from, and how the result is judged.
        callbacks: told of every iteration, before it is saved.
        store: has networks that were trained before.
        resume: go on with what ``folder`` has. A finished run is read.
        force: begin anew whatever ``folder`` has.
        every: how often to save.
        tell: is given lines for the user.
        decided: what else decides the result, for ``settings.json``.
        snapped: makes a second result of the first, with features snapped to categories, that is written beside it.
    """
    settings = settings_of(method, task, preset, **(decided or {}))
    world = task.part.world if isinstance(task, GraphTask) and task.part is not None else World()
    if not world.first:  # the first rank writes; this one may not even see the folder
        saving = Checkpoints(folder, every, resume=resume, settings=settings)
        if world.from_first(b"") == _FINISHED:
            return None, {}
        return condense_with(method, task, preset, [*callbacks, saving], store)[0], {}
    with run_folder(folder, settings, resume=resume, force=force, ranks=world.size) as notes:
        for note in notes:
            (tell or str)(note)
        saving = Checkpoints(folder, every, resume=resume, settings=settings, tell=tell)
        finished = read_result(folder)
        world.from_first(_FINISHED if finished is not None else b"begin")
        if finished is not None:
            saving.remove()
            return load_condensed(folder / CONDENSED), finished
        history = History(folder / HISTORY)
        try:
            condensed, seconds = condense_with(method, task, preset, [*callbacks, history, saving], store)
        except KeyboardInterrupt as error:
            raise Interrupted(saving.saved) from error
        except DivergedError as error:
            kept = "no checkpoint was made before" if saving.saved is None else f"iteration {saving.saved} is kept"
            raise DivergedError(
                f"{error}; {kept} in {folder}, --resume would end the same way: begin anew with --force"
            ) from None
        second = None if snapped is None else snapped(condensed)
        result = write_run(folder, condensed, seconds + saving.seconds_before, history.text or None, second)
        saving.remove()
        return condensed, result


class Interrupted(KeyboardInterrupt):
    """A run was ended by the user; ``saved`` is the iteration that it goes on after, ``None`` for the start."""

    def __init__(self, saved: int | None) -> None:
        super().__init__(saved)
        self.saved = saved


def write_run(
    folder: Path,
    condensed: Condensed,
    seconds: float,
    history: str | None = None,
    snapped: Condensed | None = None,
) -> dict[str, Any]:
    """Write the condensed file (and the snapped one), its history and, when these are safe, what was measured.

    Returns the latter. Without the lines of a history that was written as the run went, they are made of the result's.
    """
    if history is None:
        records = enumerate(condensed.history, start=1)
        history = "".join(json.dumps({"iteration": place} | record) + "\n" for place, record in records)
    write_aside(folder / HISTORY, history.encode())
    file = condensed.save(folder / CONDENSED, force=True)
    result: dict[str, Any] = {
        "file": str(file),
        "dataset": condensed.info["dataset"],
        "method": condensed.info["method"],
        "preset": condensed.info["preset"],
        "seed": condensed.info["settings"]["seed"],
        "seconds": seconds,
        "iterations": condensed.info["iterations"],
        **{name: condensed.info[name] for name in _TOLD if name in condensed.info},
        **summary(condensed),
        "original_bytes": condensed.info["original_bytes"],
        "settings": condensed.info["settings"],
    }
    if snapped is not None:
        file = snapped.save(folder / SNAPPED, force=True)
        result["snapped"] = {"file": str(file), "bytes": snapped.num_bytes}
    write_json(folder / RESULT, result)
    return result


def find_condensed(path: Path) -> Path:
    """The condensed file that ``path`` is, or that lies in the run folder ``path``."""
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if is_folder:
        file = path / CONDENSED
        if not file.is_file() and is_unfinished(path):
            raise MissingDataError(f"{path} has a run that is not finished: go on with `condense ... --resume` first")
        if not file.is_file():
            raise MissingDataError(f"{path} holds no {CONDENSED}: give a run folder or a condensed file")
        return file
    if exists and path.suffix != ".safetensors":
        raise FileFormatError(f"{path} is not a condensed file: give a .safetensors file or a run folder")
    return path
