from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphcondense.datasets import cache_root, data_root
from graphcondense.datasets.places import read_array, write_array


def test_the_explicit_data_root_wins_over_the_variable_over_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRAPHCONDENSE_DATA", str(tmp_path / "variable"))
    assert data_root(tmp_path / "explicit") == tmp_path / "explicit"
    assert data_root() == tmp_path / "variable"
    monkeypatch.delenv("GRAPHCONDENSE_DATA")
    assert data_root() == tmp_path / "home" / ".cache" / "graphcondense"
    assert data_root("~/x") == tmp_path / "home" / "x"


def test_the_cache_follows_its_variable_else_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRAPHCONDENSE_CACHE", str(tmp_path / "cache"))
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv("GRAPHCONDENSE_CACHE")
    assert cache_root() == tmp_path / "home" / ".cache" / "graphcondense"


def test_an_array_comes_back_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.npz"
    assert write_array(path, np.arange(3))
    array = read_array(path)
    assert array is not None
    assert array.tolist() == [0, 1, 2]
    assert [p.name for p in path.parent.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x80\x04K\x01."])
def test_a_damaged_cache_reads_as_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    assert read_array(tmp_path / "a.npz") is None
    assert read_array(tmp_path / "absent.npz") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not write_array(tmp_path / "file" / "a.npz", np.arange(3))
    (tmp_path / "folder.npz").mkdir()
    assert not write_array(tmp_path / "folder.npz", np.arange(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.npz"]
