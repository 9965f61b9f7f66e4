from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from graphcondense.report.tables import bytes_text, facts_table, score_text, seconds_text


def rendered(table: Table, width: int = 80) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False).print(table)
    return screen.getvalue().splitlines()


def test_roc_auc_is_a_fraction_and_accuracy_a_percentage() -> None:
    assert score_text(0.5802, 0.0105, "accuracy") == "58.02 ± 1.05"
    assert score_text(0.65749, 0.034, "roc_auc") == "0.657 ± 0.034"
    assert score_text(0.5, None, "accuracy") == "50.00"


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
