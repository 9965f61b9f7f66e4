from __future__ import annotations

import json
import pickle
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.errors import (
    FileFormatError,
    GraphcondenseError,
    InputError,
    MissingDataError,
    WouldOverwriteError,
)
from graphcondense.graphs import GraphStore, payload_bytes
from graphcondense.synthetic import CondensedDataset
from graphcondense.synthetic.file import pack_structure, serialise, unpack_structure
from tests.made_up import random_graph, random_store

Tensors = dict[str, Tensor]


def store_of(sizes: list[int], seed: int = 0, density: float = 0.4, directed: bool = False) -> GraphStore:
    source = torch.Generator().manual_seed(seed)
    graphs = [random_graph(source, n, density=density, label=i % 2, directed=directed) for i, n in enumerate(sizes)]
    return GraphStore.from_data_list(graphs, directed=directed)


def edge_set(graphs: GraphStore) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in graphs.edge_index.t()}


def assert_same_graphs(left: GraphStore, right: GraphStore) -> None:
    assert torch.equal(left.x, right.x)
    assert torch.equal(left.node_ptr, right.node_ptr)
    assert torch.equal(left.edge_ptr, right.edge_ptr)
    assert torch.equal(left.y, right.y)
    assert left.directed == right.directed
    assert left.edge_index.shape == right.edge_index.shape
    assert edge_set(left) == edge_set(right)


def a_dataset(**changes: Any) -> CondensedDataset:
    values: dict[str, Any] = {"graphs": random_store(5), "num_classes": 2, "info": {"dataset": "toy", "seed": 3}}
    return CondensedDataset(**(values | changes))


# --- packing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("sizes", "density"),
    [([1], 0.5), ([1, 1, 1], 0.5), ([4, 3], 0.0), ([5], 1.0), ([1, 7, 2, 1, 30], 0.3), ([8] * 4, 0.5), ([200], 0.1)],
)
def test_unpacking_gives_what_was_packed(sizes: list[int], density: float, directed: bool) -> None:
    graphs = store_of(sizes, density=density, directed=directed)
    edge_index, counts = unpack_structure(pack_structure(graphs), graphs.num_nodes, directed)
    assert {(int(a), int(b)) for a, b in edge_index.t()} == edge_set(graphs)
    assert edge_index.shape == graphs.edge_index.shape
    assert torch.equal(counts, graphs.edge_ptr.diff())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 10**6), st.booleans())
def test_unpacking_gives_what_was_packed_for_any_sizes(sizes: list[int], seed: int, directed: bool) -> None:
    graphs = store_of(sizes, seed, directed=directed)
    edge_index, counts = unpack_structure(pack_structure(graphs), graphs.num_nodes, directed)
    assert {(int(a), int(b)) for a, b in edge_index.t()} == edge_set(graphs)
    assert torch.equal(counts, graphs.edge_ptr.diff())


