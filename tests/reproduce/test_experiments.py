"""Every experiment runs on something small, shows the paper's figures beside ours, and says what it cut."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphcondense import datasets
from graphcondense.datasets import known
from graphcondense.errors import InputError
from graphcondense.evaluation import evaluate
from graphcondense.methods import METHODS
from graphcondense.presets import Preset
from graphcondense.reproduce import EXPERIMENTS, FULL, Bench, Effort, paper
from graphcondense.reproduce.experiment import paper_sizes
from graphcondense.reproduce.figures import BiLevel, Sparsity
from graphcondense.reproduce.table1 import METHODS as COLUMNS
from graphcondense.reproduce.table1 import published, verdict
from graphcondense.runs.grid import Cell, run_grid, table_rows
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Store
from tests.made_up import toy_nodes, toy_task

TINY = Effort(condense_seeds=2, eval_seeds=2, iterations=3, epochs=3, validate_every=2)


def a_bench(
    folder: Path, monkeypatch: pytest.MonkeyPatch, effort: Effort = TINY, kind: type[GraphTask | NodeTask] = GraphTask
) -> Bench:
    """A bench whose only dataset is a toy under whichever name."""
    toy = toy_nodes() if kind is NodeTask else toy_task(120)
    monkeypatch.setattr(datasets, "load", lambda name, data_root=None: replace(toy, name=name))

    def run(cells: list[Cell], task: GraphTask | NodeTask, preset: Preset, part: Path) -> list[dict[str, Any]]:
        return table_rows(run_grid(cells, task, preset, folder=part, resume=True))

    return Bench(effort, folder, run, Store())


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if "seconds" not in k and k != "break_even"}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_measures_writes_shows_and_draws(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = EXPERIMENTS[name]
    monkeypatch.setattr(BiLevel, "per_class", {"toy": 2})
    monkeypatch.setattr(Sparsity, "per_class", 2)
    monkeypatch.setattr(type(experiment), "graphs", 4, raising=False)
    bench = a_bench(tmp_path, monkeypatch, kind=experiment.kind)
    result = experiment.run(bench, "toy", ["graphcondense", "reproduce", name])
    assert json.loads((tmp_path / f"{name}-toy.json").read_text()) == result
    assert result["command"] == f"graphcondense reproduce {name}" and not result["full"]
    epochs = 600 if experiment.kind is NodeTask else 500
    assert {"3 iterations of 1,000", f"3 epochs of {epochs}"} <= set(result["cuts"])
    assert result["versions"]["torch"]
    for sheet in experiment.sheets([result]):
        assert sheet.rows and all(len(row) == len(sheet.header) for row in sheet.rows)
        assert sheet.markdown().count("\n| ") == len(sheet.rows) + 2
    svg, png = experiment.draw([result], tmp_path)
    assert svg.read_bytes().startswith(b"<?xml") and png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_dataset_of_the_other_task_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = GraphTask if EXPERIMENTS[name].kind is NodeTask else NodeTask
    with pytest.raises(InputError, match="--dataset toy does not fit: this experiment is for datasets of"):
        EXPERIMENTS[name].run(a_bench(tmp_path, monkeypatch, kind=other), "toy", [])


@pytest.mark.parametrize("name", ["table1", "fig-sparsity", "fig-size", "table1-splits"])
def test_a_second_run_continues_and_finds_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = a_bench(tmp_path, monkeypatch)
    monkeypatch.setattr(Sparsity, "per_class", 2)
    first = EXPERIMENTS[name].run(bench, "toy", [])
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    removed = next(iter(sorted(made)))
    removed.with_suffix(".json").unlink()
    again = EXPERIMENTS[name].run(bench, "toy", [])
    assert without_times(again) == without_times(first)
    assert [path for path in made if path.stat().st_mtime_ns != made[path]] == [removed]


def test_the_norm_regulariser_is_ablated_where_the_paper_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effort = replace(TINY, condense_seeds=1, sizes=(1,))
    result = EXPERIMENTS["table1"].run(a_bench(tmp_path, monkeypatch, effort), "ogbg-molhiv", [])
    methods = [row["method"] for row in result["data"]["rows"]]
    assert methods == ["whole", *COLUMNS, "doscond-no-norm"]
    cells = sorted((tmp_path / "table1").glob("*/doscond-1-0.json"))
    weights = [json.loads(path.read_text())["info"]["settings"]["norm_weight"] for path in cells]
    assert [path.parent.name for path in cells] == ["ogbg-molhiv", "ogbg-molhiv-no-norm"]
    assert weights[0] > 0 and weights[1] == 0


def test_other_sizes_than_the_paper_are_run_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effort = replace(TINY, condense_seeds=1, sizes=(2, 3), methods=("random",))
    result = EXPERIMENTS["table1"].run(a_bench(tmp_path, monkeypatch, effort), "toy", [])
    assert [row["graphs_per_class"] for row in result["data"]["rows"]] == [2, 3]
    assert result["cuts"][-1] == "only 2, 3 graphs per class"
    with pytest.raises(InputError, match="-n 2 does not apply: fig-terms has sizes of its own"):
        EXPERIMENTS["fig-terms"].run(a_bench(tmp_path, monkeypatch, replace(TINY, sizes=(2,))), "toy", [])
    with pytest.raises(InputError, match="graphs_per_class=0"):
        Effort(sizes=(1, 0))


def test_other_networks_are_trained_on_what_pursuit_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effort = replace(TINY, sizes=(1,), methods=("pursuit", "pursuit-hard"))
    beyond = EXPERIMENTS["beyond"]
    result = beyond.run(a_bench(tmp_path, monkeypatch, effort), "toy", [])
    assert [row["method"] for row in result["data"]["rows"]] == ["pursuit", "pursuit-hard"]
    hard = json.loads((tmp_path / "beyond/toy-hard/pursuit-1-0.json").read_text())
    assert hard["info"]["settings"]["labels"] == "own"
    networks = result["data"]["networks"]
    assert [row["network"] for row in networks][:2] == ["GIN", "GraphSAGE"] and networks[0]["runs"] == 4
    kept = sorted((tmp_path / "beyond/toy/networks").glob("*.json"))
    assert len(kept) == 2 * len(networks)
    expected = evaluate(
        CondensedDataset.load(tmp_path / "beyond/toy/pursuit-1-1.safetensors"), toy_task(120), seeds=2, model="gin"
    )
    assert json.loads((tmp_path / "beyond/toy/networks/pursuit-1-1-GIN.json").read_text())["per_seed"] == list(
        expected.per_seed
    )
    made = {path: path.stat().st_mtime_ns for path in kept}
    other = CondensedDataset.load(tmp_path / "beyond/toy/pursuit-1-1.safetensors")
    other.save(tmp_path / "beyond/toy/pursuit-1-0.safetensors", force=True)
    assert beyond.run(a_bench(tmp_path, monkeypatch, effort), "toy", [])["data"]["networks"] != networks
    anew = {path.name for path in kept if path.stat().st_mtime_ns != made[path]}
    assert anew == {path.name for path in kept if path.name.startswith("pursuit-1-0")}
    titles = [sheet.title for sheet in beyond.sheets([result])]
    assert titles == ["toy", "Other networks on the same graphs"]


def test_splits_differ_and_their_spread_is_that_of_all_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    result = EXPERIMENTS["table1-splits"].run(a_bench(tmp_path, monkeypatch), "toy", [])
    cells = [
        json.loads((tmp_path / f"table1-splits/toy/split-{seed}/random-1-0.json").read_text()) for seed in range(2)
    ]
    scores = np.array([cell["evaluation"]["per_seed"] for cell in cells])
    (row,) = (r for r in result["data"]["rows"] if r["method"] == "random" and r["graphs_per_class"] == 1)
    assert row["mean"] == pytest.approx(scores.mean()) and row["std"] == pytest.approx(scores.std())
    assert row["runs"] == 4 and row["condensation_means"] == pytest.approx(scores.mean(1).tolist())


def test_the_paper_s_table_is_complete() -> None:
    table = paper()["table1"]
    assert set(table) == {info.name for info in known() if info.task == "graph"} - {"digits"}
    for dataset, methods in table.items():
        for method in COLUMNS:
            assert len(methods[method]) == 3, (dataset, method)
            assert set(methods[method]) == set(methods["doscond"])
        best = max(COLUMNS, key=lambda method: methods[method][max(methods[method], key=int)][0])
        assert best == "doscond", "in the paper DosCond is ahead at the largest size of every dataset"
    assert set(COLUMNS) < set(METHODS)


def test_known_figures_of_the_paper() -> None:
    assert paper()["table1"]["NCI1"]["dcg"]["50"] == [52.17, 1.90]
    assert paper()["table1"]["amazon-ego"]["doscond"]["20"] == [67.71, 1.22]
    assert paper()["table2"]["CIFAR10"]["herding"]["50"] == 44.5
    assert paper_sizes("MUTAG") == [1, 10, 20] and paper_sizes("my own") == [1, 10]


@pytest.mark.parametrize(
    ("mean", "expected"), [(0.60, "ahead"), (0.5658, "ahead"), (0.563, "within"), (0.5562, "-2.0 sd")]
)
def test_the_verdict_counts_in_the_paper_s_standard_deviations(mean: float, expected: str) -> None:
    row = {"dataset": "NCI1", "method": "doscond", "graphs_per_class": 1, "metric": "accuracy", "mean": mean}
    assert verdict(row) == expected
    assert published(row) == pytest.approx((0.5658, 0.0048))
    assert published(row | {"dataset": "my own"}) is None and verdict(row | {"dataset": "my own"}) == ""


def test_the_full_effort_cuts_nothing_and_changes_no_setting() -> None:
    from graphcondense.presets import preset

    task = toy_task(40)
    assert FULL.cuts(task) == [] and FULL.preset(task) == preset("paper", task)


def test_a_wrong_effort_is_named() -> None:
    with pytest.raises(InputError, match="eval_seeds=0"):
        Effort(eval_seeds=0)


def test_every_experiment_has_datasets_that_are_known() -> None:
    names = {info.name for info in known()}
    for experiment in EXPERIMENTS.values():
        assert set(experiment.datasets) | set(experiment.quick_datasets) <= names
        assert experiment.quick != FULL
