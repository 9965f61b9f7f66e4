"""docs/results.md is what the stored JSON says, and says why a cell differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import results_page


def a_row(method: str, mean: float, **changes: Any) -> dict[str, Any]:
    values = {
        "dataset": "NCI1",
        "method": method,
        "graphs_per_class": 10,
        "metric": "accuracy",
        "mean": mean,
        "std": 0.01,
        "runs": 20,
        "condensations": 2,
        "condensation_means": [mean - 0.001, mean + 0.001],
        "condense_seconds": 1.0,
        "evaluate_seconds": 1.0,
        "share": 0.1,
    }
    return values | changes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results_page, "STORED", tmp_path / "stored")
    rows = [
        a_row("whole", 0.717, graphs_per_class=None, condensations=1, condensation_means=[0.717]),
        a_row("random", 0.5433),
        a_row("doscond", 0.70),
    ]
    result = {
        "experiment": "table1",
        "dataset": "NCI1",
        "command": "graphcondense reproduce table1 --dataset NCI1",
        "cuts": ["2 condensations of 5"],
        "versions": {"torch": "2"},
        "data": {"rows": rows},
    }
    (tmp_path / "table1-NCI1.json").write_text(json.dumps(result))
    (tmp_path / "other-thing.json").write_text('{"experiment": "unknown"}')
    results_page.take_over(tmp_path)
    return tmp_path


def test_only_results_of_experiments_are_taken_over(folder: Path) -> None:
    assert [path.name for path in (folder / "stored").iterdir()] == ["table1-NCI1.json"]


def test_the_page_has_figures_command_cuts_and_a_paragraph_on_the_cell_that_differs(folder: Path) -> None:
    page = results_page.render(folder)
    assert "| doscond | 10 | 58.02 ± 1.05 | 70.00 ± 1.00 | ahead |" in page
    assert "graphcondense reproduce table1 --dataset NCI1" in page
    assert "- NCI1: 2 condensations of 5." in page
    assert "**NCI1, doscond, 10 a class**: ours 70.00 ± 1.00, the paper's 58.02 ± 1.05." in page
    assert "**NCI1, random" not in page
    assert "| NCI1 | 10 | +15.7 / +3.7 |" in page
    assert (folder / "figures" / "table1.svg").is_file()


def test_the_page_in_the_docs_is_the_one_of_the_stored_figures(tmp_path: Path) -> None:
    assert (results_page.DOCS / "results.md").read_text(encoding="utf-8") == results_page.render(tmp_path)


def test_the_figures_in_the_docs_are_those_of_the_stored_results(tmp_path: Path) -> None:
    results_page.render(tmp_path)
    made = {path.name for path in (tmp_path / "figures").iterdir()}
    assert made == {path.name for path in (results_page.DOCS / "figures").glob("*.svg")}


def test_rows_that_a_plain_file_lacks_come_from_the_others(folder: Path) -> None:
    rows = [a_row("random", 0.1), a_row("herding", 0.55)]
    more = {"command": "graphcondense reproduce another", "cuts": ["1 condensation of 5"], "data": {"rows": rows}}
    result = json.loads((folder / "table1-NCI1.json").read_text())
    (folder / "stored" / "table1-NCI1-coresets.json").write_text(json.dumps(result | more))
    page = results_page.render(folder)
    assert "| random | 10 | 54.33 ± 3.14 | 54.33 ± 1.00 |" in page  # of the plain file, as before
    assert page.count("| herding | 10 | 57.11 ± 0.56 | 55.00 ± 1.00 |") == 1
    assert page.index("graphcondense reproduce table1 --dataset NCI1") < page.index("graphcondense reproduce another")
    assert "- NCI1: 2 condensations of 5." in page and "- NCI1 (herding): 1 condensation of 5." in page


def test_trials_stand_beside_table_1_s_rows_of_the_same_dataset(folder: Path) -> None:
    rows = [a_row("random-soft", 0.62), a_row("pursuit", 0.64)]
    result = json.loads((folder / "table1-NCI1.json").read_text()) | {"experiment": "beyond", "data": {"rows": rows}}
    (folder / "beyond-NCI1.json").write_text(json.dumps(result))
    (folder / "beyond-DD.json").write_text(json.dumps(result | {"dataset": "DD"}))
    results_page.take_over(folder)
    page = results_page.render(folder)
    part = page[page.index("## Past the paper") : page.index("## Table 1 on repeated")]
    assert part.count("| doscond | 10 | 58.02 ± 1.05 | 70.00 ± 1.00 | 2 x 10 |") == 1  # of NCI1 alone
    assert part.count("| pursuit | 10 |") == 2
    assert "| random |" not in part


def test_sizes_that_a_plain_file_lacks_come_from_the_others_with_their_other_networks(folder: Path) -> None:
    def of_size(size: int, mean: float) -> dict[str, Any]:
        network = {"metric": "accuracy", "graphs_per_class": size, "mean": mean - 0.1, "std": 0.01, "runs": 10}
        names = ("GIN", "GraphSAGE", "GCN, 512 units, rate 0.003")
        networks = [network | {"network": name} for name in names]
        return {"rows": [a_row("pursuit", mean, graphs_per_class=size)], "networks": networks}

    older = {key: of_size(1, 0.5)[key] + of_size(10, 0.6)[key] for key in ("rows", "networks")}
    result = json.loads((folder / "table1-NCI1.json").read_text()) | {"experiment": "beyond"}
    (folder / "beyond-NCI1.json").write_text(json.dumps(result | {"data": of_size(1, 0.55)}))
    (folder / "beyond-NCI1-before.json").write_text(json.dumps(result | {"data": older, "cuts": ["one of two"]}))
    results_page.take_over(folder)
    page = results_page.render(folder)
    assert (
        "| NCI1 | 1 | 55.00 ± 1.00 | 45.00 ± 1.00 |" in page and "| NCI1 | 10 | 60.00 ± 1.00 | 50.00 ± 1.00 |" in page
    )
    assert page.count("| pursuit | 1 |") == 1 and "- NCI1 (pursuit at 10): one of two." in page
