"""What a run folder has; whatever is missing or damaged beside the condensed file is simply not there."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphcondense.errors import GraphcondenseError
from graphcondense.evaluation import Scores
from graphcondense.files import parse_json
from graphcondense.presets import PRESETS, preset_of
from graphcondense.runs.condense import find_condensed
from graphcondense.runs.folder import ENVIRONMENT, HISTORY, RESULT, SNAPPED
from graphcondense.runs.scores import kept_scores
from graphcondense.synthetic import CondensedDataset, CondensedGraph, json_safe, load_condensed


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A condensed file and what lies beside it.

    Args:
        file: the condensed file.
        condensed: what is in it.
        snapped: the snapped file beside it and what is in it, if there is one.
        result: ``result.json``.
        environment: ``environment.json``.
        history: a dict an iteration, with its finite numbers.
        scores: those that were kept, by network.
        snapped_scores: the same of the snapped file.
    """

    file: Path
    condensed: CondensedDataset | CondensedGraph
    snapped: tuple[Path, CondensedDataset | CondensedGraph] | None = None
    result: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)
    scores: dict[str, Scores] = field(default_factory=dict)
    snapped_scores: dict[str, Scores] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> RunFolder:
        """The run folder ``path``, or the one that the condensed file ``path`` lies in."""
        file = find_condensed(path)
        beside = file.parent
        other = beside / SNAPPED
        snapped = (other, load_condensed(other)) if other.is_file() and other != file else None
        return RunFolder(
            file,
            load_condensed(file),
            snapped,
            read_object(beside / RESULT),
            read_object(beside / ENVIRONMENT),
            read_history(beside / HISTORY),
            kept_scores(file),
            {} if snapped is None else kept_scores(other),
        )

    @property
    def commands(self) -> list[str]:
        """What to type to make it again."""
        info, folder = self.condensed.info, shlex.quote(str(self.file.parent))
        lines = [command_of(info, folder)] if info.get("source") and "settings" in info else []
        if self.snapped is not None:
            lines.append(f"graphcondense snap {folder}")
        return [*lines, f"graphcondense evaluate {folder}", f"graphcondense report {folder}"]


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``; empty where there is none."""
    try:
        value = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_history(path: Path) -> list[dict[str, float]]:
    """The iterations in ``path``, as far as they can be read: the last line of a running one may be cut off."""
    records = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    for line in lines:
        try:
            values = parse_json(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            numbers = {name: float(value) for name, value in values.items() if _is_number(value)}
            if "iteration" in numbers:
                records.append(numbers)
    return records


def _is_number(value: Any) -> bool:
    """Whether it is a finite float, or a whole number that fits one."""
    return isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value)


def command_of(info: dict[str, Any], folder: str) -> str:
    """The command of a condensation: what differs from the preset is set by name."""
    settings, preset = dict(info["settings"]), str(info.get("preset", "default"))
    node = "inductive" in info
    words = ["graphcondense condense", shlex.quote(str(info["source"]))]
    size = {"nodes": settings.get("nodes"), "ratio": settings.get("ratio")} if node else {}
    if node:
        name = "ratio" if size.get("ratio") is not None else "nodes"
        words.append(f"--{name} {size[name]}")
    else:
        size = {"graphs_per_class": settings.get("graphs_per_class")}
        words.append(f"-n {size['graphs_per_class']}")
    words += [f"--method {info['method']}", f"--preset {preset}", f"--seed {settings.get('seed', 0)}"]
    stop = info.get("early_stop")
    if isinstance(stop, dict):
        words += [f"--early-stop {stop.get('every')}", f"--patience {stop.get('patience')}"]
    return " ".join([*words, *changes_of(info), f"--out {folder}"])


def changes_of(info: dict[str, Any]) -> list[str]:
    """Options for what is not as in the preset: ``--model`` and ``--set``."""
    settings, preset, node = dict(info.get("settings", {})), str(info.get("preset", "default")), "inductive" in info
    sizes = ("nodes", "ratio") if node else ("graphs_per_class",)
    size = {name: settings.get(name) for name in sizes}
    if preset not in PRESETS:
        return []
    try:
        method = preset_of(preset, str(info.get("dataset", "")), node).method(str(info["method"]), **size)
    except (GraphcondenseError, KeyError, TypeError):
        return []
    usual = json_safe(asdict(method))
    plain = (bool, int, float, str)
    own, network = settings.get("network"), usual.get("network")
    kind = own.get("kind") if isinstance(own, dict) and isinstance(network, dict) else None
    words = [] if kind is None or network is None or kind == network.get("kind") else [f"--model {shlex.quote(kind)}"]
    for name, value in settings.items():
        if name not in ("seed", *size) and isinstance(value, plain) and usual.get(name) != value:
            text = value if isinstance(value, str) else json.dumps(value)
            words.append(f"--set {shlex.quote(f'{name}={text}')}")
    return words
