from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import subgraph

from graphcondense.graphs import GraphStore, pointers, ranges
from tests.made_up import random_graph, random_nodes, random_store


def some_graphs(directed: bool = False) -> list[Data]:
    source = torch.Generator().manual_seed(5)
    return [random_graph(source, n, label=n % 3, directed=directed) for n in (4, 1, 7, 2, 5)]


def assert_same(left: Data, right: Data) -> None:
    assert torch.equal(left.x, right.x)
    assert torch.equal(left.edge_index, right.edge_index)
    assert torch.equal(torch.as_tensor(left.y), torch.as_tensor(right.y))


def test_pointers_and_ranges_by_hand() -> None:
    assert pointers(torch.tensor([], dtype=torch.long)).tolist() == [0]
    assert pointers(torch.tensor([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert ranges(torch.tensor([5, 9, 0]), torch.tensor([2, 0, 3])).tolist() == [5, 6, 0, 1, 2]


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_come_out_as_they_went_in(directed: bool) -> None:
    graphs = some_graphs(directed)
    store = GraphStore.from_data_list(graphs)
    assert store.directed == directed
    assert len(store) == store.num_graphs == 5
    for position, (before, after) in enumerate(zip(graphs, store, strict=True)):
        assert_same(before, after)
        assert_same(before, store[position - 5])


def test_the_layout_is_that_of_a_pyg_batch() -> None:
    graphs = some_graphs()
    store, batch = GraphStore.from_data_list(graphs), Batch.from_data_list(graphs)
    assert torch.equal(store.x, batch.x)
    assert torch.equal(store.edge_index, batch.edge_index)
    assert torch.equal(store.node_ptr, batch.ptr)
    assert torch.equal(store.graph_of_node, batch.batch)
    assert torch.equal(store.y, batch.y)
    assert store.num_features == 3


def test_a_graph_that_is_taken_out_may_be_changed() -> None:
    store = random_store()
    x, edges, y = store.x.clone(), store.edge_index.clone(), store.y.clone()
    graph = store[3]
    graph.x += 1
    graph.edge_index += 1
    graph.y += 1
    assert torch.equal(store.x, x) and torch.equal(store.edge_index, edges) and torch.equal(store.y, y)


@pytest.mark.parametrize("index", [5, -6, 100])
def test_an_index_that_is_not_there_is_an_error(index: int) -> None:
    store = GraphStore.from_data_list(some_graphs())
    with pytest.raises(IndexError, match=f"graph {index} of 5"):
        store[index]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("index", [[0, 1, 2, 3, 4], [4, 2], [1], [3, 3, 0, 3], [1, 1, 1], []])
def test_a_subset_is_each_graph_picked(index: list[int], directed: bool) -> None:
    store = GraphStore.from_data_list(some_graphs(directed), directed=directed)
    part = store.subset(torch.tensor(index, dtype=torch.long))
    assert len(part) == len(index)
    assert part.directed == directed
    for position, graph in zip(index, part, strict=True):
        assert_same(graph, store[position])


def test_edges_count_once_when_they_go_both_ways() -> None:
    path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), y=0)
    arrow = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=1)
    lonely = Data(x=torch.ones(1, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), y=1)
    assert GraphStore.from_data_list([path, lonely]).num_edges.tolist() == [2, 0]
    mixed = GraphStore.from_data_list([path, arrow, lonely])
    assert mixed.directed
    assert mixed.num_edges.tolist() == [4, 1, 0]
    assert mixed.num_nodes.tolist() == [3, 2, 1]


def test_one_way_edges_are_found() -> None:
    assert not random_store().has_one_way_edges()
    assert random_store(directed=True).has_one_way_edges()
    # 0 -> 1 in one graph and 1 -> 0 in another one are not each other's inverse.
    ahead = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=0)
    back = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[1], [0]]), y=0)
    assert GraphStore.from_data_list([ahead, back]).has_one_way_edges()


def test_soft_labels_are_stacked_and_hard_ones_are_a_row() -> None:
    edges = torch.zeros(2, 0, dtype=torch.long)
    rows = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    soft = GraphStore.from_data_list([Data(x=torch.ones(1, 1), edge_index=edges, y=row[None]) for row in rows])
    assert torch.equal(soft.y, rows)
    assert torch.equal(soft[1].y, rows[1:])
    for label in (2, 2.0, torch.tensor(2), torch.tensor([2]), torch.tensor([[2.0]])):
        hard = GraphStore.from_data_list([Data(x=torch.ones(1, 1), edge_index=edges, y=label)])
        assert hard.y.tolist() == [2] and hard.y.dtype == torch.long


def test_features_become_floats() -> None:
    graph = Data(x=torch.ones(2, 3, dtype=torch.int64), edge_index=torch.tensor([[0, 1], [1, 0]]), y=0)
    assert GraphStore.from_data_list([graph]).x.dtype == torch.float32


def test_to_moves_every_array() -> None:
    moved = random_store(directed=True).to("meta")
    assert moved.directed
    assert all(getattr(moved, name).is_meta for name in ("x", "edge_index", "node_ptr", "edge_ptr", "y"))


@pytest.mark.parametrize("nodes", [[5], [9, 2, 17, 4, 0], list(range(29, -1, -1)), list(range(30))], ids=len)
def test_an_induced_subgraph_is_pygs_in_the_given_order(nodes: list[int]) -> None:
    graph, index = random_nodes(density=0.3), torch.tensor(nodes)
    part = graph.induced(index)
    assert torch.equal(part.x, graph.x[index]) and torch.equal(part.y, graph.y[index])
    expected, _ = subgraph(index, graph.edge_index, num_nodes=30)  # in the numbers of the whole graph
    assert {(nodes[a], nodes[b]) for a, b in part.edge_index.T.tolist()} == {(a, b) for a, b in expected.T.tolist()}
    assert part.edge_index.shape == expected.shape
    assert part.edge_index.T.tolist() == sorted(part.edge_index.T.tolist())
    assert (part.num_graphs, part.num_nodes.tolist(), part.edge_ptr.tolist()) == (
        1,
        [len(nodes)],
        [0, expected.shape[1]],
    )
    assert not part.has_one_way_edges()
