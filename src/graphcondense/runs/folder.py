"""Run folders: one process at a time, what was asked for and with what, and whether it can go on."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, WouldOverwriteError
from graphcondense.files import parse_json, write_json
from graphcondense.methods import versions
from graphcondense.runs.checkpoint import check_same_settings, checkpoint_files

CONDENSED, SNAPPED = "condensed.safetensors", "snapped.safetensors"
HISTORY, RESULT = "history.jsonl", "result.json"
SETTINGS, ENVIRONMENT, LOCK = "settings.json", "environment.json", ".lock"


def command_line() -> str:
    """The command that started this process, to be typed again."""
    return shlex.join(["graphcondense", *sys.argv[1:]])


def environment(ranks: int = 1) -> dict[str, Any]:
    """What a run was made with."""
    return {
        "versions": versions(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "device": "cpu",
        "ranks": ranks,
        "command": command_line(),
    }


def describe(folder: Path, settings: Mapping[str, Any], ranks: int = 1) -> None:
    """Write what was asked for, and with what."""
    write_json(folder / SETTINGS, settings)
    write_json(folder / ENVIRONMENT, environment(ranks))


def check_is_no_file(folder: Path) -> None:
    """Raise if ``folder``, or what it is to lie in, is a file."""
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    except OSError as error:
        raise InputError(f"--out {folder} cannot be a folder: {error.strerror}") from None
    if not there.is_dir():
        raise WouldOverwriteError(f"{there} is a file, not a folder: choose another --out")


def is_unfinished(folder: Path) -> bool:
    """Whether a run was begun in ``folder`` and has no result."""
    return (folder / SETTINGS).exists() and not (folder / RESULT).exists()


def check_folder(folder: Path, *, force: bool, resume: bool = False) -> None:
    """Raise before any work if ``folder`` has something in it that may neither be overwritten nor continued."""
    check_is_no_file(folder)
    if force or not folder.is_dir() or all(file.name.startswith(".") for file in folder.iterdir()):
        return
    ours = (folder / SETTINGS).exists()
    if resume and not ours:
        raise WouldOverwriteError(f"{folder} holds no run to go on with: choose another --out, or overwrite by --force")
    if not resume:
        how = (
            "has an unfinished run: go on with --resume"
            if is_unfinished(folder)
            else "is not empty: choose another --out"
        )
        raise WouldOverwriteError(f"{folder} {how}, or overwrite it with --force")


def make_folder(folder: Path) -> None:
    """Make ``folder`` and see that it can be written to, so that no result is lost at the end of a long run."""
    check_is_no_file(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--out {folder} cannot be written to: {error.strerror}; choose another") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes off ``folder``; a process that dies, however it dies, keeps nobody off."""
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise GraphcondenseError(
            f"{folder} is in use by another process: wait for it, or choose another --out"
        ) from None
    except OSError as error:
        raise InputError(f"--out {folder} cannot be locked: {error.strerror}; choose another") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def run_folder(
    folder: Path, settings: Mapping[str, Any], *, resume: bool = False, force: bool = False, ranks: int = 1
) -> Iterator[list[str]]:
    """Open a run folder for this process alone; yields what the user should know of it, a line each.

    Args:
        folder: where.
        settings: what decides the run; to go on, those of the folder must be the same.
        resume: whether to go on with what is there.
        force: whether to begin anew, whatever is there.
        ranks: processes that condense together.
    """
    check_folder(folder, force=force, resume=resume)
    make_folder(folder)
    with locked(folder):
        _sweep(folder)
        stored = _read_json(folder / SETTINGS) if resume else None
        now, notes = environment(ranks), []
        if stored is None:
            for file in [folder / name for name in (RESULT, CONDENSED, SNAPPED, HISTORY)] + checkpoint_files(folder):
                file.unlink(missing_ok=True)
            write_json(folder / SETTINGS, settings)
        else:
            check_same_settings(stored, settings, folder / SETTINGS)
            notes = _changes(_read_json(folder / ENVIRONMENT) or {}, now)
        if not (folder / RESULT).exists():
            write_json(folder / ENVIRONMENT, now)
        yield notes


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half written."""
    for name in (CONDENSED, SNAPPED, RESULT, SETTINGS, ENVIRONMENT, HISTORY, "checkpoint-*.safetensors"):
        for rubbish in folder.glob(f".{name}.*"):
            rubbish.unlink(missing_ok=True)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return value
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        pass
    raise FileFormatError(f"{path} is damaged: start anew with --force, or choose another --out")


def _changes(old: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is another than when the run began, and may change the last digits of its result."""
    names = ("versions", "platform", "threads", "deterministic", "device", "ranks")
    changed = [name for name in names if name in old and old[name] != now[name]]
    if not changed:
        return []
    return [f"{', '.join(changed)} changed since the run began: the result may differ in its last digits"]


def read_result(folder: Path) -> dict[str, Any] | None:
    """What a finished run measured; ``None`` if it is not finished."""
    return _read_json(folder / RESULT)
