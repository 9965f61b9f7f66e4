from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from graphcondense.report.tables import bytes_text, comparison_table, facts_table, score_text, seconds_text


def rendered(table: Table, width: int = 80) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False).print(table)
    return screen.getvalue().splitlines()


def a_row(**changes: Any) -> dict[str, Any]:
    values = {
        "dataset": "ogbg-molbbbp",
        "method": "doscond_bi",
        "graphs_per_class": 50,
        "metric": "accuracy",
        "mean": 0.5802,
        "std": 0.0105,
        "runs": 50,
        "graphs": 100,
        "bytes": 482_110,
        "condense_seconds": 123.4,
        "evaluate_seconds": 12.34,
    }
    return values | changes


ROWS = [
    a_row(method="whole", graphs_per_class=None, graphs=32_901, bytes=31_234_567, condense_seconds=0.0),
    a_row(method="random", graphs_per_class=1, graphs=2, bytes=812, mean=1.0, std=0.0, condense_seconds=0.01),
    a_row(method="kcenter"),
    a_row(condense_seconds=12345.6, runs=500, evaluate_seconds=99.96),
]


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_comparison_fits_into_80_columns_with_every_cell_whole(metric: str) -> None:
    lines = rendered(comparison_table([{**row, "metric": metric} for row in ROWS]))
    text = "\n".join(lines)
    assert max(len(line) for line in lines) <= 80
    assert "…" not in text
    wide = rendered(comparison_table([{**row, "metric": metric} for row in ROWS]), width=300)
    assert [line.split() for line in lines] == [line.split() for line in wide]


def test_a_comparison_says_what_is_in_its_rows() -> None:
    lines = rendered(comparison_table(ROWS))
    assert lines[0].strip() == "ogbg-molbbbp: accuracy (%)"
    squeezed = [" ".join(line.split()) for line in lines]
    assert "method per class score runs graphs bytes condense training" in squeezed
    assert "whole all 58.02 ± 1.05 50 32,901 31.2 MB 0.0 s 12.3 s" in squeezed
    assert sum(any(row["method"] in line for row in ROWS) for line in lines) == len(ROWS)


def test_roc_auc_is_a_fraction_and_accuracy_a_percentage() -> None:
    assert score_text(0.5802, 0.0105, "accuracy") == "58.02 ± 1.05"
    assert score_text(0.65749, 0.034, "roc_auc") == "0.657 ± 0.034"
    assert score_text(0.5, None, "accuracy") == "50.00"
    assert rendered(comparison_table([a_row(metric="roc_auc")]))[0].strip() == "ogbg-molbbbp: ROC-AUC"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_400, "999 kB"), (1_000_000, "1.0 MB")]
)
def test_sizes(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_a_size_just_below_a_megabyte_is_not_a_thousand_kilobytes() -> None:
    assert bytes_text(999_700) == "1.0 MB"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0.0 s"), (59.94, "59.9 s"), (100, "100 s"), (3600, "3600 s")])
def test_times(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_facts_are_two_columns_and_long_ones_are_folded_not_cut() -> None:
    facts = [("graphs", 20), ("file", "/very/long/" + "x" * 150), ("nothing", None)]
    lines = rendered(facts_table(facts))
    assert lines[0].split() == ["graphs", "20"]
    assert lines[-1].split() == ["nothing", "None"]
    assert max(len(line) for line in lines) <= 80
    assert "".join(lines).count("x") == 150


@pytest.mark.parametrize("name", ["runs/[a]/x", "runs[/b]", "[bold]MUTAG", ":bug:"])
def test_names_are_shown_as_they_are(name: str) -> None:
    assert rendered(facts_table([("file", name)]))[0].split() == ["file", name]
    assert rendered(comparison_table([a_row(dataset=name)]))[0].strip() == f"{name}: accuracy (%)"
