"""The documentation cannot rot: its Python runs, its commands exist, and every page is in the menu."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from graphcondense.cli import app
from graphcondense.evaluation import Protocol
from graphcondense.models import NetworkConfig
from graphcondense.training import Recipe
from tests.made_up import toy_task

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of five epochs: whether the code runs, not what it scores, is asked here."""
    protocol = Protocol(NetworkConfig(hidden=8, layers=2), Recipe(epochs=5))
    for place in ("evaluation.protocol", "evaluation.look", "report.page.run"):
        monkeypatch.setattr(import_module(f"graphcondense.{place}"), "own_protocol", lambda graphs: protocol)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"my_graphs": list(toy_task().graphs)}
    for code in blocks(page, "python"):  # one after the other: a page is one session
        exec(compile(code, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for block in blocks(page, "bash"):
        for line in block.splitlines():
            if line.startswith("graphcondense "):
                _, name, *words = line.split("#")[0].split()
                known = {option for parameter in commands[name].params for option in parameter.opts}
                assert {word for word in words if word.startswith("-")} <= known, line


def test_every_page_is_in_the_menu() -> None:
    menu = re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(menu) == [page.name for page in PAGES]


# --- examples --------------------------------------------------------------------------------------------------------


def example(name: str) -> dict[str, Any]:
    path = ROOT / "examples" / f"{name}.py"
    names: dict[str, Any] = {"__name__": name, "__doc__": None}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def test_the_architecture_search_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--iterations", "1", "--epochs", "1", "--small-epochs", "2", "--widths", "4", "--depths", "1"]
    result = example("architecture_search")["main"](small)
    assert [row["kind"] for row in result["rows"]] == ["gcn", "gin", "sage", "mlp"]
    assert -1 <= result["spearman"] <= 1 and json.loads(capsys.readouterr().out) == result


def test_the_memories_of_continual_learning_are_compared() -> None:
    result = example("continual_learning")["main"](
        ["--epochs", "1", "--iterations", "1", "--seeds", "1", "--per-class", "1"]
    )
    assert list(result) == ["none", "random", "condensed"]
    assert all(len(kind["steps"][0]) == 5 for kind in result.values())


def test_smiles_become_condensed_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'graphcondense[mol]'")
    main = example("smiles")["main"]
    page = main(["--iterations", "1", "--per-class", "2", "--out", str(tmp_path / "out")])
    assert re.search(r"\d+ nodes, \d+ edges: \d+ C", page.read_text(encoding="utf-8"))
    (tmp_path / "wrong.csv").write_text("smiles,label\nC1CC,0\n")
    with pytest.raises(SystemExit, match="no SMILES that RDKit can read"):
        main([str(tmp_path / "wrong.csv"), "--out", str(tmp_path / "no")])


def test_the_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((ROOT / "examples" / "comparison.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).replace("epochs=100", "epochs=1").replace("[1, 3]", "[1]")
            code = code.replace('"iterations": 50', '"iterations": 1').replace("seeds=3", "seeds=1")
            exec(compile(code, "comparison.ipynb", "exec"), names)
    assert "| doscond |" in capsys.readouterr().out
