from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphcondense.datasets import superpixels
from graphcondense.datasets.superpixels import Superpixels, join, load_superpixels, nearest_neighbours, read_superpixels
from graphcondense.errors import FileFormatError, MissingDataError

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def small_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superpixels, "VALIDATION_IMAGES", 6)


def plain_affinity(pos: np.ndarray, color: np.ndarray) -> np.ndarray:
    """The affinity of one image, written as the benchmark's paper has it, one pair at a time."""
    n = len(pos)
    exponent = np.zeros((n, n))
    for values in (pos, color):
        distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in values] for a in values])
        sigma = np.array([np.sort(row)[:9].sum() / 8 + 1e-8 for row in distance])
        exponent -= (distance / sigma[:, None]) ** 2
    affinity = np.exp(exponent)
    affinity = 0.5 * (affinity + affinity.T)
    np.fill_diagonal(affinity, 0)
    return affinity


def check_against_plain(pixels: Superpixels) -> None:
    neighbours = nearest_neighbours(pixels)
    start = 0
    for size in pixels.num_nodes.tolist():
        nodes = slice(start, start + size)
        affinity = plain_affinity(pixels.pos[nodes].double().numpy(), pixels.color[nodes].double().numpy())
        for node, row in enumerate(neighbours[nodes].tolist()):
            assert len(set(row)) == 8 and node not in row
            # By affinity, not by index: which of two equally near nodes is taken does not matter.
            chosen = np.sort(affinity[node, row])
            np.testing.assert_allclose(chosen, np.sort(affinity[node])[-8:], rtol=1e-3)
        start += size


def random_pixels(sizes: list[int]) -> Superpixels:
    generator = torch.Generator().manual_seed(0)
    total = sum(sizes)
    return Superpixels(
        color=torch.rand(total, 3, generator=generator),
        pos=torch.rand(total, 2, generator=generator),
        num_nodes=torch.tensor(sizes),
        y=torch.arange(len(sizes)) % 2,
    )


def test_neighbours_are_those_of_the_plain_loop() -> None:
    check_against_plain(random_pixels([30, 10, 45, 12]))


def test_neighbours_of_real_images_are_those_of_the_plain_loop(needs_data: Callable[[str], Path]) -> None:
    pixels = read_superpixels(needs_data("CIFAR10") / "superpixels" / "CIFAR10" / "test.npz")
    total = int(pixels.num_nodes[:2].sum())
    check_against_plain(Superpixels(pixels.color[:total], pixels.pos[:total], pixels.num_nodes[:2], pixels.y[:2]))


def test_an_image_does_not_depend_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = random_pixels([30, 10, 45, 4, 12])
    together = nearest_neighbours(pixels)
    monkeypatch.setattr(superpixels, "_CHUNK", 1)
    assert torch.equal(nearest_neighbours(pixels), together)


def test_nodes_far_beyond_the_scale_still_have_an_order() -> None:
    # Nine white nodes far apart, each within ten black ones: as all whites are of the very same colour, and all blacks
    # too, the colours' scale is next to nothing and white to black has no affinity; white to white has exp(-1000).
    white = torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0))
    black = (white[:, None] + 0.01 * torch.rand(10, 2, generator=torch.Generator().manual_seed(0))).view(-1, 2)
    pos = torch.cat([white, black])
    color = torch.zeros(99, 3)
    color[:9] = 1
    assert plain_affinity(pos.double().numpy(), color.double().numpy())[:9].max() == 0
    neighbours = nearest_neighbours(Superpixels(color, pos, torch.tensor([99]), torch.tensor([0])))
    assert neighbours[:9].tolist() == [[j for j in range(9) if j != i] for i in range(9)]


def test_small_images_are_joined_completely() -> None:
    pixels = random_pixels([9, 3, 1, 2, 20])
    store = join(pixels, nearest_neighbours(pixels))
    for graph, size in ((0, 9), (1, 3), (3, 2)):
        edges = {tuple(e) for e in store[graph].edge_index.t().tolist()}
        assert edges == {(a, b) for a in range(size) for b in range(size) if a != b}
    assert store[2].edge_index.shape == (2, 0)
    assert store[4].edge_index.shape == (2, 160)
    assert store[4].edge_index[0].bincount().eq(8).all()


