from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import ToSparseTensor

from graphcondense.datasets.checks import check_graphs
from graphcondense.errors import InputError

PAIR = torch.tensor([[0, 1], [1, 0]])


def graph(**changes: Any) -> Data:
    """A good graph of three nodes and one edge, with changes; ``None`` leaves an attribute out."""
    content = {"x": torch.eye(3), "edge_index": PAIR, "y": 1, **changes}
    return Data(**{key: value for key, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (None, "train is of type NoneType: a list of torch_geometric Data or a PyG dataset is needed"),
        ("MUTAG", "train is of type str"),
        (torch.eye(3), "train is of type Tensor"),
        ({0: graph()}, "train is of type dict"),
        (iter([graph()]), "train is of type list_iterator"),
        (DataLoader([graph()]), "train is of type DataLoader"),
        (graph(), "train is one graph: a list"),
        (HeteroData(), "train is one graph: a list"),
        (Batch.from_data_list([graph()]), r"train is a batch of graphs: give train\.to_data_list\(\)"),
        ([], "train has no graphs: give at least one"),
    ],
)
def test_what_is_not_a_sequence_of_graphs_is_refused(graphs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_graphs({"train": graphs})


def sparse_graph() -> Data:
    return ToSparseTensor(layout=torch.sparse_csr)(graph())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (3, r"train\[1\] is of type int: a torch_geometric Data is needed"),
        (HeteroData(), r"train\[1\] is a HeteroData: only graphs with one type of node"),
        (Batch.from_data_list([graph()]), r"train\[1\] is a batch of graphs: give the dataset itself"),
        (graph(y=None), r"train\[1\]\.y is missing: give the graph's class"),
        (graph(y=float("nan")), r"train\[1\]\.y is NaN: leave out"),
        (graph(y=torch.tensor([float("nan")])), r"train\[1\]\.y is NaN"),
        (graph(y=torch.tensor([1, 0])), r"train\[1\]\.y has 2 values \(shape \[2\]\): .*multi-label"),
        (graph(y=torch.tensor([])), r"train\[1\]\.y has 0 values"),
        (graph(y=[1, 0]), r"train\[1\]\.y has 2 values"),
        (graph(y="a"), r"train\[1\]\.y='a' is not a number"),
        (graph(y=torch.tensor(1j)), r"train\[1\]\.y=1j is not a number"),
        (graph(y=torch.tensor([0.5])), r"train\[1\]\.y=0\.5 is not a whole number: .*regression is not supported"),
        (graph(y=float("inf")), r"train\[1\]\.y=inf is not a whole number"),
        (graph(x=None, num_nodes=3), r"train\[0\] has features, but train\[1\] has none: give all graphs x, or none"),
        (graph(x=torch.ones(3, 0)), r"train\[0\] has features, but train\[1\] has none"),
        (graph(x=torch.ones(3, 5)), r"train\[0\]\.x has 3 columns, but train\[1\]\.x has 5"),
        (graph(x=torch.ones(3, 3, 1)), r"train\[1\]\.x has shape \[3, 3, 1\]: \[num_nodes, num_features\]"),
        (graph(x=torch.ones(3, 3) * 1j), r"train\[1\]\.x is complex: give real"),
        (graph(x=[[1.0]]), r"train\[1\]\.x is of type list: a tensor"),
        (graph(x=np.array(["a", "b"])), r"train\[1\]\.x is of type ndarray: a tensor of numbers"),
        (graph(x=torch.eye(3).double() * 1e300), r"train\[1\]\.x is inf at node 0, column 0: .*finite in float32"),
        (
            graph(x=torch.eye(3).index_put((torch.tensor(2), torch.tensor(1)), torch.tensor(float("nan")))),
            r"train\[1\]\.x is nan at node 2, column 1",
        ),
        (graph(x=torch.ones(0, 3)), r"train\[1\] has no nodes: leave it out"),
        (graph(num_nodes=4), r"train\[1\]\.num_nodes=4, but x has 3 rows"),
        (sparse_graph(), r"train\[1\] has adj_t but no edge_index: give edge_index"),
        (graph(edge_index=[[0, 1], [1, 0]]), r"train\[1\]\.edge_index is of type list"),
        (graph(edge_index=PAIR.float()), r"train\[1\]\.edge_index is of type torch\.float32: .*edge_index\.long\(\)"),
        (graph(edge_index=PAIR.bool()), r"train\[1\]\.edge_index is of type torch\.bool"),
        (graph(edge_index=torch.zeros(5, 2, dtype=torch.long)), r"shape \[5, 2\], but \[2, num_edges\].*transpose it"),
        (graph(edge_index=torch.zeros(4, dtype=torch.long)), r"shape \[4\], but \[2, num_edges\]"),
        (
            graph(edge_index=torch.tensor([[0, 1], [1, 3]])),
            r"train\[1\]\.edge_index has node 3 at edge 1, but the graph's nodes are 0 to 2",
        ),
        (graph(edge_index=torch.tensor([[-1], [0]])), r"train\[1\]\.edge_index has node -1 at edge 0"),
    ],
)
def test_a_bad_graph_is_named(bad: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_graphs({"train": [graph(), bad]})
    assert "\n" not in str(caught.value)


def test_the_argument_with_the_bad_graph_is_named() -> None:
    with pytest.raises(InputError, match=r"train\[0\]\.x has 3 columns, but test\[1\]\.x has 1"):
        check_graphs({"train": [graph()], "test": [graph(), graph(x=torch.ones(3))]})
    nan = torch.eye(3)
    nan[1, 0] = torch.nan
    with pytest.raises(InputError, match=r"val\[1\]\.x is nan at node 1, column 0"):
        check_graphs({"train": [graph(), graph()], "val": [graph(), graph(x=nan)]})
    with pytest.raises(InputError, match=r"val\[0\]\.y=0\.25 is not"):
        check_graphs({"train": [graph(), graph()], "val": [graph(y=0.25)]})


@pytest.mark.parametrize(
    "y", [2, 2.0, np.int64(2), np.array([2]), [2], torch.tensor(2), torch.tensor([2.0]), torch.tensor([[2]])]
)
def test_a_label_may_come_in_many_shapes(y: object) -> None:
    loose = check_graphs({"train": [graph(y=y), graph(y=-1), graph(y=True)]}).loose
    assert loose.y.tolist() == [2, -1, 1]


@pytest.mark.parametrize(
    "x", [torch.eye(3), torch.eye(3).long(), torch.eye(3).bool(), torch.eye(3).double(), torch.eye(3).half(),
          torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.eye(3, requires_grad=True), np.eye(3)]
)  # fmt: skip
def test_features_of_any_real_type_become_float32(x: object) -> None:
    joined = check_graphs({"train": [graph(x=x), graph()]}).loose.x
    assert joined is not None
    assert torch.equal(joined, torch.eye(3).repeat(2, 1))
    assert joined.dtype == torch.float32
    assert not joined.requires_grad


def test_flat_features_are_one_column() -> None:
    joined = check_graphs({"train": [graph(x=torch.arange(3))]}).loose.x
    assert joined is not None
    assert joined.tolist() == [[0.0], [1.0], [2.0]]


def test_no_features_at_all_are_left_open() -> None:
    bare = [graph(x=None, num_nodes=5), graph(x=torch.ones(4, 0), num_nodes=4), graph(x=None)]
    loose = check_graphs({"train": bare}).loose
    assert loose.x is None
    assert loose.num_nodes.tolist() == [5, 4, 2]


@pytest.mark.parametrize("edge_index", [None, torch.tensor([]), torch.empty(2, 0), torch.empty(0, 2)])
def test_no_edges_may_be_written_in_many_ways(edge_index: object) -> None:
    assert check_graphs({"train": [graph(edge_index=edge_index)]}).loose.edge_index.shape == (2, 0)


@pytest.mark.parametrize("edge_index", [PAIR.int(), PAIR.numpy(), EdgeIndex(PAIR)])
def test_edges_of_any_whole_type_are_laid_end_to_end(edge_index: object) -> None:
    edges = check_graphs({"train": [graph(), graph(edge_index=edge_index)]}).loose.edge_index
    assert edges.tolist() == [[0, 1, 3, 4], [1, 0, 4, 3]]
    assert type(edges) is torch.Tensor


def test_what_is_not_used_is_said() -> None:
    weighted = graph(edge_attr=torch.ones(2, 4), edge_weight=torch.ones(2), pos=torch.ones(3, 2))
    assert check_graphs({"train": [weighted, graph(edge_attr=torch.ones(2))]}).notes == (
        "edge_attr is not used (in 2 graphs)",
        "edge_weight is not used (in 1 graph)",
        "pos is not used (in 1 graph)",
    )


def test_graphs_are_neither_changed_nor_shared() -> None:
    graphs = [graph(x=torch.eye(3), edge_index=torch.tensor([[1, 1, 0], [1, 0, 1]]), y=torch.tensor([1]))]
    before = copy.deepcopy(graphs)
    loose = check_graphs({"train": graphs}).loose
    assert loose.x is not None
    loose.x.fill_(9)
    loose.edge_index.fill_(9)
    loose.y.fill_(9)
    for key in ("x", "edge_index", "y"):
        assert torch.equal(graphs[0][key], before[0][key])
    assert graphs[0].keys() == before[0].keys()
