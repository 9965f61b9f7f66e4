from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from graphcondense.errors import FileFormatError, MissingDataError
from graphcondense.evaluation import Scores, evaluate, look
from graphcondense.report.page import comparison_page, run_page
from graphcondense.report.page.atoms import atom_names
from graphcondense.report.page.comparison import known_rows
from graphcondense.report.page.figures import Axis
from graphcondense.report.page.findings import distributions, nearest_real
from graphcondense.report.page.folder import RunFolder, command_of, read_history
from graphcondense.report.page.gallery import gallery
from graphcondense.runs.scores import keep_scores
from graphcondense.synthetic import CondensedDataset
from tests.report.page.made_up_runs import comparison, graph_run, node_run

VOID = {"meta", "link", "br", "path", "circle", "rect", "img", "hr"}


class Checker(HTMLParser):
    """Tags that are opened and not closed, addresses that point out of the page, and figures without words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.outside: list[str] = []
        self.silent = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("src", "href", "action", "data"):
            if (values.get(name) or "").startswith(("http", "//", "file", "/")):
                self.outside.append(str(values[name]))
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "svg" and not values.get("aria-label") and values.get("aria-hidden") != "true":
            self.silent += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def check(html: str) -> Checker:
    checker = Checker(html)
    assert checker.open == [] and checker.outside == [] and checker.silent == 0
    assert len(checker.ids) == len(set(checker.ids))
    assert len(html.encode()) < 5_000_000
    return checker


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    folder = tmp_path_factory.mktemp("run")
    return folder, graph_run(folder)


def test_a_page_says_everything_that_there_is(run) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    page = run_page(RunFolder.read(folder), task, seeds=2, random=True)
    check(page.html)
    for words in (
        "How good", "Against others", "Features snapped", "The condensed graphs", "Degrees", "Sizes", "t-SNE",
        "What is taken for what", "Matching loss", "The two terms", "Temperature", "Density", "structure_rate",
        "Versions", "random instead", "Only 12 test graphs", "2 more of class plain",
    ):  # fmt: skip
        assert words in page.html, words
    assert page.html.count('class="tile"') == 20 and page.html.count('class="real"') == 20
    assert set(page.scores) == {"gcn"} and len(page.scores["gcn"].per_seed) == 2
    assert set(page.snapped_scores) == {"gcn"}
    assert "<b>&co" not in page.html and "&lt;b&gt;&amp;co" in page.html  # a class name that looks like markup
    assert any("whole set" in line for line in page.left_out)


def test_without_the_real_data_the_rest_is_there_and_it_says_so(run) -> None:  # type: ignore[no-untyped-def]
    folder, _ = run
    page = run_page(RunFolder.read(folder))
    check(page.html)
    assert "The real data was not at hand" in page.html and "t-SNE of" not in page.html
    assert page.html.count('class="tile"') == 20 and 'class="real"' not in page.html
    assert page.scores == {} and "Matching loss" in page.html


def test_a_lone_file_has_a_page_too(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    lone = tmp_path / "lone.safetensors"
    lone.write_bytes((folder / "condensed.safetensors").read_bytes())
    page = run_page(RunFolder.read(lone), task, seeds=1)
    check(page.html)
    assert "no history.jsonl" in page.html and "Matching loss" not in page.html


def test_scores_that_were_kept_and_compared_are_shown(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    for name in ("condensed.safetensors", "result.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    kept = {"gcn": Scores("accuracy", (0.5, 0.25), (0.5, 0.5)), "gin": Scores("accuracy", (0.75,), (0.5,))}
    keep_scores(tmp_path / "condensed.safetensors", "toy", kept)
    rows = comparison(tmp_path / "table")
    page = run_page(RunFolder.read(tmp_path), task, known=rows)
    check(page.html)
    assert page.scores == {}  # nothing was trained again for them
    assert "37.50 ± 12.50" in page.html and "75.00 ± 0.00" in page.html
    assert "2 selections of the same budget" in page.html and "whole set</span>" in page.html
    assert not any("whole set" in line for line in page.left_out)


def test_a_node_task_has_a_page(tmp_path: Path) -> None:
    task = node_run(tmp_path)
    page = run_page(RunFolder.read(tmp_path), task, seeds=2, random=True)
    check(page.html)
    assert "The condensed graph</h2>" in page.html and "9 nodes" in page.html and "test nodes" in page.html
    assert 'class="filter"' not in page.html


def test_a_comparison_has_a_page(tmp_path: Path) -> None:
    rows = comparison(tmp_path)
    html = comparison_page(tmp_path)
    check(html)
    assert all(row["method"] in html for row in rows)
    assert "--methods whole,random,doscond" in html and "graphcondense compare /data/toy" in html
    assert "--set" not in html
    cell = json.loads((tmp_path / "doscond-10-0.json").read_text())
    cell["info"] |= {"method": "doscond", "dataset": "toy", "settings": {"graphs_per_class": 10, "iterations": 5}}
    (tmp_path / "doscond-10-0.json").write_text(json.dumps(cell | {"model": "gin"}))
    assert "--model gin --set iterations=5 --out" in comparison_page(tmp_path)
    (tmp_path / "table.json").unlink()
    by_method = [
        sorted(found, key=lambda row: (row["method"], row["bytes"], row["mean"]))
        for found in (known_rows(tmp_path), rows)
    ]
    assert by_method[0] == by_method[1]
    assert "no table.json" in comparison_page(tmp_path)


def test_what_is_no_comparison_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="neither a condensed file nor a comparison"):
        comparison_page(tmp_path)
    (tmp_path / "table.json").write_text('{"rows": [{"method": "whole"}]}')
    with pytest.raises(FileFormatError, match="make it again"):
        comparison_page(tmp_path)


# --- parts -----------------------------------------------------------------------------------------------------------


def test_a_look_gives_the_scores_of_the_judge(run) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    condensed = CondensedDataset.load(folder / "condensed.safetensors")
    seen = look(condensed, task, seeds=3)
    assert seen.scores == evaluate(condensed, task, seeds=3)
    assert float((seen.guesses == seen.truth).double().mean()) == pytest.approx(seen.scores.per_seed[0])


def test_a_real_graph_is_nearest_to_itself(run) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    condensed = CondensedDataset.load(folder / "condensed.safetensors")
    seen = look(condensed, task, seeds=1)
    chosen = torch.tensor([3, 8, 11])
    real = replace(condensed, graphs=task.train.subset(chosen))
    found = task.train.subset(nearest_real(real, task, seen))
    assert torch.equal(found.y, real.graphs.y)
    assert seen.embed is not None
    assert torch.allclose(seen.embed(found), seen.embed(real.graphs), atol=1e-5)


def test_shares_of_a_distribution_are_whole(run) -> None:  # type: ignore[no-untyped-def]
    folder, task = run
    condensed = CondensedDataset.load(folder / "condensed.safetensors")
    for figure in distributions(condensed, task):
        found = re.findall(r'data-tip="(\w+), .*?: ([\d.]+)%"', figure.svg)
        for kind in ("real", "condensed"):
            assert sum(float(share) for name, share in found if name == kind) == pytest.approx(100, abs=1)


def test_a_large_set_is_drawn_in_part(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    folder, _ = run
    condensed = CondensedDataset.load(folder / "condensed.safetensors")
    monkeypatch.setattr("graphcondense.report.page.gallery.MOST_PIECES", 60)
    made = gallery(condensed, None, None)
    drawn = sum(len(group.first) + len(group.more) for group in made.groups)
    assert 2 <= drawn < 20 and made.left_out == 20 - drawn


def test_atoms_are_named_where_they_are_known() -> None:
    x = np.eye(7, dtype=np.float32)[[0, 2, 6]]
    assert atom_names({"dataset": "MUTAG"}, x) == ["C", "O", "Br"]
    assert atom_names({"dataset": "mine", "feature_names": list("abcdefg")}, x) == ["a", "c", "g"]
    assert atom_names({"dataset": "NCI1"}, x) == []
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'graphcondense[mol]'")
    numbers = np.array([[5.2, 0], [6.9, 0], [500, 0]], dtype=np.float32)  # learned: not quite whole
    assert atom_names({"dataset": "ogbg-molhiv"}, numbers) == ["C", "O", "?"]


def test_the_history_of_a_run_that_goes_on_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = [
        '{"iteration": 1, "loss": 2.0}',
        '{"iteration": 2, "loss": NaN, "note": "x"}',
        "[3]",
        '{"iteration": 3, "lo',
    ]
    (tmp_path / "h.jsonl").write_text("\n".join(lines))
    assert read_history(tmp_path / "h.jsonl") == [{"iteration": 1, "loss": 2}, {"iteration": 2}]
    assert read_history(tmp_path / "none.jsonl") == []


def test_the_command_names_what_differs_from_the_preset(run) -> None:  # type: ignore[no-untyped-def]
    folder, _ = run
    info = CondensedDataset.load(folder / "condensed.safetensors").info | {"source": "my data"}
    text = command_of(info, "out")
    assert text.startswith("graphcondense condense 'my data' -n 10 --method doscond --preset default --seed 0 --set ")
    assert "--set iterations=6" in text and "--set real_batch=8" in text and text.endswith(" --out out")
    assert "feature_rate" not in text  # as in the preset
    assert "--set" not in command_of(info | {"preset": "unheard of"}, "out")
    json.dumps(text)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[1.0], [0.5, 0.5], [1e-6, 1.0], [3.0, 4.0], [1.0, 1e6], [0.001, 0.0011]])
def test_ticks_lie_on_the_axis_and_are_not_too_many(values: list[float], log: bool) -> None:
    axis = Axis.over(values, 0, 100, log=log)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(-1e-6 <= axis(tick) <= 100 + 1e-6 for tick in ticks)
    assert all(0 <= axis(value) <= 100 for value in values)
