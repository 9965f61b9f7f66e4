"""Checkpoints: a run's whole state in one ``.safetensors`` file, with a checksum. Never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_safetensors
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.errors import FileFormatError, InputError
from graphcondense.files import parse_json, write_aside

FORMAT = 1
_PREFIX, _SUFFIX = "checkpoint-", ".safetensors"
_FACTS, _CHECKSUM = "facts", "checksum"
_KEPT = 2  # files: the last one, and the one before, should a disk damage the last


@dataclass(frozen=True)
class Checkpoint:
    """A run at the end of an iteration.

    Args:
        state: what :meth:`graphcondense.methods.Run.state` gave.
        history: what each iteration measured.
        iteration_seconds: how long each took.
        seconds: of the whole run up to here.
        settings: what decides the run, as in ``settings.json``.
    """

    state: Mapping[str, Tensor]
    history: list[dict[str, float]]
    iteration_seconds: list[float]
    seconds: float
    settings: Mapping[str, Any]

    @property
    def iteration(self) -> int:
        """Iterations that were done."""
        return len(self.history)

    def to_bytes(self) -> bytes:
        """The content of a file."""
        facts = {
            "format": FORMAT,
            "history": self.history,
            "iteration_seconds": self.iteration_seconds,
            "seconds": self.seconds,
            "settings": self.settings,
        }
        tensors = {f"state.{name}": value.detach().cpu().contiguous() for name, value in self.state.items()}
        tensors[_FACTS] = _as_tensor(json.dumps(facts, allow_nan=False).encode())
        blob: bytes = to_safetensors(tensors | {_CHECKSUM: _as_tensor(_digest(tensors))})
        return blob

    @staticmethod
    def from_bytes(blob: bytes, where: str) -> Checkpoint:
        """From what :meth:`to_bytes` gave; ``where`` is for the error if it is anything else."""
        try:
            tensors: dict[str, Tensor] = from_safetensors(blob)
        except (SafetensorError, ValueError) as error:
            raise FileFormatError(f"{where} is damaged, or not a checkpoint: {error}") from None
        if not {_FACTS, _CHECKSUM} <= set(tensors):
            raise FileFormatError(f"{where} is a safetensors file, but not a checkpoint of graphcondense")
        checksum = tensors.pop(_CHECKSUM)
        if not torch.equal(checksum, _as_tensor(_digest(tensors))):
            raise FileFormatError(f"{where} is damaged: its checksum is wrong")
        facts = _facts(tensors.pop(_FACTS), where)
        if facts.get("format") != FORMAT:
            raise FileFormatError(
                f"{where} has format {facts.get('format')!r}, this version reads {FORMAT}: go on with the version that "
                "wrote it"
            )
        for name, fits in _FIELDS.items():
            if not fits(facts.get(name)):
                raise FileFormatError(f"{where} is damaged: its {name} cannot be read")
        if len(facts["history"]) != len(facts["iteration_seconds"]):
            raise FileFormatError(f"{where} is damaged: its history does not fit its times")
        return Checkpoint(
            {name.removeprefix("state."): value for name, value in tensors.items()},
            facts["history"],
            facts["iteration_seconds"],
            facts["seconds"],
            facts["settings"],
        )


def _facts(tensor: Tensor, where: str) -> dict[str, Any]:
    try:
        facts = parse_json(_as_bytes(tensor))
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise FileFormatError(f"{where} is damaged: its facts are no JSON object")
    return facts


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # which not a number is not


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "history": lambda value: (
        isinstance(value, list)
        and all(isinstance(record, dict) and all(map(_number, record.values())) for record in value)
    ),
    "iteration_seconds": lambda value: isinstance(value, list) and all(map(_number, value)),
    "seconds": _number,
    "settings": lambda value: isinstance(value, dict),
}


def checkpoint_files(folder: Path) -> list[Path]:
    """The checkpoints of a run folder, the last one first."""
    return sorted(folder.glob(f"{_PREFIX}*{_SUFFIX}"), reverse=True)


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write ``checkpoint``; older ones but the last are removed when it is whole."""
    path = write_aside(folder / f"{_PREFIX}{checkpoint.iteration:08d}{_SUFFIX}", checkpoint.to_bytes())
    for old in [file for file in checkpoint_files(folder) if file <= path][_KEPT:]:
        old.unlink(missing_ok=True)
    return path


def read_checkpoint(path: Path, settings: Mapping[str, Any]) -> Checkpoint:
    """Read a checkpoint and see that it is whole and of a run with these ``settings``."""
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None
    checkpoint = Checkpoint.from_bytes(blob, str(path))
    check_same_settings(checkpoint.settings, settings, path)
    return checkpoint


def check_same_settings(stored: Mapping[str, Any], given: Mapping[str, Any], path: Path) -> None:
    """Raise, naming the first difference, unless both are the same."""
    found = difference(stored, given)
    if found is not None:
        name, old, new = found
        raise InputError(
            f"{path} is of a run with {name}={old!r}, not {new!r}: give the same settings, choose another --out, or "
            "start anew with --force"
        )


def difference(stored: Any, given: Any, name: str = "settings") -> tuple[str, Any, Any] | None:
    """The first setting that differs; one that a former version did not have counts as off there."""
    if not (isinstance(stored, Mapping) and isinstance(given, Mapping)):
        return None if stored == given else (name, stored, given)
    for key in dict.fromkeys([*given, *stored]):
        if key not in stored and given[key] is False:
            continue
        found = difference(stored.get(key), given.get(key), str(key))
        if found is not None:
            return found
    return None


def _digest(tensors: Mapping[str, Tensor]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()


def _as_tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _as_bytes(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()
