"""The scaling benchmark runs on something small, and its page says what is stored; times are nobody's business here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import scaling
import scaling_page


def test_one_and_two_ranks_are_measured_in_turns() -> None:
    found = scaling.measure({"dataset": "digits", "real_batch": 4}, block=0.0, rounds=1)
    assert found["bytes"] == 4 * found["classes"] * found["parameters"]
    assert found["drawn"] == 40 and found["graphs"] == 1439
    assert 0 < found["real_ms_1"] < found["ms_1"] and found["ratio"] == pytest.approx(found["ms_1"] / found["ms_2"])


def test_the_page_says_what_is_stored_and_the_estimate_follows_its_formula(tmp_path: Path) -> None:
    one = {"ms_1": 400.0, "ms_2": 220.0, "real_ms_1": 380.0, "real_ms_2": 200.0, "ratio": 400 / 220}
    one |= {"bytes": 280_000, "classes": 2, "parameters": 35_000, "graphs": 38_000, "drawn": 38_000}
    (tmp_path / "s.json").write_text(json.dumps({"graphs_per_class": 10, "cases": {"ogbg-molhiv all": one}}))
    page = scaling_page.section(tmp_path / "s.json")
    for figure in ("1.82x", "91%", "280,000", "10 us a graph", "synthetic = 20 ms", "= 15.6 s"):
        assert figure in page, figure
    assert scaling_page.section(tmp_path / "missing.json") == ""
