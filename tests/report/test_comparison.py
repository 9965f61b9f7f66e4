from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from graphcondense.report.comparison import CSV_COLUMNS, comparison_csv, comparison_sheet, write_comparison
from graphcondense.runs.statistics import annotate

Row = dict[str, Any]


def rendered(rows: list[Row], width: int = 80) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False).print(comparison_sheet(rows).rich())
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def a_row(**changes: Any) -> Row:
    values = {
        "dataset": "ogbg-molbbbp",
        "method": "doscond-bi",
        "graphs_per_class": 50,
        "metric": "accuracy",
        "mean": 0.5802,
        "std": 0.0105,
        "runs": 50,
        "condensations": 5,
        "condensation_means": [0.57, 0.58, 0.59, 0.5802, 0.58],
        "graphs": 100,
        "bytes": 482_110,
        "share": 0.0154,
        "condense_seconds": 123.4,
        "evaluate_seconds": 12.34,
    }
    return values | changes


def some_rows(**changes: Any) -> list[Row]:
    """The whole set, and five methods of one or two sizes; none in the order in which they are shown."""
    rows = [
        a_row(method="doscond-bi", condense_seconds=12345.6, runs=500),
        a_row(method="random", graphs_per_class=1, bytes=812, share=0.00026, mean=1.0, std=0.0, condense_seconds=0.01),
        a_row(method="kcenter", mean=0.5811),
        a_row(method="random", mean=0.41, condensation_means=[0.40, 0.42, 0.41, 0.41, 0.41], condense_seconds=0.01),
        a_row(
            method="whole",
            graphs_per_class=None,
            graphs=32_901,
            bytes=3_123_456,
            share=1.0,
            condense_seconds=0.0,
            evaluate_seconds=98.76,
            condensations=1,
            condensation_means=[0.58],
        ),
    ]
    rows = [row | changes for row in rows]
    annotate(rows)
    return rows


# --- the terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_comparison_fits_into_80_columns_with_every_cell_whole(metric: str) -> None:
    lines = rendered(some_rows(metric=metric))
    assert max(len(line) for line in lines) <= 80
    assert "…" not in "\n".join(lines)
    wide = rendered(some_rows(metric=metric), width=300)
    assert [line.split() for line in lines if "──" not in line] == [line.split() for line in wide if "──" not in line]


def long_numbers(metric: str) -> list[Row]:
    """Of every column the longest text that a real comparison has had or could well have."""
    rows = [
        a_row(method="whole", graphs_per_class=None, bytes=31_234_567, share=1.0, evaluate_seconds=612.3),
        a_row(method="random", mean=1.0, std=0.0, runs=1000, bytes=14_400_000, share=0.461, metric=metric),
        a_row(method="doscond-bi", mean=0.877, runs=1000, bytes=14_400_000, share=0.461, condense_seconds=98765.4),
    ]
    rows = [row | {"metric": metric} for row in rows]
    annotate(rows)
    rows[2] |= {"evaluate_seconds": 99.94, "break_even": 1_234}
    return rows


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_long_numbers_fit_into_80_columns_too(metric: str) -> None:
    lines = rendered(long_numbers(metric))
    assert max(len(line) for line in lines) <= 80
    assert "…" not in "\n".join(lines)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_where_nothing_fits_no_line_is_broken(metric: str) -> None:
    lines = rendered(long_numbers(metric))
    assert max(len(line) for line in lines) <= 80
    assert sum(line.lstrip().startswith(("whole", "random", "doscond-bi")) for line in lines) == 3


def test_a_comparison_says_what_is_in_its_rows() -> None:
    lines = rendered(some_rows())
    assert lines[0].strip() == "ogbg-molbbbp: accuracy (%)"
    squeezed = [" ".join(line.split()) for line in lines]
    assert "method n score vs rand runs bytes share condense train pays" in squeezed
    assert "whole all 58.02 ± 1.05 50 3.1 MB 100% 0.0 s 98.8 s" in squeezed
    assert "doscond-bi 50 58.02 ± 1.05 = +17.0 500 482 kB 1.5% 12346 s 12.3 s 143" in squeezed


def test_the_whole_set_comes_first_and_sizes_stand_together() -> None:
    methods = [line.split()[:2] for line in rendered(some_rows()) if "±" in line]
    assert methods == [["whole", "all"], ["random", "1"], ["doscond-bi", "50"], ["kcenter", "50"], ["random", "50"]]


def marks(rows: list[Row]) -> dict[tuple[str, str], str]:
    """What stands behind each score."""
    found = {}
    for line in rendered(rows):
        if match := re.match(r"\s*(\S+)\s+(\S+)\s+\S+ ± \S+ (.)", line + "  "):
            found[match[1], match[2]] = match[3].strip()
    return found


def test_the_best_and_what_cannot_be_told_from_it_are_marked() -> None:
    assert marks(some_rows()) == {
        ("whole", "all"): "",
        ("random", "1"): "*",
        ("kcenter", "50"): "*",
        ("doscond-bi", "50"): "=",
        ("random", "50"): "",
    }


def test_what_one_condensation_leaves_open_is_marked_as_such() -> None:
    rows = [a_row(method="random", condensation_means=[0.5], mean=0.5), a_row(condensation_means=[0.58])]
    annotate(rows)
    assert marks(rows) == {("random", "50"): "?", ("doscond-bi", "50"): "*"}
    assert "+8.0?" in "\n".join(rendered(rows))


