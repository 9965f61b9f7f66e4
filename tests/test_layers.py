"""A higher folder may import a lower one, never the other way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphcondense

ROOT = Path(graphcondense.__file__).parent
LEVELS = {
    **dict.fromkeys(
        ("autograd", "colours", "distributed", "errors", "files", "graphs", "machine", "metrics", "parts"), 0.0
    ),
    **dict.fromkeys(("seeding", "tasks"), 0.0),
    "datasets": 1,
    "real": 2,
    "checkup": 2.5,
    "synthetic": 3,
    "models": 4,
    "training": 5,
    "matching": 6,
    "methods": 7,
    "evaluation": 8,
    "presets": 8.5,
    "runs": 9,
    "export": 9.5,
    "report": 10,
    "reproduce": 10.5,
    **dict.fromkeys(("cli", "__main__", "__init__"), 11.0),
}
MODULES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    """The folder or top-level module that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of ours that ``source``, a module in ``package``, imports at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def target_of(name: str) -> str | None:
    """The part that an imported name belongs to; ``None`` for what is not ours."""
    first, *rest = name.split(".")
    if first != "graphcondense":
        return None
    return rest[0] if rest and rest[0] in LEVELS else "__init__"


def violations(source: str, part: str, package: str, where: str) -> list[str]:
    found = []
    for line, name in imports(source, package):
        target = target_of(name)
        if target is not None and LEVELS[target] > LEVELS[part]:
            found.append(f"{where}:{line}: {part} ({LEVELS[part]:g}) imports {name} ({LEVELS[target]:g})")
    return found


def test_every_part_has_a_level() -> None:
    assert {part_of(path) for path in MODULES} == set(LEVELS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_from_above(path: Path) -> None:
    where = str(path.relative_to(ROOT))
    package = ".".join(["graphcondense", *path.relative_to(ROOT).parts[:-1]])
    assert violations(path.read_text(), part_of(path), package, where) == []


@pytest.mark.parametrize("path", sorted((ROOT / "methods").glob("*.py")), ids=lambda path: path.name)
def test_methods_know_nothing_of_the_command_line_files_and_dataset_names(path: Path) -> None:
    foreign = ("typer", "rich", "pathlib", "os", "safetensors", "joblib")
    ours = ("graphcondense.cli", "graphcondense.files", "graphcondense.datasets", "graphcondense.synthetic.file")
    names = [name for _, name in imports(path.read_text(), "graphcondense.methods")]
    forbidden = [
        name for name in names if name.split(".")[0] in foreign or any(f"{name}.".startswith(f"{one}.") for one in ours)
    ]
    assert forbidden == []


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("from graphcondense.report import tables", "runs"),
        ("from graphcondense import cli", "methods"),
        ("from graphcondense import load", "synthetic"),
        ("import graphcondense.models.network", "real"),
        ("def f():\n    from graphcondense.runs.grid import plan", "presets"),
        ("from ..methods import METHODS", "matching"),
        ("from .. import evaluation", "methods"),
    ],
)
def test_the_rule_itself_finds_what_it_should(source: str, part: str) -> None:
    (line,) = violations(source, part, f"graphcondense.{part}", "made_up.py")
    assert line.startswith("made_up.py:") and "imports graphcondense" in line


def test_the_rule_itself_allows_what_it_should() -> None:
    source = (
        "import torch\nfrom graphcondense.runs import grid\nfrom . import tables\nfrom graphcondense import datasets"
    )
    assert violations(source, "report", "graphcondense.report", "made_up.py") == []
