from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, WouldOverwriteError
from graphcondense.evaluation import evaluate
from graphcondense.models import Network, NetworkConfig
from graphcondense.presets import Preset
from graphcondense.runs import grid
from graphcondense.runs.folder import locked
from graphcondense.runs.grid import Cell, Row, plan, run_grid, table_rows
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import FolderStore, Recipe, Store, TrainedNetworks, store, train
from tests.made_up import toy_task

SMALL = Preset(
    "default",
    NetworkConfig(hidden=8, layers=2),
    {"iterations": 2, "real_batch": 8, "pad": False, "nodes": 8},
    Recipe(epochs=3),
)


@pytest.fixture(scope="module")
def task() -> GraphTask:
    return toy_task(60)


ABOUT = {".lock", "settings.json", "environment.json"}


def cell_files(folder: Path) -> list[Path]:
    """The finished cells of a grid's folder."""
    return [file for file in folder.glob("*.json") if file.name not in ABOUT]


def some_cells(**changes: Any) -> list[Cell]:
    values: dict[str, Any] = {
        "methods": ["random", "doscond"],
        "sizes": [1, 2],
        "condense_seeds": 1,
        "eval_seeds": 2,
    }
    return plan(SMALL, **(values | changes))


def without_times(rows: list[Row]) -> list[Row]:
    plain = json.loads(json.dumps(rows))
    for row in plain:
        del row["condense_seconds"], row["evaluation"]["seconds"], row["threads"]
    return plain


# --- the plan --------------------------------------------------------------------------------------------------------


def test_a_plan_has_a_cell_for_every_method_size_and_seed_and_one_for_the_whole_set() -> None:
    cells = plan(SMALL, ["whole", "random", "doscond"], [1, 10, 50], condense_seeds=5, eval_seeds=10)
    assert len(cells) == 1 + 2 * 3 * 5
    assert len({cell.stem for cell in cells}) == len(cells)
    assert [cell.stem for cell in cells][:3] == ["whole-all-0", "random-1-0", "random-1-1"]
    assert {cell.method.seed for cell in cells} == set(range(5))
    assert {cell.eval_seeds for cell in cells} == {10}
    assert [cell.size for cell in cells][:2] == [None, 1]


def test_another_judge_has_files_of_its_own() -> None:
    (cell,) = plan(SMALL, ["random"], [1], 1, 1, model="gin")
    assert cell.stem == "random-1-0-gin"


def test_settings_go_to_the_methods_that_have_them() -> None:
    cells = some_cells(settings={"iterations": 9})
    assert {getattr(cell.method, "iterations", None) for cell in cells} == {None, 9}


def test_dcg_gets_no_structure_rate_where_others_do() -> None:
    cells = some_cells(methods=["dcg", "doscond"], sizes=[1], settings={"structure_rate": 0.5})
    assert [getattr(cell.method, "structure_rate", None) for cell in cells] == [0, 0.5]
    with pytest.raises(InputError, match="unknown setting 'structure_rate'"):
        some_cells(methods=["dcg", "random"], settings={"structure_rate": 0.5})


def test_a_setting_that_no_method_has_is_an_error() -> None:
    with pytest.raises(InputError, match="feature_ratee"):
        some_cells(settings={"feature_ratee": 1})