def test_every_pair_of_the_upper_triangle_has_a_bit_of_its_own() -> None:
    nodes = 9
    for position, (row, col) in enumerate((i, j) for i in range(nodes) for j in range(i + 1, nodes)):
        one = GraphStore(
            torch.zeros(nodes, 1),
            torch.tensor([[row, col], [col, row]]),
            torch.tensor([0, nodes]),
            torch.tensor([0, 2]),
            torch.tensor([0]),
        )
        packed = pack_structure(one).tolist()
        assert packed[position // 8] == 128 >> position % 8
        assert sum(packed) == packed[position // 8]


def test_bits_of_a_directed_graph_are_all_entries() -> None:
    # The edge from 2 to 0 is the entry [0, 2] of a 3 x 3 matrix: the third of nine bits.
    one = GraphStore(
        torch.zeros(3, 1),
        torch.tensor([[2], [0]]),
        torch.tensor([0, 3]),
        torch.tensor([0, 1]),
        torch.tensor([0]),
        directed=True,
    )
    assert pack_structure(one).tolist() == [0b0010_0000, 0]


# 4, 1, 5 and 3 nodes: 6 + 0 + 10 + 3 = 19 pairs, and 16 + 1 + 25 + 9 = 51 entries.
@pytest.mark.parametrize(("directed", "structure"), [(False, 3), (True, 7)])
def test_the_payload_is_what_the_design_says(tmp_path: Path, directed: bool, structure: int) -> None:
    graphs = store_of([4, 1, 5, 3], directed=directed)
    path = CondensedDataset(graphs, 2).save(tmp_path / "a.safetensors")
    with safe_open(path, framework="pt") as stream:
        tensors = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118
        (text,) = stream.metadata().values()
    assert tensors["structure"].numel() == structure
    assert tensors["structure"].dtype == torch.uint8
    count, nodes = len(graphs), int(graphs.num_nodes.sum())
    assert payload_bytes(graphs) == structure + nodes * 3 * 4 + count * 4 + count * 4
    assert sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()) == payload_bytes(graphs)
    assert json.loads(text)["format"] == 1


# --- writing and reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("soft", [False, True])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, directed: bool, soft: bool) -> None:
    graphs = random_store(7, directed=directed)
    if soft:
        y = torch.rand(7, 2, generator=torch.Generator().manual_seed(0)).softmax(1)
        graphs = GraphStore(**{**vars(graphs), "y": y})
    info = {"dataset": "toy", "settings": {"nodes": None, "rate": 0.1}, "classes": ["-1", "ä"]}
    saved = CondensedDataset(graphs, 2, "roc_auc", info)
    first = saved.save(tmp_path / "a.safetensors")
    loaded = CondensedDataset.load(first)
    assert_same_graphs(loaded.graphs, graphs)
    assert (loaded.num_classes, loaded.metric, loaded.info) == (2, "roc_auc", info)
    second = loaded.save(tmp_path / "b.safetensors")
    assert first.read_bytes() == second.read_bytes()


def test_the_same_content_gives_the_same_bytes_in_whatever_order_it_comes() -> None:
    graphs = random_store(4)
    backwards = [
        torch.arange(int(a), int(b)).flip(0) for a, b in zip(graphs.edge_ptr, graphs.edge_ptr[1:], strict=False)
    ]
    shuffled = GraphStore(**{**vars(graphs), "edge_index": graphs.edge_index[:, torch.cat(backwards)]})
    header = {"num_classes": 2, "metric": "accuracy", "info": {"a": 1, "b": {"c": 2, "d": 3}}}
    turned = {"info": {"b": {"d": 3, "c": 2}, "a": 1}, "metric": "accuracy", "num_classes": 2}
    assert serialise(graphs, header) == serialise(shuffled, turned)
    assert serialise(graphs, header) != serialise(graphs, {**header, "num_classes": 3})


def test_the_file_is_not_a_pickle_and_can_be_read_by_others(tmp_path: Path) -> None:
    path = a_dataset().save(tmp_path / "a.safetensors")
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(path.read_bytes())
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_nothing_is_overwritten_unless_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(WouldOverwriteError, match=r"a\.safetensors exists.*--force"):
        a_dataset().save(path)
    assert path.read_bytes() == b"old"
    a_dataset().save(path, force=True)
    assert len(CondensedDataset.load(path)) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("name", ["a.pt", "a", "a.safetensors.gz"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"must end in \.safetensors"):
        a_dataset().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GraphcondenseError, match=r"^cannot write .*a\.safetensors: \S.*$"):
        a_dataset().save(tmp_path / "file" / "a.safetensors")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"nowhere\.safetensors is not there"):
        CondensedDataset.load(tmp_path / "nowhere.safetensors")
    with pytest.raises(MissingDataError, match="is not there"):
        CondensedDataset.load(tmp_path)


# --- damage ----------------------------------------------------------------------------------------------------------


