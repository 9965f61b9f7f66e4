"""The README cannot rot: its Python runs, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import graphcondense as gc
from graphcondense.cli import app
from graphcondense.methods import METHODS
from tests.made_up import toy_nodes, toy_task

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_own_data_in_ten_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    code, _ = blocks("python")
    assert len(code.strip().splitlines()) <= 12  # ten lines and the imports
    names = {"my_graphs": list(toy_task().graphs)}
    exec(compile(code, "README.md", "exec"), names)
    assert (tmp_path / "mine.safetensors").is_file()
    assert names["scores"].mean > 0.6  # type: ignore[attr-defined]
    assert "validation and test set taken from train" in capsys.readouterr().out
    assert next(iter(names["loader"])).num_graphs == 10  # type: ignore[call-overload]


def test_one_large_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "load", lambda name: toy_nodes())
    _, code = blocks("python")
    small = code.replace("nodes=70", "nodes=9, iterations=3").replace("seeds=10", "seeds=2")
    names: dict[str, Any] = {"gc": gc}
    exec(compile(small, "README.md", "exec"), names)
    assert (tmp_path / "cora70.safetensors").is_file()
    assert 0 <= float(capsys.readouterr().out) <= 1
    assert names["data"].num_nodes == 9


def test_every_command_and_option_that_is_named_exists() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("graphcondense")]
    assert len(lines) >= 5
    for line in lines:
        _, name, *words = line.split("#")[0].split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
    table = re.findall(r"^\| `(\w+)", section("Commands"), flags=re.MULTILINE)
    assert set(table) == set(commands)


def test_every_method_is_named() -> None:
    table = re.findall(r"^\| (.*?) \|", section("Is it better than picking graphs?"), flags=re.MULTILINE)
    assert {name for cell in table for name in re.findall(r"`([\w-]+)`", cell)} == set(METHODS)