@pytest.mark.parametrize("name", ["seed", "graphs_per_class"])
def test_a_setting_that_the_grid_itself_decides_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match=name):
        some_cells(settings={name: 1})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": []}, "at least one method"),
        ({"sizes": []}, "at least one method and one number"),
        ({"methods": ["randm"]}, r"unknown method 'randm': did you mean 'random'\?"),
        ({"sizes": [1, 0]}, "graphs_per_class=0"),
        ({"condense_seeds": 0}, "condense_seeds=0"),
        ({"eval_seeds": -1}, "eval_seeds=-1"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        some_cells(**changes)


# --- running ---------------------------------------------------------------------------------------------------------


def test_rows_are_what_condensing_and_judging_by_hand_gives(task: GraphTask, tmp_path: Path) -> None:
    cells = plan(SMALL, ["whole", "doscond"], [2], 1, 2)
    whole, row = run_grid(cells, task, SMALL, folder=tmp_path)
    files = sorted(file.name for file in tmp_path.iterdir() if file.name not in ABOUT)
    assert files == ["doscond-2-0.json", "doscond-2-0.safetensors", "whole-all-0.json"]
    assert (whole["graphs"], whole["graphs_per_class"]) == (len(task.train), None)
    assert (row["dataset"], row["method"], row["graphs_per_class"], row["seed"]) == ("toy", "doscond", 2, 0)
    assert json.loads((tmp_path / "doscond-2-0.json").read_text()) == row

    saved = CondensedDataset.load(tmp_path / "doscond-2-0.safetensors")
    assert row["bytes"] == (tmp_path / "doscond-2-0.safetensors").stat().st_size
    assert row["info"] == saved.info
    assert row["evaluation"]["per_seed"] == list(evaluate(saved, task, seeds=2).per_seed)
    assert whole["evaluation"]["per_seed"] == list(
        evaluate(task.train, task, seeds=2, protocol=SMALL.protocol).per_seed
    )


def test_another_model_judges_when_asked(task: GraphTask) -> None:
    own, other = (run_grid(plan(SMALL, ["random"], [3], 1, 3, model=m), task, SMALL)[0] for m in (None, "mlp"))
    assert other["model"] == "mlp"
    assert own["evaluation"]["per_seed"] != other["evaluation"]["per_seed"]


def test_two_processes_give_the_rows_of_one(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells(methods=["whole", "random", "doscond"])
    alone = run_grid(cells, task, SMALL, folder=tmp_path / "1")
    together = run_grid(cells, task, SMALL, folder=tmp_path / "2", jobs=2)
    assert without_times(alone) == without_times(together)
    for file in (tmp_path / "1").glob("*.safetensors"):
        assert file.read_bytes() == (tmp_path / "2" / file.name).read_bytes()


def test_each_network_of_the_whole_set_is_trained_once(task: GraphTask, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[NetworkConfig, list[int]]] = []

    def counted(network: Network, graphs: Any, val: Any, seeds: Sequence[int], *rest: Any) -> TrainedNetworks:
        trained.append((network.config, list(seeds)))
        return train(network, graphs, val, seeds, *rest)

    monkeypatch.setattr(store, "train", counted)
    kept = Store()
    cells = plan(SMALL, ["herding", "kcenter", "whole"], [1, 2], condense_seeds=2, eval_seeds=3)
    run_grid(cells, task, SMALL, store=kept)
    assert trained == [(SMALL.network, [0, 1, 2])]
    # Another judge of the whole set needs networks of its own, the coresets do not.
    run_grid(plan(SMALL, ["whole", "herding"], [1], 3, 2, model="mlp"), task, SMALL, store=kept)
    assert trained[1:] == [(replace(SMALL.network, kind="mlp"), [0, 1])]
    run_grid(plan(SMALL, ["random", "doscond"], [1], 1, 1), task, SMALL, store=kept)
    assert len(trained) == 2


def test_the_whole_sets_row_and_the_coresets_are_those_without_a_store(task: GraphTask) -> None:
    kept = Store()
    cells = plan(SMALL, ["whole", "herding", "kcenter"], [2], condense_seeds=2, eval_seeds=3)
    first, again = (run_grid(cells, task, SMALL, store=kept) for _ in range(2))
    assert without_times(first) == without_times(again)
    expected = evaluate(task.train, task, seeds=3, protocol=SMALL.protocol)
    assert first[0]["evaluation"]["per_seed"] == list(expected.per_seed)
    assert first[0]["evaluation"]["val_per_seed"] == list(expected.val_per_seed)
    for cell, row in zip(cells[1:], first[1:], strict=True):
        condensed = replace(cell.method.condense(task, store=Store()), info=row["info"])
        assert row["evaluation"]["per_seed"] == list(evaluate(condensed, task, seeds=3).per_seed)


def test_the_time_of_networks_that_were_trained_before_is_counted_in(
    task: GraphTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(0, 3000)  # each training takes 3,000 seconds
    monkeypatch.setattr(store, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    cells = plan(SMALL, ["whole", "random", "herding"], [1], condense_seeds=1, eval_seeds=3)
    whole, random, herding = run_grid(cells, task, SMALL)
    assert 3000 <= whole["evaluation"]["seconds"] < 3100
    assert 1000 <= herding["condense_seconds"] < 1100  # one of the three
    assert whole["condense_seconds"] < 100 and random["condense_seconds"] < 100
    assert random["evaluation"]["seconds"] < 100 and herding["evaluation"]["seconds"] < 100


def test_two_processes_train_each_network_of_the_whole_set_once_and_give_the_rows_of_one(
    task: GraphTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noted(FolderStore):
        """Notes what it keeps, in a file, for it works in other processes."""

        def _keep(self, key: str, entry: Any) -> None:
            super()._keep(key, entry)
            with self.folder.with_suffix(".txt").open("a") as notes:
                notes.write(f"{key}\n")

    monkeypatch.setattr(grid.os, "cpu_count", lambda: 2)  # one thread a process
    cells = plan(SMALL, ["whole", "herding", "kcenter"], [1, 2], condense_seeds=2, eval_seeds=3)
    alone = run_grid(cells, task, SMALL)
    together = run_grid(cells, task, SMALL, jobs=2, store=Noted(tmp_path / "trained"))
    assert without_times(alone) == without_times(together)
    assert {row["threads"] for row in together} == {1}
    kept = (tmp_path / "trained.txt").read_text().split()
    assert len(kept) == len(set(kept)) == 3
    assert sorted(f"{key}.safetensors" for key in kept) == sorted(p.name for p in (tmp_path / "trained").iterdir())


def test_an_error_in_a_process_is_the_users_to_mend(task: GraphTask) -> None:
    with pytest.raises(InputError, match=r"unknown model 'gim': did you mean 'gin'\?"):
        run_grid(plan(SMALL, ["random"], [1], 2, 1, model="gim"), task, SMALL, jobs=2)


def test_cells_that_the_task_cannot_fill_are_found_out_before_any_work(task: GraphTask, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="graphs_per_class=1000 is more than"):
        run_grid(plan(SMALL, ["random"], [1, 1000], 1, 1), task, SMALL, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_cells_and_the_steps_of_each(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells(methods=["doscond"])
    outer: list[tuple[int, int]] = []
    inner: list[tuple[int, int]] = []
    run_grid(cells[:1], task, SMALL, folder=tmp_path)
    run_grid(
        cells,
        task,
        SMALL,
        folder=tmp_path,
        resume=True,
        advance=lambda done, total: outer.append((done, total)),
        advance_cell=lambda done, total: inner.append((done, total)),
    )
    assert outer == [(1, 2), (2, 2)]
    assert inner == [(1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]  # 2 iterations, then 3 epochs


def test_what_there_is_so_far_is_shown_in_the_order_of_the_cells(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells(methods=["random"], sizes=[1, 2, 3])
    run_grid(cells[2:], task, SMALL, folder=tmp_path)
    shown: list[list[int]] = []
    run_grid(
        cells,
        task,
        SMALL,
        folder=tmp_path,
        resume=True,
        show=lambda rows: shown.append([row["graphs_per_class"] for row in rows]),
    )
    assert shown == [[3], [1, 3], [1, 2, 3]]


@pytest.mark.parametrize("jobs", [0, -1, True])
def test_jobs_must_be_a_count(task: GraphTask, jobs: int) -> None:
    with pytest.raises(InputError, match="jobs="):
        run_grid(some_cells(), task, SMALL, jobs=jobs)


# --- stopping and continuing -----------------------------------------------------------------------------------------


def test_finished_cells_are_read_and_not_run_again(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells()
    run_grid(cells[:2], task, SMALL, folder=tmp_path)
    file = tmp_path / f"{cells[0].stem}.json"
    doctored = json.loads(file.read_text())
    doctored["evaluation"]["per_seed"] = [0.125, 0.25]
    file.write_text(json.dumps(doctored))
    before = file.stat().st_mtime_ns
    rows = run_grid(cells, task, SMALL, folder=tmp_path, resume=True)
    assert rows[0] == doctored
    assert file.stat().st_mtime_ns == before
    assert [row["method"] for row in rows] == ["random", "random", "doscond", "doscond"]
    assert len(cell_files(tmp_path)) == 4


def test_what_was_resumed_is_what_would_have_been_run(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells()
    through = run_grid(cells, task, SMALL)
    run_grid(cells[:1], task, SMALL, folder=tmp_path)
    run_grid(cells[:3], task, SMALL, folder=tmp_path, resume=True)
    assert without_times(run_grid(cells, task, SMALL, folder=tmp_path, resume=True)) == without_times(through)


MIXED = {"methods": ["whole", "random", "herding", "doscond"], "condense_seeds": 2, "sizes": [1]}


def timeless(rows: list[Row]) -> list[Row]:
    times = ("condense_seconds", "evaluate_seconds", "break_even")
    return [{key: value for key, value in row.items() if key not in times} for row in table_rows(rows)]


@pytest.mark.parametrize("where", ["run_cell", "condense_with", "evaluate", "write_json"])
@pytest.mark.parametrize("finished", range(7))
def test_an_interrupt_costs_the_running_cell_alone(
    task: GraphTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int, where: str
) -> None:
    cells = some_cells(**MIXED)
    through = run_grid(cells, task, SMALL)
    work, calls = getattr(grid, where), count()

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if next(calls) == finished:
            raise KeyboardInterrupt
        return work(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(grid, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_grid(cells, task, SMALL, folder=tmp_path)
    done = {file: file.read_bytes() for file in cell_files(tmp_path)}
    assert len(done) == finished
    resumed = run_grid(cells, task, SMALL, folder=tmp_path, resume=True)
    assert all(file.read_bytes() == content for file, content in done.items())
    assert without_times(resumed) == without_times(through)
    assert timeless(resumed) == timeless(through)
    assert len(cell_files(tmp_path)) == len(cells) == 7


def test_an_interrupt_while_the_whole_sets_networks_are_trained_leaves_nothing_to_mend(
    task: GraphTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = some_cells(**MIXED)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_grid(cells, task, SMALL, folder=tmp_path / "grid", store=FolderStore(tmp_path / "trained"))
    assert {file.name for file in (tmp_path / "grid").iterdir()} == ABOUT
    rows = run_grid(cells, task, SMALL, folder=tmp_path / "grid", store=FolderStore(tmp_path / "trained"))
    assert without_times(rows) == without_times(run_grid(cells, task, SMALL))


def test_finished_cells_are_neither_taken_nor_replaced_unless_it_is_said(task: GraphTask, tmp_path: Path) -> None:
    cells = some_cells(methods=["random"])
    run_grid(cells[:1], task, SMALL, folder=tmp_path)
    file = tmp_path / f"{cells[0].stem}.json"
    file.write_text("mine")
    with pytest.raises(WouldOverwriteError, match=r"has 1 of these 2 cells: continue with --resume.*--force"):
        run_grid(cells, task, SMALL, folder=tmp_path)
    assert file.read_text() == "mine"
    assert not (tmp_path / f"{cells[1].stem}.json").exists()
    rows = run_grid(cells, task, SMALL, folder=tmp_path, force=True)
    assert json.loads(file.read_text()) == rows[0]


def longer(preset: Preset) -> Preset:
    return replace(preset, recipe=replace(preset.recipe, epochs=preset.recipe.epochs + 1))


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("settings", "iterations=2, not 3"),
        ("seeds", "eval_seeds=2, not 3"),
        ("dataset", "dataset='toy', not 'other'"),
        ("recipe", "epochs="),
    ],
)
def test_cells_of_other_settings_are_refused(task: GraphTask, tmp_path: Path, what: str, named: str) -> None:
    run_grid(some_cells(sizes=[1]), task, SMALL, folder=tmp_path)
    changes: dict[str, dict[str, Any]] = {"settings": {"settings": {"iterations": 3}}, "seeds": {"eval_seeds": 3}}
    cells = some_cells(sizes=[1], **changes.get(what, {}))
    other_task = replace(task, name="other") if what == "dataset" else task
    preset = longer(SMALL) if what == "recipe" else SMALL
    with pytest.raises(InputError, match=rf"is of a run with {named}.*--force"):
        run_grid(cells, other_task, preset, folder=tmp_path, resume=True)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "7", "null", "{}", '{"dataset": "toy"}', '{"dataset": "toy", "info": 1}']
)
def test_a_damaged_cell_is_named(task: GraphTask, tmp_path: Path, content: str) -> None:
    cells = some_cells(methods=["random"], sizes=[1])
    file = tmp_path / f"{cells[0].stem}.json"
    file.write_text(content)
    with pytest.raises(FileFormatError, match=r"random-1-0\.json is damaged: remove it, and --resume makes it anew"):
        run_grid(cells, task, SMALL, folder=tmp_path, resume=True)
    assert file.read_text() == content


@pytest.mark.parametrize("field", ["bytes", "graphs", "condense_seconds", "method", "info"])
def test_a_cell_that_lacks_what_the_table_needs_is_damaged(task: GraphTask, tmp_path: Path, field: str) -> None:
    cells = some_cells(methods=["random"], sizes=[1])
    run_grid(cells, task, SMALL, folder=tmp_path)
    file = tmp_path / f"{cells[0].stem}.json"
    row = json.loads(file.read_text())
    del row[field]
    file.write_text(json.dumps(row))
    with pytest.raises(FileFormatError, match="is damaged"):
        table_rows(run_grid(cells, task, SMALL, folder=tmp_path, resume=True))


@pytest.mark.parametrize(
    "original",
    [None, "many", 0],
)
def test_a_cell_that_does_not_know_the_size_of_the_original_is_damaged(
    task: GraphTask, tmp_path: Path, original: Any
) -> None:
    cells = some_cells(methods=["random"], sizes=[1])
    run_grid(cells, task, SMALL, folder=tmp_path)
    file = tmp_path / f"{cells[0].stem}.json"
    row = json.loads(file.read_text())
    row["info"]["original_bytes"] = original
    file.write_text(json.dumps(row))
    with pytest.raises(FileFormatError, match="is damaged"):
        run_grid(cells, task, SMALL, folder=tmp_path, resume=True)


def test_a_folder_that_cannot_be_one_is_found_out_before_any_work(
    task: GraphTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    worked: list[Cell] = []
    run = grid.run_cell
    monkeypatch.setattr(grid, "run_cell", lambda cell, *rest: worked.append(cell) or run(cell, *rest))
    with pytest.raises(GraphcondenseError, match="file"):
        run_grid(some_cells(), task, SMALL, folder=tmp_path / "file")
    assert worked == []


# --- the table -------------------------------------------------------------------------------------------------------


def made_up_row(method: str, size: int | None, seed: int, scores: list[float], seconds: float, count: int) -> Row:
    return {
        "dataset": "toy",
        "method": method,
        "graphs_per_class": size,
        "seed": seed,
        "graphs": 4,
        "bytes": count,
        "condense_seconds": seconds,
        "evaluation": {"metric": "accuracy", "per_seed": scores, "seconds": 6.0},
        "info": {"original_bytes": 10_000},
    }


def test_the_table_pools_all_trainings_of_a_method_and_size() -> None:
    rows = [
        made_up_row("whole", None, 0, [1.0, 1.0], 0, 9000),
        made_up_row("random", 2, 0, [0.5, 0.7], 1, 100),
        made_up_row("random", 2, 1, [0.6, 0.2], 3, 201),
        made_up_row("random", 5, 0, [0.9], 1, 300),
    ]
    whole, two, five = table_rows(rows)
    assert two == {
        "dataset": "toy",
        "method": "random",
        "graphs_per_class": 2,
        "metric": "accuracy",
        "mean": pytest.approx(0.5),
        "std": pytest.approx(np.sqrt((0 + 0.04 + 0.01 + 0.09) / 4)),
        "runs": 4,
        "condensations": 2,
        "condensation_means": pytest.approx([0.6, 0.4]),
        "condense_seconds": 2.0,
        "evaluate_seconds": 3.0,  # 2 x 6 seconds for 4 trainings
        "graphs": 4,
        "bytes": 150,
        "share": pytest.approx(0.01505),
        "is_best": True,
        "break_even": None,  # training takes no less than on the whole set: 3 seconds
    }
    assert (whole["mean"], whole["std"], whole["runs"], whole["graphs_per_class"]) == (1, 0, 2, None)
    assert (five["graphs_per_class"], five["runs"], five["condensations"]) == (5, 1, 1)
    assert (whole["share"], whole["condensation_means"]) == (1.0, [1.0])


def test_the_table_says_how_rows_stand_against_each_other() -> None:
    rows = [
        made_up_row("random", 2, 0, [0.5, 0.52], 0, 100),
        made_up_row("doscond", 2, 0, [0.7, 0.72], 40, 100),
        made_up_row("random", 2, 1, [0.5, 0.5], 0, 100),
        made_up_row("doscond", 2, 1, [0.7, 0.7], 50, 100),
        made_up_row("whole", None, 0, [0.9], 0, 10_000),
    ]
    random, doscond, _ = table_rows(rows)
    # Two condensations of two trainings each: 0.51 and 0.50 against 0.71 and 0.70.
    assert doscond["vs_random"] == {"difference": pytest.approx(0.2), "supported": True}
    assert random["vs_best"] == {"difference": pytest.approx(-0.2), "supported": True}
    assert (random["is_best"], doscond["is_best"]) == (False, True)
    assert (random["break_even"], doscond["break_even"]) == (1, 15)  # 45 seconds, 3 instead of 6 for each training


def test_a_folder_says_what_was_asked_for_and_with_what(task: GraphTask, tmp_path: Path) -> None:
    cells = plan(SMALL, ["random"], [1], condense_seeds=2, eval_seeds=1)
    run_grid(cells, task, SMALL, folder=tmp_path)
    asked = json.loads((tmp_path / "settings.json").read_text())
    assert [cell["settings"]["seed"] for cell in asked["cells"]] == [0, 1]
    assert {"versions", "threads", "command"} <= set(json.loads((tmp_path / "environment.json").read_text()))


def test_a_folder_in_use_is_left_alone(task: GraphTask, tmp_path: Path) -> None:
    cells = plan(SMALL, ["random"], [1], condense_seeds=1, eval_seeds=1)
    with locked(tmp_path), pytest.raises(GraphcondenseError, match=r"is in use by another process: wait for it"):
        run_grid(cells, task, SMALL, folder=tmp_path)
    assert cell_files(tmp_path) == []