@pytest.mark.parametrize(
    ("metric", "difference", "settled", "text"),
    [
        ("accuracy", 0.1234, True, "+12.3"),
        ("accuracy", -0.1234, True, "-12.3"),
        ("accuracy", 0.1234, False, "(+12.3)"),
        ("accuracy", 0.1234, None, "+12.3?"),
        ("roc_auc", -0.0314, True, "-0.031"),
        ("roc_auc", 0.0314, False, "(+0.031)"),
    ],
)
def test_the_difference_to_random_is_in_brackets_where_it_is_not_supported(
    metric: str, difference: float, settled: bool | None, text: str
) -> None:
    row = a_row(metric=metric, is_best=True, vs_random={"difference": difference, "supported": settled})
    assert text in rendered([row])[-1].split()


@pytest.mark.parametrize(("value", "text"), [(None, "never"), (1, "1"), (1234, "1,234")])
def test_when_condensing_pays(value: int | None, text: str) -> None:
    assert rendered([a_row(break_even=value)])[-1].split()[-1] == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0154, "1.5%"),
        (0.9994, "99.9%"),
        (0.9996, "100%"),
        (1.0, "100%"),
        (3.5, "350%"),
    ],
)
def test_the_share_of_the_original(share: float, text: str) -> None:
    assert text in rendered([a_row(share=share)])[-1].split()


def test_roc_auc_is_a_fraction() -> None:
    lines = rendered([a_row(metric="roc_auc")])
    assert lines[0].strip() == "ogbg-molbbbp: ROC-AUC"
    assert "0.580 ± 0.011" in lines[-1] or "0.580 ± 0.010" in lines[-1]


@pytest.mark.parametrize("name", ["runs/[a]/x", "runs[/b]", "[bold]MUTAG", ":bug:"])
def test_names_are_shown_as_they_are(name: str) -> None:
    assert rendered([a_row(dataset=name)])[0].strip() == f"{name}: accuracy (%)"


# --- the files -------------------------------------------------------------------------------------------------------


def test_every_line_of_the_markdown_has_as_many_cells() -> None:
    text = comparison_sheet(some_rows()).markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 5 and all(line.endswith("|") for line in lines)
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert {len(line) for line in cells} == {11}
    assert all(set(cell.strip()) <= set("-:") and "--" in cell for cell in cells[1])
    shown = [line.split() for line in rendered(some_rows(), width=300) if "±" in line]
    assert [" ".join(line).replace("\\*", "*").split() for line in cells[2:]] == shown


def test_the_markdown_explains_its_marks_and_leaves_no_star_open() -> None:
    text = comparison_sheet(some_rows()).markdown()
    title, *_, legend = text.strip().splitlines()
    assert title.startswith("**ogbg-molbbbp") and "accuracy (%)" in title
    assert "best of its n" in legend and text.endswith("\n")
    assert not re.search(r"(?<!\\)\*", text.removeprefix(title))


def test_the_csv_reads_back_to_the_same_numbers() -> None:
    rows = some_rows(metric="roc_auc")
    read = list(csv.DictReader(io.StringIO(comparison_csv(rows))))
    assert list(read[0]) == list(CSV_COLUMNS)
    assert [(row["method"], row["graphs_per_class"]) for row in read] == [
        ("whole", ""),
        ("random", "1"),
        ("doscond-bi", "50"),
        ("kcenter", "50"),
        ("random", "50"),
    ]
    by_name = {(row["method"], str(row["graphs_per_class"] or "")): row for row in rows}
    for line in read:
        row = by_name[line["method"], line["graphs_per_class"]]
        for name in ("mean", "std", "condense_seconds", "evaluate_seconds", "share"):
            assert float(line[name]) == row[name]
        for name in ("runs", "condensations", "graphs", "bytes"):
            assert int(line[name]) == row[name]
        for name in ("best", "random"):
            stands = row.get(f"vs_{name}")
            assert line[f"difference_to_{name}"] == ("" if stands is None else repr(stands["difference"]))
            assert line[f"difference_to_{name}_supported"] == ("" if stands is None else str(stands["supported"]))
        assert line["is_best"] == str(row.get("is_best", ""))
        assert line["break_even"] == str(row.get("break_even", ""))
        assert (line["dataset"], line["metric"]) == ("ogbg-molbbbp", "roc_auc")


def test_never_is_told_from_not_known_in_the_csv() -> None:
    rows = [a_row(break_even=None), a_row()]
    assert [row["break_even"] for row in csv.DictReader(io.StringIO(comparison_csv(rows)))] == ["never", ""]


def test_a_name_with_commas_and_quotes_survives_the_csv() -> None:
    name = 'my, "own"\nset'
    (row,) = csv.DictReader(io.StringIO(comparison_csv([a_row(dataset=name)]), newline=""))
    assert row["dataset"] == name


def test_three_files_are_written_and_replaced(tmp_path: Path) -> None:
    result = {"dataset": "ogbg-molbbbp", "rows": some_rows()}
    for _ in range(2):
        files = write_comparison(tmp_path / "grid", result)
        assert [file.name for file in files] == ["table.md", "table.csv", "table.json"]
        assert sorted(files) == sorted((tmp_path / "grid").iterdir())
    markdown, comma, plain = (file.read_text(encoding="utf-8") for file in files)
    assert markdown == comparison_sheet(result["rows"]).markdown()
    assert comma == comparison_csv(result["rows"])
    assert json.loads(plain) == result