def parts(**changes: Any) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and header of a good file: graphs of 3, 1 and 4 nodes (3 + 0 + 6 pairs, 2 bytes)."""
    tensors = {
        "structure": torch.tensor([0b1011_0100, 0b1000_0000], dtype=torch.uint8),
        "x": torch.arange(16, dtype=torch.float32).view(8, 2),
        "labels": torch.tensor([0, 1, 1], dtype=torch.int32),
        "num_nodes": torch.tensor([3, 1, 4], dtype=torch.int32),
    }
    header = {"format": 1, "directed": False, "num_classes": 2, "metric": "accuracy", "info": {}}
    for key, value in changes.items():
        part = tensors if key in tensors else header
        part[key] = value
    return tensors, header


def write_file(path: Path, tensors: Tensors, header: object) -> Path:
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(to_safetensors(tensors, {"graphcondense": text}))
    return path


def assert_refused(path: Path, *words: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        CondensedDataset.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    for word in words:
        assert word in message


def test_the_file_that_the_damage_starts_from_is_good(tmp_path: Path) -> None:
    loaded = CondensedDataset.load(write_file(tmp_path / "a.safetensors", *parts()))
    assert loaded.graphs.num_edges.tolist() == [2, 0, 3]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"num_nodes": torch.tensor([3, 1, 3], dtype=torch.int32)}, "features and node counts disagree"),
        ({"num_nodes": torch.tensor([2, 2, 4], dtype=torch.int32)}, "structure and node counts disagree"),
        ({"num_nodes": torch.tensor([3, 5], dtype=torch.int32)}, "disagree"),
        ({"num_nodes": torch.tensor([3, -1, 6], dtype=torch.int32)}, "a graph without nodes"),
        ({"num_nodes": torch.tensor([3, 0, 5], dtype=torch.int32)}, "a graph without nodes"),
        ({"num_nodes": torch.tensor([2**31 - 1] * 3, dtype=torch.int32)}, "disagree"),
        ({"num_nodes": torch.tensor([3, 1, 4])}, "node counts"),
        ({"num_nodes": torch.tensor([3.0, 1.0, 4.0])}, "node counts"),
        ({"num_nodes": torch.tensor([], dtype=torch.int32)}, "no node counts"),
        ({"num_nodes": torch.tensor(8, dtype=torch.int32)}, "node counts"),
        ({"structure": torch.zeros(3, dtype=torch.uint8)}, "structure and node counts disagree"),
        ({"structure": torch.zeros(2, dtype=torch.int8)}, "structure that is not bits"),
        ({"structure": torch.zeros(1, 2, dtype=torch.uint8)}, "structure that is not bits"),
        ({"directed": True}, "structure and node counts disagree"),
        ({"x": torch.full((8, 2), float("nan"))}, "not finite"),
        ({"x": torch.full((8, 2), float("inf"))}, "not finite"),
        ({"x": torch.zeros(8, 2, dtype=torch.float64)}, "features"),
        ({"x": torch.zeros(8)}, "features"),
        ({"x": torch.zeros(8, 0)}, "features"),
        ({"x": torch.zeros(7, 2)}, "features and node counts disagree"),
        ({"labels": torch.tensor([0, 1, 2], dtype=torch.int32)}, "a label that is not a class"),
        ({"labels": torch.tensor([0, 1, -1], dtype=torch.int32)}, "a label that is not a class"),
        ({"labels": torch.tensor([0, 1], dtype=torch.int32)}, "labels and node counts disagree"),
        ({"labels": torch.tensor([0, 1, 1])}, "labels"),
        ({"labels": torch.zeros(3, 1, dtype=torch.int32)}, "labels"),
        ({"labels": torch.tensor([[0.5, 0.5], [1.5, -0.5], [1, 0]])}, "not probabilities"),
        ({"labels": torch.tensor([[0.5, 0.5], [float("nan"), 0], [1, 0]])}, "not probabilities"),
        ({"labels": torch.full((3, 3), 0.2)}, "soft labels of a wrong shape"),
        ({"labels": torch.full((3,), 0.2)}, "soft labels of a wrong shape"),
        ({"labels": torch.full((3, 2), 0.5, dtype=torch.float64)}, "soft labels"),
        ({"format": 3}, "format 3"),
        ({"format": "1"}, "format '1'"),
        ({"format": None}, "format None"),
        ({"directed": 0}, "'directed'"),
        ({"num_classes": True}, "'num_classes'"),
        ({"num_classes": "2"}, "'num_classes'"),
        ({"num_classes": 0}, "0 classes"),
        ({"num_classes": 10**12}, "classes"),
        ({"metric": 7}, "'metric'"),
        ({"metric": "f1"}, "'f1'"),
        ({"info": []}, "'info'"),
        ({"info": None}, "'info'"),
    ],
)
def test_a_damaged_field_is_named(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    assert_refused(write_file(tmp_path / "a.safetensors", *parts(**changes)), word)


def test_loops_in_a_directed_file_are_refused(tmp_path: Path) -> None:
    # A store has no loops, so the diagonal of a directed structure must be empty.
    tensors, header = parts(directed=True, structure=torch.full((4,), 255, dtype=torch.uint8))
    assert_refused(write_file(tmp_path / "a.safetensors", tensors, header), "structure")


@pytest.mark.parametrize("field", ["directed", "num_classes", "metric", "info", "format"])
def test_a_header_field_that_is_missing_is_named(tmp_path: Path, field: str) -> None:
    tensors, header = parts()
    del header[field]
    assert_refused(write_file(tmp_path / "a.safetensors", tensors, header), field)


@pytest.mark.parametrize("header", ["", "{", "not json", "[" * 100_000, "[1]", '"text"', "null", "1"])
def test_a_header_that_is_no_json_object_is_refused(tmp_path: Path, header: str) -> None:
    assert_refused(write_file(tmp_path / "a.safetensors", parts()[0], header), "header is not")


def test_missing_and_extra_tensors_are_named(tmp_path: Path) -> None:
    tensors, header = parts()
    assert_refused(write_file(tmp_path / "a.safetensors", {**tensors, "more": torch.zeros(1)}, header), "'more'")
    del tensors["labels"]
    assert_refused(write_file(tmp_path / "a.safetensors", tensors, header), "'labels'")


def test_a_foreign_safetensors_file_is_told_from_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(to_safetensors({"weight": torch.zeros(3)}, metadata))
        assert_refused(path, "not one that graphcondense wrote")


class Bomb:
    """Raises if anybody unpickles it."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return explode, ("unpickled",)


