"""What is installed is what was tested, and what is not pinned is said."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / ".ci"))
import audit

ROOT = Path(__file__).resolve().parents[1]


def test_everything_that_is_installed_is_pinned() -> None:
    pinned = audit.pins((ROOT / "constraints.txt").read_text())
    found = audit.needed(audit.distribution("graphcondense"))
    assert {"torch", "numpy", "safetensors", "networkx", "jinja2"} <= set(found)  # it looks where it should
    assert "markupsafe" in found  # and at what is pulled in
    assert audit.problems(found, pinned) == []


def test_what_is_not_pinned_is_said() -> None:
    found = {name: SimpleNamespace(name=name, version="1.0+cpu") for name in ("left-out", "other", "right", "pip")}
    assert audit.problems(found, audit.pins("other==2.0\nRight==1.0  # why\n")) == [
        "left-out 1.0 is installed, but not in constraints.txt: pin it",
        "other 1.0 is installed, but constraints.txt pins 2.0: install that one",
    ]
    for line in ("torch>=2", "torch", "torch==2.*"):
        with pytest.raises(SystemExit, match="pins no version"):
            audit.pins(line)