def test_a_tiny_set_is_loaded_and_cached(
    write_superpixels: Write, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_superpixels()
    shares: list[float] = []
    task = load_superpixels("tiny", folder, progress=shares.append)
    assert shares[-1] == 1.0
    assert [len(part) for part in (task.train, task.val, task.test)] == [14, 6, 6]
    assert task.split.test.tolist() == list(range(20, 26))
    assert task.num_features == 5
    assert task.graphs.directed
    assert task.graphs.x.max() <= 1
    assert "not the published file" in task.notes[0]

    (cache,) = (own_cache / "derived").iterdir()
    monkeypatch.setattr(superpixels, "nearest_neighbours", lambda *_: pytest.fail("not from the cache"))
    again = load_superpixels("tiny", folder)
    assert torch.equal(again.graphs.edge_index, task.graphs.edge_index)
    monkeypatch.undo()

    cache.write_bytes(b"damaged")
    monkeypatch.setenv("GRAPHCONDENSE_CACHE", str(own_cache))
    monkeypatch.setattr(superpixels, "VALIDATION_IMAGES", 6)
    assert torch.equal(load_superpixels("tiny", folder).graphs.edge_index, task.graphs.edge_index)
    assert cache.stat().st_size > 100


def test_other_content_is_another_cache_entry(write_superpixels: Write, own_cache: Path) -> None:
    load_superpixels("tiny", write_superpixels())
    load_superpixels("tiny", write_superpixels(label=np.arange(20) % 2))
    assert len(list((own_cache / "derived").iterdir())) == 2


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pos": None}, r"train\.npz lacks an array \(.*pos.*\): fetch the file anew"),
        ({"num_nodes": np.array([0, 5])}, "num_nodes must be numbers from 1 to 256"),
        ({"num_nodes": np.array([300])}, "num_nodes must be numbers from 1 to 256"),
        ({"num_nodes": np.array([], dtype=np.int16)}, "num_nodes must be numbers"),
        ({"label": np.zeros(3)}, r"label has shape \[3\] for 20 images"),
        ({"label": -np.ones(20)}, "may not be negative"),
        ({"color": np.zeros((4, 3))}, r"color has shape \[4, 3\] and pos \[\d+, 2\] for \d+ superpixels"),
        ({"color": np.array(["red"])}, "is not a readable .npz file"),
        ({"color": np.array([{}], dtype=object)}, "is not a readable .npz file .*Python objects, which are never read"),
    ],
)
def test_damaged_files_are_named(write_superpixels: Write, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        load_superpixels("tiny", write_superpixels(**arrays))


def test_values_that_are_not_finite_are_refused(write_superpixels: Write) -> None:
    folder = write_superpixels()
    with np.load(folder / "train.npz") as content:
        pos = np.full_like(content["pos"], np.nan)
    with pytest.raises(FileFormatError, match="color or pos is not finite"):
        load_superpixels("tiny", write_superpixels(pos=pos))


def test_missing_truncated_and_short_files_are_named(write_superpixels: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_superpixels()
    monkeypatch.setattr(superpixels, "VALIDATION_IMAGES", 20)
    with pytest.raises(FileFormatError, match=r"train\.npz has 20 images, but the last 20 are for validation"):
        load_superpixels("tiny", folder)
    file = folder / "train.npz"
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(FileFormatError, match=r"train\.npz is not a readable \.npz file"):
        load_superpixels("tiny", folder)
    file.unlink()
    with pytest.raises(MissingDataError, match=r"train\.npz is missing: put it there"):
        load_superpixels("tiny", folder)


def test_real_statistics(needs_data: Callable[[str], Path]) -> None:
    folder = needs_data("CIFAR10") / "superpixels" / "CIFAR10"
    sizes, labels = [], []
    for part in ("train", "test"):
        with np.load(folder / f"{part}.npz") as content:
            sizes.append(content["num_nodes"])
            labels.append(content["label"])
    nodes = np.concatenate(sizes)
    assert len(nodes) == 60_000
    assert round(float(nodes.mean()), 2) == 117.63
    assert round(8 * float(nodes.mean()), 2) == 941.07
    assert np.bincount(np.concatenate(labels)).tolist() == [6_000] * 10