def explode(text: str) -> None:
    raise AssertionError(text)


def test_what_is_no_safetensors_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    good = a_dataset().save(tmp_path / "good.safetensors").read_bytes()
    torch.save({"x": torch.zeros(3)}, tmp_path / "model.pt")
    contents = {
        "empty": b"",
        "short": b"\x01",
        "pickle": pickle.dumps(Bomb()),
        "torch": (tmp_path / "model.pt").read_bytes(),
        "zeros": bytes(100),
        "ones": b"\xff" * 100,
        "text": b"graph,label\n1,2\n",
        "truncated header": good[:20],
        "truncated": good[:-1],
        "longer": good + b"x",
    }
    for content in contents.values():
        path.write_bytes(content)
        assert_refused(path)


def test_sizes_that_no_machine_has_are_refused_without_asking_for_them(tmp_path: Path) -> None:
    # A header that promises 2**60 bytes, and node counts whose pairs would need 2**61 bits.
    promised = json.dumps({"x": {"dtype": "F32", "shape": [2**58], "data_offsets": [0, 2**60]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(promised).to_bytes(8, "little") + promised)
    assert_refused(path)
    tensors, header = parts(num_nodes=torch.tensor([2**31 - 1, 2**31 - 1, 10], dtype=torch.int32))
    assert_refused(write_file(path, tensors, header), "disagree")


@pytest.mark.parametrize("kind", ["F4", "F6_E2M3", "F8_E4M3", "F8_E8M0", "BF16", "F16", "U64", "BOOL", "C64", "XYZ"])
def test_other_kinds_of_numbers_are_refused(tmp_path: Path, kind: str) -> None:
    bits = {"F4": 4, "F6": 6, "F8": 8, "BF": 16, "F1": 16, "U6": 64, "BO": 8, "C6": 64, "XY": 8}[kind[:2]]
    fields, end = {}, 0
    for name in ("structure", "x", "labels", "num_nodes"):
        fields[name] = {"dtype": kind, "shape": [8, 2], "data_offsets": [end, end + 2 * bits]}
        end += 2 * bits
    header = {"__metadata__": {"graphcondense": json.dumps(parts()[1])}, **fields}
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(end))
    assert_refused(path)


GOOD = serialise(random_store(4), {"num_classes": 2, "metric": "accuracy", "info": {}})


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4),
    st.one_of(st.none(), st.integers(0, len(GOOD) - 1)),
)
def test_random_damage_is_loaded_or_refused_and_nothing_else(flips: list[tuple[int, int]], length: int | None) -> None:
    content = bytearray(GOOD)
    for place, value in flips:
        content[place] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        path.write_bytes(bytes(content[:length]))
        try:
            loaded = CondensedDataset.load(path)
        except GraphcondenseError as error:
            assert "\n" not in str(error)
        else:
            assert len(loaded.to_pyg()) == len(loaded) == 4
