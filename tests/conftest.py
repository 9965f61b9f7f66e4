from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Small products are faster on one thread, and the suite must not crawl where other work keeps the cores busy.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)
settings.register_profile("no clock", deadline=None)  # times are never asserted: a busy machine is no failure
settings.load_profile("no clock")

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def real_data_root() -> Path | None:
    """Where the real datasets are on this machine, if anywhere."""
    named = os.environ.get("GRAPHCONDENSE_DATA")
    root = Path(named) if named else _SHARED
    return root if root.is_dir() else None


@pytest.fixture
def needs_data() -> Callable[[str], Path]:
    """A function that gives the data root with the named dataset in it, and skips the test where there is none."""

    def needs(name: str) -> Path:
        from graphcondense.datasets import known

        root = real_data_root()
        info = next(info for info in known() if info.name == name)
        if info.files and (root is None or not info.available(root)):
            pytest.skip(f"needs the real dataset {name}: set GRAPHCONDENSE_DATA")
        return root or _SHARED

    return needs
