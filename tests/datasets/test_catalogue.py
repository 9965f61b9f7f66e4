from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphcondense.datasets import DatasetInfo, known
from graphcondense.datasets.catalogue import find_known, match_name, tu_sets_at_hand
from graphcondense.metrics import METRICS


def info_of(name: str) -> DatasetInfo:
    info = find_known(name)
    assert info is not None
    return info


@pytest.mark.parametrize("spelling", ["ogbg-molhiv", "OGBG_MOLHIV", "ogbg molhiv", "OgbgMolhiv"])
def test_spelling_does_not_matter(spelling: str) -> None:
    assert info_of(spelling).name == "ogbg-molhiv"


def test_unknown_names_are_not_found() -> None:
    assert find_known("PROTEINS") is None
    assert match_name("proteins", ["ENZYMES", "PROTEINS"]) == "PROTEINS"
    assert match_name("a-b", ["AB", "a-b"]) == "a-b"
    assert match_name("x", ["AB"]) is None


def test_facts_make_sense() -> None:
    for info in known():
        assert info.metric in METRICS
        assert info.classes >= 2
        assert info.graphs > 0
        assert info.avg_nodes > 1
        assert info.avg_edges > 1


def test_missing_files_are_those_not_there(tmp_path: Path) -> None:
    mutag = info_of("mutag")
    raw = tmp_path / "TUDataset" / "MUTAG" / "raw"
    assert mutag.missing_files(tmp_path)[0] == raw / "MUTAG_A.txt"
    assert not mutag.available(tmp_path)
    raw.mkdir(parents=True)
    for file in mutag.files[1:]:
        (raw / file).write_text("")
    assert mutag.missing_files(tmp_path) == [raw / "MUTAG_A.txt"]
    (raw / "MUTAG_A.txt").write_text("")
    assert mutag.available(tmp_path)
    assert mutag.home(tmp_path) == raw


def test_a_download_in_the_cache_counts(tmp_path: Path, own_cache: Path) -> None:
    bace = info_of("ogbg-molbace")
    for file in bace.files:
        path = own_cache / bace.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert bace.available(tmp_path)
    assert bace.home(tmp_path) == own_cache / "ogb" / "ogbg_molbace"


def test_digits_are_always_there(tmp_path: Path) -> None:
    assert info_of("digits").missing_files(tmp_path) == []


def test_other_tu_sets_are_found(tmp_path: Path, write_tu: Callable[..., Path], own_cache: Path) -> None:
    write_tu(tmp_path / "TUDataset" / "PROTEINS" / "raw", name="PROTEINS")
    write_tu(own_cache / "TUDataset" / "ENZYMES" / "raw", name="ENZYMES")
    assert set(tu_sets_at_hand(tmp_path)) == {"PROTEINS", "ENZYMES"}
    assert tu_sets_at_hand(tmp_path / "nothing") == {"ENZYMES": own_cache / "TUDataset" / "ENZYMES" / "raw"}
