from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from graphcondense.errors import FileFormatError, MissingDataError, WouldOverwriteError
from graphcondense.evaluation import Protocol
from graphcondense.methods import DosCond, RandomSelection
from graphcondense.models import NetworkConfig
from graphcondense.presets import Preset
from graphcondense.runs.checkpoint import difference
from graphcondense.runs.condense import condense_into, condense_with, find_condensed
from graphcondense.runs.folder import CONDENSED, check_folder
from graphcondense.synthetic import CondensedDataset
from graphcondense.training import Recipe
from tests.made_up import toy_task

SMALL = Preset("paper", NetworkConfig(hidden=8, layers=2), {}, Recipe(epochs=3))
METHOD = DosCond(graphs_per_class=2, seed=5, iterations=3, network=SMALL.network, real_batch=8, nodes=8, pad=True)


def test_the_run_folder_has_the_file_the_history_and_what_was_measured(tmp_path: Path) -> None:
    task = toy_task(40)
    condensed, result = condense_into(tmp_path / "run", METHOD, task, SMALL)
    names = [".lock", CONDENSED, "environment.json", "history.jsonl", "result.json", "settings.json"]
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == names
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == result

    loaded = CondensedDataset.load(tmp_path / "run" / CONDENSED)
    assert loaded.info == condensed.info
    assert result["file"] == str(tmp_path / "run" / CONDENSED)
    assert result["bytes"] == (tmp_path / "run" / CONDENSED).stat().st_size
    assert result["original_bytes"] > 0
    assert (result["dataset"], result["method"], result["preset"], result["seed"]) == ("toy", "doscond", "paper", 5)
    assert (result["graphs"], result["nodes"], result["iterations"]) == (4, 32, 3)
    assert result["settings"]["real_batch"] == 8
    assert result["seconds"] > 0

    lines = [json.loads(line) for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines()]
    assert [line.pop("iteration") for line in lines] == [1, 2, 3]
    assert all(line.pop("seconds") > 0 for line in lines)
    assert lines == condensed.history
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert (settings["dataset"], settings["method"], settings["seed"]) == ("toy", "doscond", 5)
    assert settings["settings"] == result["settings"]
    made_with = json.loads((tmp_path / "run" / "environment.json").read_text())
    assert {"versions", "threads", "device", "command"} <= set(made_with)
    assert loaded.info["last"] == lines[-1]


def test_the_result_says_how_it_is_meant_to_be_judged(tmp_path: Path) -> None:
    condensed, _ = condense_with(METHOD, toy_task(40), SMALL)
    loaded = CondensedDataset.load(condensed.save(tmp_path / "a.safetensors"))
    assert Protocol.from_dict(loaded.info["evaluation"]) == SMALL.protocol
    assert loaded.info["preset"] == "paper"


def test_the_same_seed_gives_the_same_file_and_another_one_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        condense_into(tmp_path / name, replace(METHOD, seed=seed), toy_task(40), SMALL)
    first, second, third = ((tmp_path / name / CONDENSED).read_bytes() for name in "abc")
    assert first == second != third


def test_a_method_without_iterations_has_an_empty_history(tmp_path: Path) -> None:
    _, result = condense_into(tmp_path, RandomSelection(graphs_per_class=1), toy_task(40), SMALL)
    assert result["iterations"] == 0
    assert (tmp_path / "history.jsonl").read_text() == ""


def test_a_folder_that_has_something_in_it_is_refused_unless_forced(tmp_path: Path) -> None:
    check_folder(tmp_path / "new", force=False)
    check_folder(tmp_path, force=False)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(WouldOverwriteError, match=r"is not empty.*--force"):
        check_folder(tmp_path, force=False)
    check_folder(tmp_path, force=True)
    for force in (False, True):
        with pytest.raises(WouldOverwriteError, match=r"mine\.txt is a file, not a folder"):
            check_folder(tmp_path / "mine.txt", force=force)


def test_a_condensed_file_is_found_by_its_folder_or_its_path(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=f"holds no {CONDENSED}"):
        find_condensed(tmp_path)
    (tmp_path / CONDENSED).write_text("")
    assert find_condensed(tmp_path) == find_condensed(tmp_path / CONDENSED) == tmp_path / CONDENSED
    (tmp_path / "graphs.csv").write_text("")
    with pytest.raises(FileFormatError, match=r"graphs\.csv is not a condensed file"):
        find_condensed(tmp_path / "graphs.csv")


def test_a_setting_that_a_former_version_did_not_have_counts_as_off() -> None:
    old, new = {"settings": {"seed": 0}}, {"settings": {"seed": 0, "in_proportion": False}}
    assert difference(old, new) is None
    assert difference(old, {"settings": {"seed": 0, "in_proportion": True}}) == ("in_proportion", None, True)
    assert difference(new, {"settings": {"seed": 1, "in_proportion": False}}) == ("seed", 0, 1)
