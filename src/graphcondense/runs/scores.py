"""Scores beside the condensed file that they are of, so that a report need not train again."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

from graphcondense.evaluation import Scores
from graphcondense.files import parse_json, write_json
from graphcondense.metrics import METRICS
from graphcondense.runs.folder import RESULT


def scores_file(file: Path) -> Path:
    """Where the scores of a condensed file are kept: ``condensed.scores.json`` beside ``condensed.safetensors``."""
    return file.with_suffix(".scores.json")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def kept_scores(file: Path) -> dict[str, Scores]:
    """The scores of a condensed file by network; empty where there are none, or where the file has changed since."""
    try:
        stored = parse_json(scores_file(file).read_text(encoding="utf-8"))
        if stored["sha256"] != _digest(file):
            return {}
        return {name: _scores(values) for name, values in stored["scores"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return {}


def keep_scores(file: Path, dataset: str, scores: dict[str, Scores]) -> Path | None:
    """Keep scores beside a condensed file in a run folder. Elsewhere nothing is kept.

    Those of other networks stay, and so does a score of more trainings than the new one is of.
    """
    if not (file.parent / RESULT).is_file():
        return None
    there = kept_scores(file)
    better = {name: one for name, one in there.items() if name in scores and one.trainings > scores[name].trainings}
    together = {name: one.to_dict() for name, one in (there | scores | better).items()}
    return write_json(scores_file(file), {"sha256": _digest(file), "dataset": dataset, "scores": together})


def _scores(values: dict[str, Any]) -> Scores:
    per_seed, val = tuple(map(float, values["per_seed"])), tuple(map(float, values["val_per_seed"]))
    seconds, metric = float(values["seconds"]), values["metric"]
    if not per_seed or metric not in METRICS or not all(map(math.isfinite, (*per_seed, *val, seconds))):
        raise ValueError("no scores")
    return Scores(metric, per_seed, val, seconds)
