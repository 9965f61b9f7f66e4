from __future__ import annotations

import csv
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save as to_safetensors
from typer.testing import CliRunner

from graphcondense import cli
from graphcondense.cli import app
from graphcondense.evaluation import Protocol
from graphcondense.methods import METHODS
from graphcondense.methods.doscond import Condensation
from graphcondense.models import NetworkConfig
from graphcondense.presets import Preset, preset
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe
from tests.made_up import random_store

CONDENSE_KEYS = {"file", "seconds", "iterations", "graphs", "nodes", "edges", "bytes", "original_bytes"}
EVALUATE_KEYS = {"metric", "mean", "std", "per_seed", "seconds"}
ROW_KEYS = {
    "dataset",
    "method",
    "graphs_per_class",
    "metric",
    "mean",
    "std",
    "runs",
    "condense_seconds",
    "evaluate_seconds",
    "bytes",
    "share",
}


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test works in a folder of its own, and finds no dataset but the embedded one and its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHCONDENSE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GRAPHCONDENSE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets with a small network that is trained for 3 epochs and condenses for 2 iterations."""

    def find(name: str, task: GraphTask) -> Preset:
        chosen = preset(name, task)
        return replace(
            chosen,
            network=replace(chosen.network, hidden=8, layers=2),
            condense=chosen.condense | {"iterations": 2, "real_batch": 8},
            recipe=replace(chosen.recipe, epochs=3),
        )

    for command in ("condense", "compare", "quickstart"):
        monkeypatch.setattr(f"graphcondense.cli.{command}.find_preset", find)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """A TU folder with 40 paths of 2 to 4 nodes, classes 5 and 7; returns its path as a user would type it."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    edges, indicator, node_labels, graph_labels = [], [], [], []
    for graph in range(40):
        first, size = len(indicator) + 1, 2 + graph // 2 % 3
        for node in range(first, first + size - 1):
            edges += [f"{node}, {node + 1}", f"{node + 1}, {node}"]
        indicator += [graph + 1] * size
        node_labels += [graph % 2] + [2] * (size - 1)
        graph_labels.append(5 + 2 * (graph % 2))
    parts = {"A": edges, "graph_indicator": indicator, "node_labels": node_labels, "graph_labels": graph_labels}
    for part, lines in parts.items():
        (folder / f"TINY_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    return "./tiny"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments: object) -> dict[str, Any]:
    """The one JSON object that a command prints on standard output."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


def run_error(*arguments: object) -> str:
    """The one line of error that a command prints on standard error; notes about the dataset may come before."""
    result = run(*arguments)
    assert result.exit_code == 2, (result.exit_code, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    *notes, line = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert not any(note.startswith("error") for note in notes)
    return str(line.removeprefix("error: "))


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of the installed program's own entry point."""
    monkeypatch.setattr(sys, "argv", ["graphcondense", *arguments])
    with pytest.raises(SystemExit) as leave:
        cli.main()
    return int(leave.value.code or 0)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- the whole way ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_the_whole_way_on_a_folder_of_ones_own(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run_json("condense", tiny, "-n", 2, "--out", "run", "--seed", 3)
    assert set(made) >= CONDENSE_KEYS
    assert (made["dataset"], made["method"], made["seed"]) == ("TINY", "pursuit", 3)
    assert (made["graphs"], made["graphs_per_class"]) == (4, [2, 2])
    assert made["bytes"] == Path(made["file"]).stat().st_size
    assert made["original_bytes"] > 0

    # The file knows where its dataset is, from wherever it is judged.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    scores = run_json("evaluate", "../run", "--seeds", 3)
    assert set(scores) >= EVALUATE_KEYS
    assert scores["dataset"] == "TINY" and scores["metric"] == "accuracy"
    assert len(scores["per_seed"]) == 3
    assert scores["mean"] == pytest.approx(sum(scores["per_seed"]) / 3)
    by_file = run_json("evaluate", "../run/condensed.safetensors", "--seeds", 3, "--dataset", "../tiny")
    assert by_file["per_seed"] == scores["per_seed"]

    facts = run_json("inspect", "../run")
    assert (facts["graphs"], facts["nodes"], facts["edges"]) == (4, made["nodes"], made["edges"])
    assert facts["bytes"] == made["bytes"]
    assert facts["classes"] == ["5", "7"]
    assert facts["settings"]["seed"] == 3
    assert facts["source"] == str(tmp_path / "tiny")

    table = run_json(
        "compare", "../tiny", "-n", "1,2", "--methods", "whole,random,doscond", "--condense-seeds", 2, "--eval-seeds", 2
    )
    assert [(row["method"], row["graphs_per_class"], row["runs"]) for row in table["rows"]] == [
        ("whole", None, 2),
        ("random", 1, 4),
        ("random", 2, 4),
        ("doscond", 1, 4),
        ("doscond", 2, 4),
    ]
    assert all(set(row) >= ROW_KEYS for row in table["rows"])
    assert Path(table["folder"]) == Path("runs/compare-TINY-default")
    assert len(list(Path(table["folder"]).glob("*-*.json"))) == 9
    assert json.loads((Path(table["folder"]) / "table.json").read_text()) == table
    with (Path(table["folder"]) / "table.csv").open(newline="") as stream:
        assert {float(line["mean"]) for line in csv.DictReader(stream)} == {row["mean"] for row in table["rows"]}
    assert "**TINY" in (Path(table["folder"]) / "table.md").read_text()


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_file_bit_for_bit(tiny: str) -> None:
    files = [
        Path(run_json("condense", tiny, "-n", 2, "--seed", seed, "--out", name)["file"]).read_bytes()
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert files[0] == files[1] != files[2]


@pytest.mark.usefixtures("small")
def test_every_method_condenses_and_compares(tiny: str) -> None:
    for method in METHODS:
        made = run_json("condense", tiny, "-n", 2, "--method", method, "--out", method)
        assert made["method"] == method
    names = ",".join(METHODS)
    rows = run_json("compare", tiny, "-n", 2, "--methods", names, "--condense-seeds", 1, "--eval-seeds", 2)["rows"]
    assert [row["method"] for row in rows] == list(METHODS)
    best = max(row["mean"] for row in rows if row["method"] != "whole")
    assert all(row["is_best"] == (row["mean"] == best) for row in rows if row["method"] != "whole")
    assert all("break_even" in row for row in rows if row["method"] != "whole")


@pytest.mark.usefixtures("small")
def test_networks_of_the_whole_set_are_trained_once_for_all_commands(tiny: str, tmp_path: Path) -> None:
    run_json("condense", tiny, "-n", 2, "--method", "herding", "--seed", 1, "--out", "a")
    kept = snapshot(tmp_path / "cache" / "trained")
    assert len(kept) == 1
    run_json("condense", tiny, "-n", 3, "--method", "kcenter", "--seed", 1, "--out", "b")
    assert snapshot(tmp_path / "cache" / "trained") == kept
    run_json("compare", tiny, "-n", 1, "--methods", "whole,herding", "--condense-seeds", 1, "--eval-seeds", 3)
    after = snapshot(tmp_path / "cache" / "trained")
    assert len(after) == 3 and after.items() > kept.items()


@pytest.mark.usefixtures("small")
def test_networks_are_judged_side_by_side(tiny: str) -> None:
    run_json("condense", tiny, "-n", 2, "--method", "random", "--out", "run")
    scores = run_json("evaluate", "run", "--models", "gin, mlp,gin", "--seeds", 2)
    assert list(scores["models"]) == ["gin", "mlp"]
    assert scores["per_seed"] == scores["models"]["gin"]["per_seed"]
    own = run_json("evaluate", "run", "--seeds", 2)
    assert list(own["models"]) == ["gcn"]


@pytest.mark.usefixtures("small")
def test_options_reach_the_method(tiny: str) -> None:
    made = run_json(
        "condense", tiny, "-n", 1, "--out", "run", "--iterations", 3, "--real-batch", "all", "--model", "gin",
        "--graph-nodes", 5, "--preset", "paper", "--set", "feature_rate=0.5", "--set", "match=joint",
    )  # fmt: skip
    settings = made["settings"]
    assert (settings["iterations"], settings["real_batch"], settings["nodes"], settings["pad"]) == (3, "all", 5, True)
    assert (settings["feature_rate"], settings["match"], settings["network"]["kind"]) == (0.5, "joint", "gin")
    assert (made["preset"], made["nodes"]) == ("paper", 10)


@pytest.mark.usefixtures("small")
def test_the_embedded_dataset_is_used_where_none_is_named() -> None:
    made = run_json("condense", "-n", 1, "--method", "random")
    assert (made["dataset"], made["graphs"]) == ("digits", 10)
    assert Path(made["file"]) == Path("runs/digits-random-1-0/condensed.safetensors")


@pytest.mark.usefixtures("small")
def test_a_run_goes_out_to_every_form_and_comes_back(tiny: str) -> None:
    made = run_json("condense", tiny, "-n", 2, "--method", "random", "--out", "run")
    for form, target in (("pyg", "a.pt"), ("networkx", "a.json"), ("graphml", "ml"), ("csv", "tables")):
        told = run_json("export", "run", "--format", form, "--out", target)
        assert (told["format"], told["graphs"], told["nodes"]) == (form, 4, made["nodes"])
        assert told["bytes"] == sum(Path(file).stat().st_size for file in told["files"])
        assert run_json("import", target, "--out", f"{form}.safetensors")["bytes"] == made["bytes"]
        assert Path(f"{form}.safetensors").read_bytes() == Path("run/condensed.safetensors").read_bytes()
        assert "--force" in run_error("export", "run", "--format", form, "--out", target)
    assert "4 graphs" in run("export", "run", "--out", "b.pt").stdout
    assert "imported" in run("import", "b.pt", "--out", "b.safetensors").stdout
    assert "did you mean 'pyg'" in run_error("export", "run", "--format", "pygg", "--out", "c.pt")
    assert "is not there" in run_error("import", "nowhere", "--out", "c.safetensors")


@pytest.mark.usefixtures("small")
def test_features_are_snapped_and_judged_before_and_after(tiny: str) -> None:
    made = run_json("condense", tiny, "-n", 2, "--out", "run", "--snap")
    file = Path(made["snapped"]["file"])
    assert file == Path("run/snapped.safetensors") and file.stat().st_size == made["snapped"]["bytes"]
    told = run_json("snap", "run/condensed.safetensors", "--seeds", 2, "--force")
    assert told["bytes"] == made["snapped"]["bytes"] and told["bytes_before"] == made["bytes"]
    assert len(told["before"]["per_seed"]) == len(told["after"]["per_seed"]) == 2
    assert told["after"]["per_seed"] == run_json("evaluate", file, "--seeds", 2)["per_seed"]
    assert Path("run/condensed.scores.json").is_file() and Path("run/snapped.scores.json").is_file()
    assert "--force" in run_error("snap", "run")
    assert "after" in run("snap", "run", "--seeds", 1, "--force").stdout
    run_json("condense", tiny, "-n", 2, "--out", "run", "--force")
    assert not file.exists()
    assert "digits are not categories" in run_error("condense", "digits", "-n", 1, "--snap", "--out", "no")
    assert not Path("no").exists()


@pytest.mark.usefixtures("small")
def test_a_report_is_one_page(tiny: str, tmp_path: Path) -> None:
    run_json("condense", tiny, "-n", 2, "--out", "run", "--snap")
    told = run_json("report", "run", "--seeds", 2, "--random")
    page = Path(told["file"])
    assert page == Path("run/report.html") and page.stat().st_size == told["bytes"]
    assert "random instead" in page.read_text() and "nearest real" in page.read_text()
    assert "The score of the whole set: graphcondense compare" in page.read_text()
    assert (
        run_json("evaluate", "run", "--seeds", 2)["per_seed"]
        == json.loads(Path("run/condensed.scores.json").read_text())["scores"]["gcn"]["per_seed"]
    )
    assert "--force" in run_error("report", "run")
    run_json(
        "compare", tiny, "-n", 2, "--methods", "whole,random", "--condense-seeds", 1, "--eval-seeds", 1, "--out", "c"
    )
    assert "whole set</span>" in Path(run_json("report", "run", "--compare", "c", "--force")["file"]).read_text()
    assert "2 methods compared" in Path(run_json("report", "c")["file"]).read_text()
    assert "holds no comparison" in run_error("report", "run", "--compare", "run", "--force")
    assert "holds neither" in run_error("report", ".")
    (tmp_path / "tiny").rename(tmp_path / "gone")
    without = run("report", "run", "--out", "b.html")
    assert without.exit_code == 0 and "without the real data" in without.stderr
    assert "left out" in without.stderr and "b.html" in without.stdout


def test_datasets_says_what_is_at_hand(tmp_path: Path, tiny: str) -> None:
    before = run_json("datasets")
    assert before["data_root"] == str(tmp_path / "data")
    available = {row["name"]: row["available"] for row in before["datasets"]}
    assert available.pop("digits") is True
    graphs = {"MUTAG", "NCI1", "DD", "ogbg-molbace", "ogbg-molbbbp", "ogbg-molhiv", "CIFAR10", "amazon-ego"}
    nodes = {"Cora", "Citeseer", "Pubmed", "ogbn-arxiv", "Flickr", "Photo", "Computers"}
    assert graphs | nodes == set(available)
    assert not any(available.values())
    (mutag,) = (row for row in before["datasets"] if row["name"] == "MUTAG")
    assert mutag["missing"] and all(path.startswith(str(tmp_path / "data")) for path in mutag["missing"])

    for path in mutag["missing"]:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("")
    after = {row["name"]: row for row in run_json("datasets")["datasets"]}
    assert after["MUTAG"]["available"] is True and after["MUTAG"]["missing"] == []
    assert after["NCI1"]["available"] is False
    elsewhere = {row["name"]: row for row in run_json("datasets", "--data-root", tmp_path / "other")["datasets"]}
    assert elsewhere["MUTAG"]["available"] is False


@pytest.mark.usefixtures("small")
def test_quickstart_needs_nothing_and_says_what_to_try_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.cli.quickstart.QUICK_RECIPE", Recipe(epochs=1))
    monkeypatch.setattr("graphcondense.cli.quickstart.QUICK_SETTINGS", {"iterations": 2, "real_batch": 2})
    result = run("quickstart")
    assert result.exit_code == 0
    assert "What to try next" in result.stdout
    for line in result.stdout.splitlines():
        if line.startswith("  graphcondense inspect"):
            folder = Path(line.split()[2])
            assert len(CondensedDataset.load(folder / "condensed.safetensors")) == 100
            break
    else:
        pytest.fail("no file named to inspect")
    rows = run_json("quickstart")["rows"]
    assert [row["method"] for row in rows] == ["whole", "random", "doscond"]
    assert all(set(row) >= ROW_KEYS for row in rows)


# --- for people to read ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_what_people_read_fits_into_80_columns(tiny: str) -> None:
    outputs = [
        run("condense", tiny, "-n", 2, "--out", "run"),
        run("evaluate", "run", "--seeds", 2, "--models", "gcn,sage"),
        run("inspect", "run"),
        run("compare", tiny, "-n", "1", "--condense-seeds", 1, "--eval-seeds", 2, "--out", "grid"),
        run("datasets"),
    ]
    for result in outputs:
        assert result.exit_code == 0
        assert "…" not in result.stdout
        lines = [line for line in result.stdout.splitlines() if "Data root" not in line]  # a path is not broken
        assert max(len(line) for line in lines) <= 80
    condensed, judged, inspected, compared, _ = (" ".join(result.stdout.split()) for result in outputs)
    assert "4 graphs" in condensed and "graphcondense evaluate run" in condensed
    assert "TINY: accuracy (%)" in judged and "sage" in judged
    assert "settings.seed 0" in inspected and "of the original)" in inspected
    assert "pursuit 1 " in compared and "whole all " in compared
    assert "* best of its n" in compared and "grid: table.md, table.csv, table.json, and every cell" in compared


def test_what_was_assumed_of_a_dataset_is_said_on_standard_error(tiny: str) -> None:
    result = run("condense", tiny, "-n", 1, "--method", "random", "--json")
    assert "TINY: labels numbered anew: 5 -> 0, 7 -> 1" in result.stderr.splitlines()
    assert "TINY: " not in result.stdout


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    name, number = result.stdout.split()
    assert name == "graphcondense" and number[0].isdigit()


@pytest.mark.parametrize("command", ["datasets", "condense", "evaluate", "compare", "inspect"])
def test_every_command_has_help_and_json(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout


def test_a_picture_is_drawn_and_not_overwritten(tiny: str) -> None:
    run_json("condense", tiny, "-n", 2, "--method", "random", "--out", "run")
    run_json("inspect", "run", "--picture", "a.svg")
    assert ElementTree.parse("a.svg").getroot().tag.endswith("svg")
    Path("a.svg").write_text("mine")
    assert "a.svg exists" in run_error("inspect", "run", "--picture", "a.svg")
    assert Path("a.svg").read_text() == "mine"
    run_json("inspect", "run", "--picture", "a.svg", "--force")
    assert Path("a.svg").read_text() != "mine"


# --- nothing is lost -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_a_run_is_not_overwritten_unless_forced(tiny: str, tmp_path: Path) -> None:
    run_json("condense", tiny, "-n", 1, "--out", "run")
    before = snapshot(tmp_path / "run")
    assert run_error("condense", tiny, "-n", 2, "--out", "run").startswith("run is not empty")
    assert snapshot(tmp_path / "run") == before
    assert run_json("condense", tiny, "-n", 2, "--out", "run", "--force")["graphs"] == 4
    assert snapshot(tmp_path / "run") != before


@pytest.mark.usefixtures("small")
def test_a_comparison_is_continued_or_replaced_only_when_asked(tiny: str, tmp_path: Path) -> None:
    grid = ("compare", tiny, "-n", 1, "--methods", "random", "--condense-seeds", 1, "--eval-seeds", 2, "--out", "grid")
    rows = run_json(*grid)["rows"]
    before = snapshot(tmp_path / "grid")
    assert "has 1 of these 1 cells" in run_error(*grid)
    assert run_json(*grid, "--resume")["rows"] == rows
    assert snapshot(tmp_path / "grid") == before
    run_json(*grid, "--force")
    assert snapshot(tmp_path / "grid") != before  # seconds differ


@pytest.mark.parametrize("out", ["file", "file/below"])
@pytest.mark.parametrize("command", ["condense", "compare"])
def test_a_folder_that_cannot_be_one_is_found_out_before_any_work(
    tiny: str, command: str, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("mine")

    def work(*_: Any, **__: Any) -> None:
        pytest.fail("work was done")

    monkeypatch.setattr("graphcondense.runs.condense.condense_with", work)
    monkeypatch.setattr("graphcondense.runs.grid.run_cell", work)
    assert "file" in run_error(command, tiny, "-n", 1, "--out", out)
    assert Path("file").read_text() == "mine"


# --- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["condense", "digitz"], "unknown dataset 'digitz': did you mean 'digits'?"),
        (["condense", "./nowhere"], "nowhere"),
        (["condense", "MUTAG"], "MUTAG"),
        (["condense", "TINY", "--method", "doscnd"], "unknown method 'doscnd': did you mean 'doscond'?"),
        (["condense", "TINY", "--preset", "papr"], "unknown preset 'papr': did you mean 'paper'?"),
        (["condense", "TINY", "--model", "gim"], "unknown model 'gim': did you mean 'gin'?"),
        (["condense", "TINY", "--set", "feature_ratee=1"], "did you mean 'feature_rate'?"),
        (["condense", "TINY", "--set", "feature_rate"], "--set 'feature_rate' is not NAME=VALUE"),
        (["condense", "TINY", "--set", "=1"], "--set '=1' is not NAME=VALUE"),
        (["condense", "TINY", "--set", "feature_rate=fast"], "feature_rate='fast' must be a number"),
        (["condense", "TINY", "--set", "final_temperature=low"], "final_temperature='low'"),
        (["condense", "TINY", "--set", "network=gin"], "network"),
        (["condense", "TINY", "--method", "random", "--iterations", "5"], "no setting 'iterations'"),
        (["condense", "TINY", "--method", "herding", "--iterations", "5"], "no setting 'iterations'"),
        (["condense", "TINY", "--method", "dcg", "--set", "structure_rate=1"], "no setting 'structure_rate'"),
        (["condense", "TINY", "--method", "doscond-bi", "--set", "outer=0"], "outer=0 must be a whole number"),
        (["condense", "TINY", "--method", "herding", "--set", "recipe=5"], "recipe=5 must be a Recipe"),
        (["condense", "TINY", "-n", "0"], "graphs_per_class=0 must be a whole number of at least 1"),
        (["condense", "TINY", "-n", "17"], "graphs_per_class=17 is more than the 16 training graphs of class"),
        (["condense", "TINY", "--graph-nodes", "1", "-n", "1"], "(nodes=2, --graph-nodes 2)"),
        (["condense", "TINY", "--seed", "-1"], "seed=-1"),
        (["condense", "TINY", "--iterations", "0"], "iterations=0"),
        (["condense", "TINY", "--real-batch", "some"], "--real-batch 'some'"),
        (["condense", "TINY", "--real-batch", "0"], "real_batch=0"),
        (["condense", "TINY", "--threads", "0"], "--threads 0 must be at least 1"),
        (["compare", "TINY", "-n", "1,x"], "-n '1,x' must be whole numbers separated by commas"),
        (["compare", "TINY", "-n", ","], "-n ','"),
        (["compare", "TINY", "-n", "0"], "graphs_per_class=0"),
        (["compare", "TINY", "-n", "500", "--methods", "random", "--eval-seeds", "1"], "more than the 16 training"),
        (["compare", "TINY", "--methods", "randm"], "unknown method 'randm': did you mean 'random'?"),
        (["compare", "TINY", "--model", "gim"], "unknown model 'gim': did you mean 'gin'?"),
        (["compare", "TINY", "--jobs", "0"], "jobs=0"),
        (["compare", "TINY", "--eval-seeds", "0"], "eval_seeds=0"),
        (["compare", "TINY", "--set", "iteration=3", "--methods", "random", "-n", "1"], "iteration"),
        (["compare", "TINY", "--preset", "best"], "unknown preset 'best'"),
        (["evaluate", "nowhere"], "nowhere is not there"),
        (["inspect", "nowhere"], "nowhere is not there"),
        (["evaluate", "."], "holds no condensed.safetensors"),
        (["inspect", "x" * 300], "xxx"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("small")
def test_wrong_input_is_one_line_and_leaves_nothing_behind(
    tiny: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = snapshot(tmp_path)
    assert message in run_error(*(tiny if argument == "TINY" else argument for argument in arguments))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["seed", "iterations", "nodes", "graphs_per_class", "real_batch"])
@pytest.mark.usefixtures("small")
def test_a_setting_that_has_an_option_of_its_own_may_be_set_too(tiny: str, name: str) -> None:
    made = run_json("condense", tiny, "--out", "run", "--set", f"{name}=4")
    assert made["settings"][name] == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["condense", "-n", "ten"],
        ["condense", "--nonsense"],
        ["evaluate"],
        ["condens"],
        ["evaluate", "run", "--seeds", "1.5"],
    ],
    ids=" ".join,
)
def test_wrong_options_are_one_line_too(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["evaluate", "inspect"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"1,2,3"),
        ("a.safetensors", b""),
        ("a.safetensors", b"graphs"),
        ("a.safetensors", pickle.dumps({"x": 1})),
        ("condensed.safetensors", bytes(64)),
    ],
)
def test_a_file_that_is_not_ours_is_one_line(command: str, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    assert f"{name} is not a condensed file" in run_error(command, name)


ODD_INFO: list[dict[str, Any]] = [
    {"evaluation": 5},
    {"evaluation": {"network": 5}},
    {"evaluation": {"network": {"kind": "gcn"}, "recipe": {"epochs": "many"}}},
    {"source": 5},
    {"original_bytes": 0},
    {"original_bytes": "few"},
    {"bytes": "lots"},
    {"dataset": "[/b]"},
    {"dataset": "\ud800"},
    {"classes": ["\ud800", "b"]},
    {"classes": 5},
    {"position_features": [98, 99]},
    {"position_features": "xy"},
    {"last": {"loss": float("inf")}},
]


@pytest.mark.parametrize("info", ODD_INFO, ids=lambda info: json.dumps(info)[:60])
@pytest.mark.parametrize("command", ["evaluate", "inspect", "draw"])
def test_odd_notes_in_a_file_never_end_in_a_traceback(tiny: str, command: str, info: dict[str, Any]) -> None:
    protocol = Protocol(NetworkConfig(hidden=4, layers=1), Recipe(epochs=2))
    plain = {"source": tiny, "evaluation": protocol.to_dict()}
    good = CondensedDataset(random_store(4), 2).save("good.safetensors")
    with safe_open(good, framework="pt") as stream:
        tensors = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118
        header = json.loads(stream.metadata()["graphcondense"])
    text = json.dumps(header | {"info": plain | info})
    Path("a.safetensors").write_bytes(to_safetensors(tensors, {"graphcondense": text}))
    arguments = {
        "evaluate": ["evaluate", "a.safetensors", "--seeds", "1", "--json"],
        "inspect": ["inspect", "a.safetensors"],
        "draw": ["inspect", "a.safetensors", "--picture", "a.svg", "--json"],
    }
    result = run(*arguments[command])
    assert result.exit_code in (0, 2), repr(result.exception)


@pytest.mark.usefixtures("small")
def test_graphs_of_another_dataset_are_refused(tiny: str) -> None:
    # Both have 3 features a node, but 2 classes are not 10.
    run_json("condense", tiny, "-n", 1, "--method", "random", "--out", "run")
    assert "classes" in run_error("evaluate", "run", "--dataset", "digits")


def test_a_file_that_does_not_say_where_it_comes_from_needs_a_dataset() -> None:
    CondensedDataset(random_store(4), 2).save("a.safetensors")
    assert "give --dataset" in run_error("evaluate", "a.safetensors")


def test_a_dataset_that_has_gone_is_named(tiny: str, tmp_path: Path) -> None:
    run_json("condense", tiny, "-n", 1, "--method", "random", "--out", "run")
    (tmp_path / "tiny").rename(tmp_path / "moved")
    assert str(tmp_path / "tiny") in run_error("evaluate", "run")


@pytest.mark.parametrize("name", ["[bold]x", "[red]", ":bug:"])
def test_a_message_is_printed_as_it_is(name: str) -> None:
    assert run_error("condense", name).startswith(f"unknown dataset {name!r}")


# --- leaving ---------------------------------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[..., None]:
    def work(*_: Any, **__: Any) -> None:
        raise error

    return work


def test_an_interrupt_leaves_with_130(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.runs.condense.condense_with", raising(KeyboardInterrupt()))
    result = run("condense", tiny, "-n", 1, "--out", "run", "--json")
    assert result.exit_code == 130
    assert result.stdout == ""
    *_, how, last = result.stderr.splitlines()
    assert last == "interrupted"
    assert how.startswith("nothing was done yet; go on with: graphcondense ") and how.endswith("--resume")
    assert sorted(file.name for file in Path("run").iterdir()) == [".lock", "environment.json", "settings.json"]


@pytest.mark.usefixtures("small")
def test_an_interrupted_run_says_how_to_go_on_and_does(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["condense", tiny, "-n", "1", "--iterations", "6", "--out"]
    assert run(*arguments, "whole").exit_code == 0
    step = Condensation.step

    def interrupted(self: Condensation, iteration: int) -> dict[str, float]:
        if iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, iteration)

    monkeypatch.setattr(Condensation, "step", interrupted)
    monkeypatch.setattr(sys, "argv", ["graphcondense", *arguments, "my run", "--force"])
    result = run(*arguments, "my run", "--force")
    assert result.exit_code == 130
    assert "iteration 3 is kept in my run; go on with: graphcondense condense" in result.stderr
    assert "--out 'my run' --resume" in result.stderr and "--force" not in result.stderr
    monkeypatch.setattr(Condensation, "step", step)
    assert "go on with --resume, or overwrite it with --force" in run_error(*arguments, "my run")
    assert "give one of the two" in run_error(*arguments, "my run", "--resume", "--force")
    assert run_json(*arguments, "my run", "--resume")["iterations"] == 6
    for name in ("condensed.safetensors", "settings.json"):
        assert Path("my run", name).read_bytes() == Path("whole", name).read_bytes()
    assert run_json(*arguments, "my run", "--resume")["iterations"] == 6  # finished: read


@pytest.mark.usefixtures("small")
def test_an_early_stop_needs_iterations(tiny: str) -> None:
    line = run_error("condense", tiny, "-n", 1, "--method", "pursuit", "--early-stop", 2, "--out", "run")
    assert line == "--early-stop does not apply: pursuit has no iterations to stop"
    assert not Path("run").exists()


def test_an_early_stop_says_what_it_kept(tiny: str) -> None:
    result = run("condense", tiny, "-n", 1, "--iterations", 4, "--early-stop", 2, "--out", "run")
    assert result.exit_code == 0, result.stderr
    assert "the best of 4 on the validation graphs" in result.stderr
    history = [json.loads(line) for line in Path("run/history.jsonl").read_text().splitlines()]
    assert ["val_score" in line for line in history] == [False, True, False, True]
    assert json.loads(Path("run/settings.json").read_text())["early_stop"]["every"] == 2
    result = json.loads(Path("run/result.json").read_text())
    facts = json.loads(run("inspect", "run", "--json").stdout)
    lines = [json.loads(line) for line in Path("run/history.jsonl").read_text().splitlines()]
    assert result["early_stop"]["every"] == 2 and result["kept_iteration"] == facts["kept_iteration"] in (2, 4)
    assert facts["last"]["loss"] == lines[result["kept_iteration"] - 1]["loss"]


@pytest.mark.usefixtures("small")
def test_a_folder_of_shards_condenses_as_the_dataset_itself(tiny: str) -> None:
    wrote = run_json("shard", tiny, "--shards", 3, "--out", "pieces")
    assert (wrote["dataset"], wrote["shards"], wrote["train"], wrote["val"]) == ("TINY", 3, 32, 4)
    for name, source in (("one", tiny), ("two", "./pieces")):
        run_json("condense", source, "-n", 2, "--out", name)
    one, two = (CondensedDataset.load(Path(name) / "condensed.safetensors") for name in ("one", "two"))
    torch.testing.assert_close(one.graphs.x, two.graphs.x, rtol=1e-5, atol=1e-5)
    assert "is not empty" in run_error("shard", tiny, "--out", "pieces")
    assert "shards=9 is more than the 4 val graphs" in run_error("shard", tiny, "--shards", 9, "--out", "more")


def test_being_told_to_end_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(
        "graphcondense.cli.quickstart.run_with_bars", lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGTERM)
    )
    monkeypatch.setattr(sys, "argv", ["graphcondense", "quickstart"])
    try:
        with pytest.raises(SystemExit) as left:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert left.value.code == 130


def test_our_own_mistakes_leave_with_1(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.runs.condense.condense_with", raising(RuntimeError("bug")))
    result = run("condense", tiny, "-n", 1, "--out", "run")
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


def test_threads_are_set(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    run_json("condense", tiny, "-n", 1, "--method", "random", "--threads", 3)
    assert asked == [3]


# --- as a program ----------------------------------------------------------------------------------------------------


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphcondense", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


def test_another_process_writes_the_same_file(tiny: str) -> None:
    here = run_json("condense", tiny, "-n", 2, "--iterations", 2, "--out", "here")
    result = program("condense", tiny, "-n", "2", "--iterations", "2", "--out", "there", "--json")
    assert result.returncode == 0
    there = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert Path(here["file"]).read_bytes() == Path(there["file"]).read_bytes()
    assert NetworkConfig(**there["settings"]["network"]) == NetworkConfig()
    evaluation = CondensedDataset.load(there["file"]).info["evaluation"]
    assert Recipe(**evaluation["recipe"]) == Recipe()


def test_an_error_of_the_program_is_one_line_and_exit_code_2() -> None:
    result = program("inspect", "nowhere.safetensors")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        "error: nowhere.safetensors is not there: give the path of a condensed .safetensors file\n"
    )


@pytest.mark.usefixtures("small")
def test_scores_on_another_dataset_are_said_and_not_kept(tiny: str) -> None:
    run_json("condense", tiny, "-n", 2, "--out", "run")
    run_json("evaluate", "run", "--seeds", 3)
    kept = Path("run/condensed.scores.json").read_text()
    run_json("evaluate", "run", "--seeds", 2)
    assert Path("run/condensed.scores.json").read_text() == kept  # three trainings say more than two
    other = Path(tiny).with_name("OTHER")
    shutil.copytree(tiny, other)
    for file in list(other.rglob("*.txt")):
        file.rename(file.with_name(file.name.replace("TINY", "OTHER")))
    said = run("evaluate", "run", "--dataset", str(other), "--seeds", 2)
    assert "made from another dataset than it is judged on" in said.stderr and "OTHER (" in said.stderr
    assert Path("run/condensed.scores.json").read_text() == kept
    run_json("compare", str(other), "-n", 1, "--methods", "random", "--out", "table", "--condense-seeds", 1)
    assert "give a comparison on the same dataset" in run_error("report", "run", "--compare", "table")


def test_methods_of_the_other_task_and_too_many_threads_are_told_of(tiny: str) -> None:
    told = run_error("condense", tiny, "--method", "gcond")
    assert "method 'gcond' classifies nodes, this dataset is for graphs: use one of whole, random" in told
    assert "--threads 100000 is far more than this machine's cores" in run_error("condense", tiny, "--threads", 100000)


def test_an_interrupted_grid_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    from graphcondense.cli.grids import kept_cells

    for given, expected in (((), "--resume goes on from there"), (("the same command goes on",), "the same command")):
        with pytest.raises(KeyboardInterrupt), kept_cells(Path("there"), [{}], *given):
            raise KeyboardInterrupt
        assert f"1 finished cells are kept in there: {expected}" in capsys.readouterr().err
