"""The benchmark's parts run, on something small; its times are nobody's business here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from graphcondense import load

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import bench
import performance_page

CHANGES = {"graphs_per_class": 1, "real_batch": 4}


@pytest.fixture(params=["textbook", "ours"])
def side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bench.Side:
    monkeypatch.setattr(bench, "THREADS", torch.get_num_threads())
    return bench.Side(request.param)


def test_each_side_can_be_asked_for_everything(side: bench.Side) -> None:
    assert len(side.iteration("digits", CHANGES, 0.0)) == 2
    assert side.evaluation("digits", 1, 1, 1) > 0
    memory = side.memory("digits", CHANGES, 1)
    assert 0 < memory["start_mb"] <= memory["peak_mb"]
    (point,) = side.accuracy("digits", CHANGES | {"iterations": 2}, (2,))
    assert point["iteration"] == 2 and 0 <= point["score"] <= 1


def test_the_floor_sees_the_products_of_an_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "THREADS", torch.get_num_threads())
    found = bench.Side("ours").floor("digits", CHANGES)
    assert found["products"] >= 3 * 7 and found["floor_ms"] > 0


def test_graphs_can_be_dealt_out_to_more_classes() -> None:
    task, method = bench.method_for(load("digits"), {"classes": 20, "graphs_per_class": 1})
    assert task.num_classes == 20 and task.train_class_counts.min() > 0
    method.check(task)


def test_the_page_says_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performance_page, "PAGE", tmp_path / "page.md")
    point = {"iteration": 10, "seconds": 2.0, "score": 0.5}
    stored: dict[str, Any] = {
        "machine": {"cores": 2, "threads": 2, "torch": "2"},
        "iteration": {"MUTAG 1": {"textbook_ms": 30.0, "ours_ms": 2.0, "ratio": 15.0}},
        "floor": {"MUTAG 1": {"floor_ms": 0.5, "ratio": 4.0}},
        "evaluation": {"MUTAG": {"epochs": 500, "textbook_seconds": 5.0, "ours_seconds": 0.2, "ratio": 25.0}},
        "memory": {"MUTAG 1": {"textbook": {"peak_mb": 400.0}, "ours": {"peak_mb": 300.0}}},
        "accuracy": {"MUTAG textbook 0": [point | {"seconds": 8.0}], "MUTAG ours 0": [point]},
        "growth": {"nodes 30": {"ms": 12.3}},
    }
    printed = performance_page.write_page(stored)
    page = (tmp_path / "page.md").read_text()
    for figure in ("15.0x", "25x", "0.75", "4x", "12.3"):
        assert figure in printed and figure in page


def test_the_stored_page_is_that_of_the_stored_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performance_page, "PAGE", tmp_path / "page.md")
    performance_page.write_page(json.loads(bench.RESULTS.read_text()))
    assert (tmp_path / "page.md").read_text() == (bench.RESULTS.parents[2] / "docs" / "performance.md").read_text()
