from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from graphcondense.errors import GraphcondenseError
from graphcondense.files import write_aside, write_json


def test_a_file_is_written_with_its_folders_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file.bin"
    assert write_aside(path, b"one") == path
    assert path.read_bytes() == b"one"
    write_aside(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["file.bin"]  # noqa: PTH208


def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GraphcondenseError, match=r"cannot write .*file\.bin: No space left on device"):
        write_aside(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


def test_an_interrupt_keeps_the_old_file_and_leaves_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_aside(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


@pytest.mark.parametrize("target", ["file/below", "folder"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "full").write_text("")
    with pytest.raises(GraphcondenseError, match=rf"^cannot write {tmp_path / target}: \S"):
        write_aside(tmp_path / target, b"x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def test_json_is_readable_and_strict(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None], "b": "ä"}
    path = write_json(tmp_path / "a.json", value)
    assert json.loads(path.read_text()) == value
    assert path.read_text().endswith("}\n")
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "b.json", {"a": float("nan")})
    assert not (tmp_path / "b.json").exists()
