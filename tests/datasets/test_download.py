from __future__ import annotations

import socket
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from torch_geometric.datasets import TUDataset

from graphcondense.datasets import DatasetInfo
from graphcondense.datasets.catalogue import find_known
from graphcondense.datasets.download import extract, fetch
from graphcondense.errors import MissingDataError


def info_of(name: str) -> DatasetInfo:
    info = find_known(name)
    assert info is not None
    return info


def pack(folder: Path, archive: Path, inside: str) -> None:
    with zipfile.ZipFile(archive, "w") as content:
        for file in folder.rglob("*"):
            content.write(file, f"{inside}/{file.relative_to(folder)}")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("MUTAG", "TUDataset/MUTAG/raw/MUTAG_A.txt (and 3 more)"),
        ("ogbg-molhiv", "ogb/ogbg_molhiv/raw/num-node-list.csv.gz (and 7 more)"),
        ("CIFAR10", "superpixels/CIFAR10/train.npz (and 1 more)"),
        ("amazon-ego", "Amazon/Photo/raw/amazon_electronics_photo.npz"),
    ],
)
def test_without_a_network_the_file_is_named_at_once(tmp_path: Path, name: str, file: str) -> None:
    start = time.perf_counter()
    with pytest.raises(MissingDataError) as caught:
        fetch(info_of(name), tmp_path)
    assert time.perf_counter() - start < 5
    message = str(caught.value)
    assert f"{tmp_path}/{file} is missing" in message
    assert "put it there, or set --data-root or $GRAPHCONDENSE_DATA" in message
    assert "\n" not in message
    assert socket.getdefaulttimeout() is None
    assert list(tmp_path.iterdir()) == []


def test_a_tu_set_comes_by_pyg_and_only_its_raw_files_stay(
    tmp_path: Path, write_tu: Callable[..., Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(write_tu(name="MUTAG"), tmp_path / "MUTAG.zip", "MUTAG")
    monkeypatch.setattr(TUDataset, "url", tmp_path.as_uri())
    home = fetch(info_of("MUTAG"), tmp_path / "root")
    assert home == own_cache / "TUDataset" / "MUTAG" / "raw"
    assert info_of("MUTAG").available(tmp_path / "root")
    assert [p.name for p in own_cache.iterdir()] == ["TUDataset"]
    assert [p.name for p in home.parent.iterdir()] == ["raw"]


def test_an_ogb_set_comes_from_its_zip_file(tmp_path: Path, write_ogb: Callable[..., Path], own_cache: Path) -> None:
    pack(write_ogb(), tmp_path / "bace.zip", "bace")
    info = replace(info_of("ogbg-molbace"), url=(tmp_path / "bace.zip").as_uri())
    kept = own_cache / info.folder / "raw" / "edge.csv.gz"
    kept.parent.mkdir(parents=True)
    kept.write_text("put there by the user")
    assert fetch(info, tmp_path / "root") == own_cache / "ogb" / "ogbg_molbace"
    assert kept.read_text() == "put there by the user"
    assert [p.name for p in own_cache.iterdir()] == ["ogb"]


def test_a_download_of_something_else_is_refused(tmp_path: Path, own_cache: Path) -> None:
    (tmp_path / "page.zip").write_text("<html>")
    info = replace(info_of("ogbg-molbace"), url=(tmp_path / "page.zip").as_uri())
    with pytest.raises(MissingDataError, match=r"downloading it failed \(File is not a zip file\)"):
        fetch(info, tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").write_text("")
    pack(tmp_path / "other", tmp_path / "page.zip", "x")
    with pytest.raises(MissingDataError, match=r"has no raw/edge\.csv\.gz in it"):
        fetch(info, tmp_path)
    assert list(own_cache.iterdir()) == []


def test_an_incomplete_download_is_said(tmp_path: Path, write_ogb: Callable[..., Path]) -> None:
    folder = write_ogb()
    (folder / "split" / "scaffold" / "test.csv.gz").unlink()
    pack(folder, tmp_path / "bace.zip", "bace")
    info = replace(info_of("ogbg-molbace"), url=(tmp_path / "bace.zip").as_uri())
    with pytest.raises(MissingDataError, match="is missing, and the download lacks it"):
        fetch(info, tmp_path / "root")


@pytest.mark.parametrize("name", ["../outside", "/tmp/graphcondense-outside", "a/../../outside"])
def test_a_zip_file_cannot_write_outside(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as content:
        content.writestr(name, "x")
    with pytest.raises(ValueError, match="outside of its folder"):
        extract(tmp_path / "bad.zip", tmp_path / "target")
    assert not (tmp_path / "target").exists()
