"""Datasets that nobody tuned for go the whole way with no setting but their path; wrong options are found at once."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NoReturn

import networkx as nx
import pytest

from tests.own_folders import KINDS, write_own
from tests.test_cli import own_place, run, run_error, run_json, small  # noqa: F401

HANDLED = pytest.mark.usefixtures("small")


@HANDLED
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_goes_the_whole_way_with_nothing_but_its_path(tmp_path: Path, kind: str) -> None:
    folder = write_own(tmp_path / "my data", kind, graphs=60)
    facts = run_json("check", folder)
    assert facts["graphs"] == 60 and facts["source"] == str(folder)
    made = run_json("condense", folder)
    run_folder = Path(made["file"]).parent
    assert 0 <= run_json("evaluate", run_folder)["mean"] <= 1
    result = run("report", run_folder)
    assert result.exit_code == 0, result.stderr
    page = (run_folder / "report.html").read_text(encoding="utf-8")
    assert f"graphcondense condense {shlex.quote(str(folder))}".replace("'", "&#39;") in page
    (again,) = re.findall(r"graphcondense compare ('.*?' -n \d+)", result.stderr.replace("\n", " "))
    words = shlex.split(again)
    assert words[0] == str(folder)
    run_json("compare", *words, "--methods", "random", "--condense-seeds", 1, "--eval-seeds", 1, "--out", "table")


@HANDLED
def test_a_small_class_lowers_the_usual_budget_and_it_is_said(tmp_path: Path) -> None:
    folder = write_own(tmp_path / "own", "unbalanced", graphs=60)
    result = run("condense", folder, "--method", "random")
    assert "UNBALANCED: 6 graphs a class, for the smallest class has no more training graphs" in result.stderr
    assert run_json("condense", folder, "--method", "random", "--out", "own-run")["graphs"] == 12
    spread = run_json("condense", folder, "--in-proportion", "--method", "random", "-n", 8, "--out", "spread")
    assert spread["graphs"] == 16
    sizes = run_json("inspect", "spread")["graphs_per_class"]
    assert sizes == [14, 2]
    assert "use 6 or fewer, or spread them in proportion" in run_error("condense", folder, "-n", 7, "--out", "no")


@HANDLED
def test_other_forms_go_the_whole_way_too(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra mol")
    rows = "".join(f"{'C' * (1 + i // 2)}{'O' if i % 2 else 'N'},{i % 2}\n" for i in range(40))
    (tmp_path / "drugs.csv").write_text("smiles,toxic\n" + rows)
    nx.write_gexf(nx.karate_club_graph(), tmp_path / "club.gexf")
    for source, budget in (("drugs.csv::label=toxic", ("-n", 2)), ("club.gexf::label=club", ("--nodes", 4))):
        name = source.split(".")[0]
        assert run("check", source).exit_code == 0
        run_json("condense", source, *budget, "--out", name)
        assert run_json("evaluate", name, "--seeds", 1)["dataset"] == name
        result = run("report", name, "--seeds", 1)
        assert result.exit_code == 0, result.stderr


def test_what_check_prints_fits_into_80_columns(tmp_path: Path) -> None:
    for kind in KINDS:
        result = run("check", write_own(tmp_path / kind, kind, graphs=60))
        assert result.exit_code == 0 and "doubtful" in result.stdout and "…" not in result.stdout
        assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert run("check").stdout.rstrip().endswith("nothing")
    assert "there is no folder or file" in run_error("check", "./absent")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["condense", "digits", "--graphs-per-class", 0], "graphs_per_class=0 must be a whole number of at least 1"),
        (["condense", "digits", "--iterations", 0], "iterations=0 must be"),
        (["condense", "digits", "--method", "doscont"], "unknown method 'doscont': did you mean 'doscond'?"),
        (["condense", "digits", "--preset", "papr"], "unknown preset 'papr'"),
        (["condense", "digits", "--model", "gim"], "unknown model 'gim'"),
        (["condense", "digits", "--set", "feature_ratee=1"], "did you mean 'feature_rate'?"),
        (["condense", "digits", "--real-batch", "some"], "--real-batch 'some' must be a whole number or 'all'"),
        (["condense", "digits", "--checkpoint-every", "often"], "--checkpoint-every 'often' must be iterations"),
        (["condense", "digits", "--early-stop", 0], "every=0 must be"),
        (["condense", "digits", "--resume", "--force"], "give one of the two"),
        (["condense", "digits", "--nodes", 5], "digits has many graphs: give the budget by -n"),
        (["condense", "Cora", "-n", 5], "Cora is one graph: give its budget by --nodes or --ratio"),
        (["condense", "Cora", "--nodes", 0], "nodes=0 must be"),
        (["condense", "Cora", "--nodes", 9, "--in-proportion"], "whose nodes are always in proportion: leave out"),
        (["compare", "digits", "-n", "0"], "graphs_per_class=0 must be"),
        (["compare", "digits", "--methods", "doscont"], "unknown method 'doscont'"),
        (["compare", "digits", "--condense-seeds", 0], "condense_seeds=0 must be"),
        (["compare", "Cora"], "Cora is one graph: give --nodes, e.g. --nodes 35,70"),
        (["shard", "digits", "--shards", 0], "--shards=0 must be"),
    ],
    ids=str,
)
def test_wrong_options_are_found_before_anything_is_loaded(
    arguments: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(*_: object, **__: object) -> NoReturn:
        raise AssertionError("it was loaded first")

    monkeypatch.setattr("graphcondense.datasets.load", loaded)
    assert message in run_error(*arguments)
