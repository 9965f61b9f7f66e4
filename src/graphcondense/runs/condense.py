"""One condensation from start to file: the run folder."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphcondense.datasets import cache_root
from graphcondense.errors import FileFormatError, InputError, MissingDataError, WouldOverwriteError
from graphcondense.files import write_aside, write_json
from graphcondense.methods import Callback, Condenser
from graphcondense.presets import Preset
from graphcondense.synthetic import CondensedDataset, CondensedGraph, summary
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import FolderStore, Store

CONDENSED = "condensed.safetensors"
SNAPPED = "snapped.safetensors"


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
    return replace(condensed, info=info), seconds


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise before any work if ``folder`` has something in it and may not be overwritten."""
    check_is_no_file(folder)
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise WouldOverwriteError(f"{folder} is not empty: choose another --out, or overwrite it with --force")


def check_is_no_file(folder: Path) -> None:
    """Raise if ``folder``, or what it is to lie in, is a file."""
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    except OSError as error:
        raise InputError(f"--out {folder} cannot be a folder: {error.strerror}") from None
    if not there.is_dir():
        raise WouldOverwriteError(f"{there} is a file, not a folder: choose another --out")


def make_folder(folder: Path) -> None:
    """Make ``folder`` and see that it can be written to, so that no result is lost at the end of a long run."""
    check_is_no_file(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--out {folder} cannot be written to: {error.strerror}; choose another") from None


def write_run(
    folder: Path,
    condensed: CondensedDataset | CondensedGraph,
    seconds: float,
    snapped: CondensedDataset | CondensedGraph | None = None,
) -> dict[str, Any]:
    """Write the condensed file (and the snapped one), its history and what was measured; returns the latter."""
    file = condensed.save(folder / CONDENSED, force=True)
    lines = "".join(json.dumps({"iteration": i} | record) + "\n" for i, record in enumerate(condensed.history, start=1))
    write_aside(folder / "history.jsonl", lines.encode())
    result = {
        "file": str(file),
        "dataset": condensed.info["dataset"],
        "method": condensed.info["method"],
        "preset": condensed.info["preset"],
        "seed": condensed.info["settings"]["seed"],
        "seconds": seconds,
        "iterations": condensed.info["iterations"],
        **summary(condensed),
        "original_bytes": condensed.info["original_bytes"],
        "settings": condensed.info["settings"],
    }
    (folder / SNAPPED).unlink(missing_ok=True)  # of a run that was here before
    if snapped is not None:
        file = snapped.save(folder / SNAPPED, force=True)
        result["snapped"] = {"file": str(file), "bytes": snapped.num_bytes}
    write_json(folder / "result.json", result)
    return result


def find_condensed(path: Path) -> Path:
    """The condensed file that ``path`` is, or that lies in the run folder ``path``."""
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if is_folder:
        file = path / CONDENSED
        if not file.is_file():
            raise MissingDataError(f"{path} holds no {CONDENSED}: give a run folder or a condensed file")
        return file
    if exists and path.suffix != ".safetensors":
        raise FileFormatError(f"{path} is not a condensed file: give a .safetensors file or a run folder")
    return path
