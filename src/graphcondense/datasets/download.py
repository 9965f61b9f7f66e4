"""Fetching what is not at hand, quickly giving up where there is no network."""

from __future__ import annotations

import shutil
import socket
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch_geometric.datasets import Amazon, TUDataset

from graphcondense.datasets.catalogue import DatasetInfo, Layout
from graphcondense.datasets.places import HOW_TO_POINT, cache_root
from graphcondense.errors import MissingDataError

PATIENCE = 10.0
"""Seconds without an answer after which there is no network."""


def fetch(info: DatasetInfo, root: str | Path | None = None) -> Path:
    """Download a known dataset into the cache, in the layout that it has below the data root.

    Args:
        info: the dataset.
        root: the data root, which the message names if it does not work.

    Returns:
        The dataset's folder.
    """
    target = cache_root() / info.folder
    fetchers = {Layout.TU: _fetch_tu, Layout.OGB: _fetch_ogb, Layout.AMAZON: _fetch_amazon}
    reason = "it cannot be downloaded"
    if info.layout in fetchers:
        try:
            with _impatient():
                fetchers[info.layout](info, target)
        except Exception as error:
            # Whatever goes wrong on the way (no network, no space, a page instead of a file), the user's remedy is one.
            reason = f"downloading it failed ({' '.join(str(error).split())[:120] or type(error).__name__})"
        else:
            reason = "the download lacks it"
    missing = info.missing_files(root)
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise MissingDataError(
            f"{info.name}: {missing[0]}{more} is missing, and {reason}: put it there, or {HOW_TO_POINT}"
        )
    return info.home(root)


def _fetch_tu(info: DatasetInfo, target: Path) -> None:
    """By PyG's own loader, aside, for it writes files of its own next to the raw ones."""
    # PyG's transport waits for minutes where there is no network, so ask first.
    request = urllib.request.Request(f"{TUDataset.url}/{info.name}.zip", method="HEAD")
    urllib.request.urlopen(request, timeout=PATIENCE).close()
    with _aside() as folder:
        TUDataset(str(folder), info.name)
        _move(folder / info.name / "raw", target)


def _fetch_amazon(info: DatasetInfo, target: Path) -> None:
    """By PyG's own loader, aside, for it writes files of its own next to the raw ones."""
    urllib.request.urlopen(
        urllib.request.Request(f"{Amazon.url}{info.files[0]}", method="HEAD"), timeout=PATIENCE
    ).close()
    with _aside() as folder:
        Amazon(str(folder), "Photo")
        _move(folder / "Photo" / "raw", target)


def _fetch_ogb(info: DatasetInfo, target: Path) -> None:
    """From OGB's zip file, for its package does not load under today's torch."""
    with _aside() as folder:
        archive = folder / "download.zip"
        with urllib.request.urlopen(info.url, timeout=PATIENCE) as answer, archive.open("wb") as file:
            shutil.copyfileobj(answer, file)
        extract(archive, folder / "content")
        edges = next((folder / "content").glob("**/raw/edge.csv.gz"), None)
        if edges is None:
            raise ValueError(f"{info.url} has no raw/edge.csv.gz in it")
        _move(edges.parent.parent, target)


def extract(archive: Path, target: Path) -> None:
    """Unpack a zip file, refusing one that would write outside of ``target``."""
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            if not (target / name).resolve().is_relative_to(target.resolve()):
                raise ValueError(f"the zip file would write to {name!r}, outside of its folder")
        content.extractall(target)


@contextmanager
def _impatient() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def _aside() -> Iterator[Path]:
    """A temporary folder in the cache, so that moving out of it is a rename."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_root(), prefix="download-") as folder:
        yield Path(folder)


def _move(source: Path, target: Path) -> None:
    """Put the files of a finished download in their places, leaving alone what the user may have put there."""
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        place = target / file.relative_to(source)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            file.rename(place)
