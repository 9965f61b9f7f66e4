from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.datasets import graph_task
from graphcondense.errors import FileFormatError, InputError
from graphcondense.graphs import payload_bytes
from graphcondense.synthetic import (
    Categories,
    CondensedDataset,
    CondensedGraph,
    check_categories,
    load_condensed,
    snap,
)
from tests.made_up import toy_nodes, toy_task


def learned(seed: int = 0) -> CondensedDataset:
    """Training graphs of the toy task whose one-hot features were disturbed a little."""
    task = toy_task()
    graphs = task.train.subset(torch.arange(6))
    noise = 0.3 * torch.randn(graphs.x.shape, generator=torch.Generator().manual_seed(seed))
    return CondensedDataset(replace(graphs, x=graphs.x + noise), 2, info={"dataset": "toy"})


@settings(max_examples=40, deadline=None)
@given(
    columns=st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=9, unique=True), min_size=1, max_size=5),
    nodes=st.integers(1, 30),
    seed=st.integers(0, 1000),
)
def test_whole_numbers_pack_into_few_bits_and_come_back(columns: list[list[int]], nodes: int, seed: int) -> None:
    categories = Categories(len(columns), False, tuple(tuple(sorted(c)) for c in columns))
    source = torch.Generator().manual_seed(seed)
    codes = torch.stack([torch.randint(len(c), (nodes,), generator=source) for c in columns], dim=1)
    x = categories.features(codes)
    assert torch.equal(categories.codes(x), codes)
    packed = categories.pack(x)
    assert packed.numel() == categories.num_bytes(nodes) == -(-nodes * sum(categories.bits) // 8)
    assert torch.equal(categories.unpack(packed, nodes), x)
    assert Categories.from_dict(json.loads(json.dumps(categories.to_dict()))) == categories


def test_the_nearest_category_is_the_nearest_by_distance() -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(200, 5, generator=source)
    hot = Categories(5, True, ((0, 2, 3, 4),))
    near = torch.cdist(x, torch.eye(5)[[0, 2, 3, 4]]).argmin(1)
    assert torch.equal(hot.codes(x).flatten(), near)
    whole = Categories(5, False, ((-1, 0, 1),) * 5)
    assert torch.equal(whole.snap(x), x.round().clamp(-1, 1))
    assert torch.equal(whole.snap(whole.snap(x)), whole.snap(x))


def test_which_features_are_categories() -> None:
    hot = Categories.of(torch.eye(7)[[0, 2, 2, 6]])
    assert hot is not None and hot.one_hot and hot.values == ((0, 2, 6),) and hot.bits == (2,)
    bag = Categories.of(torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    assert bag is not None and not bag.one_hot and bag.values == ((0, 1), (1,)) and bag.bits == (1, 0)
    assert Categories.of(torch.tensor([[0.5, 0.5]])) is None
    assert Categories.of(torch.arange(300.0).unsqueeze(1)) is None  # counts, not categories


def test_a_snapped_set_is_smaller_and_comes_back(tmp_path: Path) -> None:
    before, task = learned(), toy_task()
    after = snap(before, task)
    assert isinstance(after, CondensedDataset)
    assert bool((after.graphs.x.sum(1) == 1).all()) and after.graphs.x.unique().tolist() == [0, 1]
    assert torch.equal(after.graphs.x.argmax(1), before.graphs.x.argmax(1))
    file = after.save(tmp_path / "a.safetensors")
    assert file.stat().st_size == after.num_bytes
    with safe_open(file, framework="pt") as stream:
        assert stream.get_tensor("codes").numel() == -(-len(after.graphs.x) * 2 // 8)  # 4 kinds: 2 bits a node
        assert "x" not in stream.keys()  # noqa: SIM118
    back = CondensedDataset.load(file)
    assert torch.equal(back.graphs.x, after.graphs.x) and back.categories == after.categories
    assert back.save(tmp_path / "b.safetensors").read_bytes() == file.read_bytes()


def test_the_original_is_counted_in_the_same_packing() -> None:
    task = toy_task()
    after = snap(learned(), task)
    bits = int((task.train.num_nodes * (task.train.num_nodes - 1) // 2).sum())
    expected = -(-bits // 8) + -(-2 * len(task.train.x) // 8) + 8 * len(task.train)
    assert (
        after.info["original_bytes"]
        == expected
        == payload_bytes(task.train, after.categories.num_bytes(len(task.train.x)))
    )


def test_files_of_before_are_written_and_read_as_before(tmp_path: Path) -> None:
    with safe_open(learned().save(tmp_path / "a.safetensors"), framework="pt") as stream:
        meta = json.loads(stream.metadata()["graphcondense"])
    assert meta["format"] == 1 and "categories" not in meta


def test_what_cannot_be_snapped_is_said() -> None:
    with pytest.raises(InputError, match="toy nodes are not categories"):
        check_categories(toy_nodes())
    wide = graph_task([*toy_task().graphs], name="other")
    narrow = CondensedDataset(replace(learned().graphs, x=torch.zeros(len(learned().graphs.x), 2)), 2)
    with pytest.raises(InputError, match=r"2 features a node, other has 4"):
        snap(narrow, wide)
    after = snap(learned(), toy_task())
    with pytest.raises(InputError, match="snap them again"):
        replace(after, graphs=learned().graphs).num_bytes  # noqa: B018


def test_a_node_task_of_words_is_snapped(tmp_path: Path) -> None:
    task = toy_nodes()
    words = replace(task, graph=replace(task.graph, x=(task.graph.x > 0.5).float()))
    own = task.graph.induced(torch.arange(8))
    after = snap(CondensedGraph(own, 3), words)
    back = load_condensed(after.save(tmp_path / "a.safetensors"))
    assert isinstance(back, CondensedGraph) and torch.equal(back.graph.x, after.graph.x)  # type: ignore[union-attr]
    assert set(back.graph.x.unique().tolist()) <= {0.0, 1.0}


def damaged(path: Path, tmp_path: Path, meta: dict[str, object] | None = None, codes: Tensor | None = None) -> Path:
    with safe_open(path, framework="pt") as stream:
        header = json.loads(stream.metadata()["graphcondense"])
        tensors = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118
    header |= meta or {}
    if codes is not None:
        tensors["codes"] = codes
    target = tmp_path / "damaged.safetensors"
    target.write_bytes(to_safetensors(tensors, {"graphcondense": json.dumps(header)}))
    return target


def test_damaged_categories_are_refused(tmp_path: Path) -> None:
    three = Categories(4, True, ((0, 1, 2),))
    graphs = learned().graphs
    after = CondensedDataset(replace(graphs, x=three.snap(graphs.x)), 2, categories=three)
    path = after.save(tmp_path / "a.safetensors")
    full = torch.full((three.num_bytes(len(graphs.x)),), 255, dtype=torch.uint8)
    known = three.to_dict()
    cases: list[tuple[dict[str, object], Tensor | None, str]] = [
        ({}, full[:-1], "node counts disagree"),
        ({}, full, "beyond the 3|bits after the last"),
        ({"categories": None}, None, "not complete"),
        ({"categories": known | {"values": [[0, 0, 1]]}}, None, "ascending"),
        ({"categories": known | {"values": [[0, 1, 9]]}}, None, "one-hot columns"),
        ({"categories": known | {"width": 10**9}}, None, "width"),
        ({"format": 1}, None, "it holds"),
        ({"format": 3}, None, "has format 3; this version reads 1 and 2"),
    ]
    for meta, codes, message in cases:
        with pytest.raises(FileFormatError, match=message):
            load_condensed(damaged(path, tmp_path, meta, codes))
