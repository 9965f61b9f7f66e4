from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import FakeDataset
from torch_geometric.utils import k_hop_subgraph, to_undirected

from graphcondense.datasets import ego_graphs, graph_task
from graphcondense.errors import InputError

Edges = set[tuple[int, int]]


def random_data(seed: int, nodes: int = 20, edges: int = 40) -> Data:
    """A random directed graph with repeated edges and loops in it; each node's feature is its own number."""
    source = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=source)
    x = torch.arange(nodes, dtype=torch.float32).unsqueeze(1)
    return Data(x=x, edge_index=edge_index, y=torch.randint(3, (nodes,), generator=source))


def star(leaves: int = 6, tail: int = 3) -> Data:
    """Node 0 with leaves 1, 2, ..., and a path of ``tail`` more nodes that hangs on leaf 1."""
    path = [1, *range(leaves + 1, leaves + 1 + tail)]
    pairs = [(0, leaf) for leaf in range(1, leaves + 1)] + list(pairwise(path))
    nodes = 1 + leaves + tail
    return Data(x=torch.eye(nodes), edge_index=torch.tensor(pairs).T, y=torch.tensor([1] + [0] * (nodes - 1)))


def edges_of(graph: Data) -> Edges:
    """Edges by the names that the nodes have in the large graph."""
    return set(map(tuple, graph.n_id[graph.edge_index].T.tolist()))


def same(one: list[Data], two: list[Data]) -> bool:
    return len(one) == len(two) and all(
        torch.equal(a.n_id, b.n_id) and torch.equal(a.edge_index, b.edge_index) and torch.equal(a.x, b.x)
        for a, b in zip(one, two, strict=True)
    )


def distances(data: Data, centre: int) -> dict[int, int]:
    """Steps from ``centre``, along edges in both directions."""
    found, edge_index = {centre: 0}, to_undirected(data.edge_index).T.tolist()
    for step in range(1, data.num_nodes):
        for a, b in edge_index:
            if found.get(a) == step - 1:
                found.setdefault(b, step)
    return found


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31), hops=st.sampled_from([1, 2, 3]), edges=st.integers(0, 60))
def test_ego_graphs_are_pygs_subgraphs(seed: int, hops: int, edges: int) -> None:
    data = random_data(seed, edges=edges)
    both = to_undirected(data.edge_index)
    both = both[:, both[0] != both[1]]
    graphs = ego_graphs(data, hops=hops, least_nodes=1)
    assert [int(graph.n_id[0]) for graph in graphs] == list(range(20))
    for centre, graph in enumerate(graphs):
        nodes, kept, _, _ = k_hop_subgraph(centre, hops, both, num_nodes=20)
        assert sorted(graph.n_id.tolist()) == nodes.tolist()
        assert edges_of(graph) == set(map(tuple, kept.T.tolist()))
        assert graph.edge_index.shape == kept.shape  # none twice
        assert int(graph.y) == int(data.y[centre]) and graph.y.shape == (1,)
        assert graph.x.flatten().tolist() == graph.n_id.tolist() and graph.num_nodes == len(nodes)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_the_centre_is_first_and_the_others_come_by_distance(hops: int) -> None:
    data = random_data(1)
    for graph in ego_graphs(data, hops=hops):
        far = distances(data, int(graph.n_id[0]))
        steps = [far[node] for node in graph.n_id.tolist()]
        assert steps[0] == 0 and steps.count(0) == 1
        assert steps == sorted(steps) and steps[-1] <= hops


@pytest.mark.parametrize("most", [2, 3, 5, 8])
def test_a_large_surrounding_keeps_the_nearest_nodes_and_all_edges_among_them(most: int) -> None:
    data = random_data(2, edges=60)
    both = to_undirected(data.edge_index).T.tolist()
    whole = {int(graph.n_id[0]): graph for graph in ego_graphs(data, hops=2)}
    cut = 0
    for graph in ego_graphs(data, hops=2, most_nodes=most):
        nodes, all_nodes = graph.n_id.tolist(), whole[int(graph.n_id[0])].n_id.tolist()
        assert len(nodes) == min(most, len(all_nodes)) == len(set(nodes))
        cut += len(all_nodes) > most
        far = distances(data, nodes[0])
        left_out = [far[node] for node in set(all_nodes) - set(nodes)]
        assert max(far[node] for node in nodes) <= min(left_out, default=2)
        assert edges_of(graph) == {(a, b) for a, b in both if a in nodes and b in nodes and a != b}
    assert cut > 3


def test_at_equal_distance_chance_decides_who_stays() -> None:
    (first,), *others = (ego_graphs(star(), classes=[1], most_nodes=4, seed=seed) for seed in range(10))
    kept = {tuple(graph.n_id.tolist()) for graph in [first, *(graphs[0] for graphs in others)]}
    assert len(kept) > 2 and all(nodes[0] == 0 and len(nodes) == 4 for nodes in kept)


def test_the_seed_decides_what_is_drawn_and_nothing_else_does() -> None:
    data = random_data(3, nodes=60, edges=200)
    torch.manual_seed(1)
    one = ego_graphs(data, num_graphs=10, most_nodes=4, seed=7)
    torch.manual_seed(2)
    assert same(one, ego_graphs(data, num_graphs=10, most_nodes=4, seed=7))
    assert not same(one, ego_graphs(data, num_graphs=10, most_nodes=4, seed=8))
    assert same(ego_graphs(data, num_graphs=10), ego_graphs(data, num_graphs=10, seed=0))


def test_no_centre_is_chosen_twice_and_all_can_be_asked_for() -> None:
    data = random_data(4, nodes=40, edges=100)
    every = ego_graphs(data)
    some = ego_graphs(data, num_graphs=len(every) - 3, seed=5)
    centres = [int(graph.n_id[0]) for graph in some]
    assert len(set(centres)) == len(every) - 3
    assert set(centres) < {int(graph.n_id[0]) for graph in every}
    assert same(ego_graphs(data, num_graphs=len(every)), every)


def test_directed_edges_are_followed_both_ways() -> None:
    one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 0]))
    graphs = ego_graphs(one_way)
    assert [graph.n_id.tolist() for graph in graphs] == [[0, 1], [1, 0, 2], [2, 1]]
    assert edges_of(graphs[1]) == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_classes_are_those_of_the_centre_alone() -> None:
    data = random_data(5)
    graphs = ego_graphs(data, classes=[0, 2])
    assert {int(graph.y) for graph in graphs} == {0, 2}
    assert {int(data.y[node]) for graph in graphs for node in graph.n_id.tolist()} == {0, 1, 2}


def test_small_surroundings_are_left_out() -> None:
    data = star(leaves=4, tail=0)
    assert [graph.num_nodes for graph in ego_graphs(data)] == [5, 2, 2, 2, 2]
    assert [graph.n_id[0].item() for graph in ego_graphs(data, least_nodes=3)] == [0]
    lonely = Data(edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([0, 1]))
    assert [graph.num_nodes for graph in ego_graphs(lonely, least_nodes=1)] == [1, 1]


def test_features_are_optional_and_kept_in_their_type() -> None:
    data = random_data(6)
    data.x = data.x.double()
    assert ego_graphs(data)[0].x.dtype == torch.float64
    data.x = None
    assert all(graph.x is None and graph.num_nodes == len(graph.n_id) for graph in ego_graphs(data))


def test_the_large_graph_is_left_as_it_was() -> None:
    data = random_data(7)
    before = data.clone()
    for graph in ego_graphs(data, hops=2):
        graph.x.zero_()
    assert all(torch.equal(data[key], before[key]) for key in ("x", "edge_index", "y"))
    assert data.keys() == before.keys()


def test_a_task_can_be_made_of_them() -> None:
    data = random_data(8, nodes=80, edges=300)
    task = graph_task(ego_graphs(data, classes=[0, 1]), name="ego")
    assert task.num_classes == 2 and not task.graphs.directed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_graphs": 21}, r"num_graphs=21 is more than the \d+ nodes that can be a centre"),
        ({"num_graphs": 0}, "num_graphs=0 must be a whole number of at least 1"),
        ({"hops": 0}, "hops=0"),
        ({"hops": 1.5}, r"hops=1\.5"),
        ({"least_nodes": 0}, "least_nodes=0"),
        ({"most_nodes": 0}, "most_nodes=0"),
        ({"most_nodes": 3, "least_nodes": 4}, "most_nodes=3 is less than least_nodes=4"),
        ({"most_nodes": 1}, "most_nodes=1 is less than least_nodes=2"),
        ({"classes": [0, 7]}, r"classes=\[0, 7\] must be labels of data.y, which has \[0, 1, 2\]"),
        ({"classes": []}, r"classes=\[\] must be labels"),
        ({"least_nodes": 21}, "no node has a surrounding of least_nodes=21 or more"),
        ({"seed": -1}, "seed=-1"),
        ({"classes": 1}, "classes=1"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ego_graphs(random_data(0), **changes)


def test_what_is_not_one_graph_for_node_classification_is_refused() -> None:
    data = random_data(0)
    for wrong in ([data], HeteroData(), FakeDataset(num_graphs=2), None):
        with pytest.raises(InputError, match=f"data={type(wrong).__name__} must be one PyG Data: take dataset"):
            ego_graphs(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": torch.zeros(20)}, "data.y must be a tensor of whole numbers"),
        ({"y": None}, "data.y must be a tensor of whole numbers"),
        ({"y": [0] * 20}, "data.y must be a tensor of whole numbers"),
        ({"y": torch.zeros(19, dtype=torch.long)}, "data.y has 19 labels for the 20 nodes of data.x"),
        ({"edge_index": None}, "data.edge_index must be a 2 x edges tensor"),
        ({"edge_index": torch.zeros(3, 2, dtype=torch.long)}, "data.edge_index must be a 2 x edges tensor"),
        ({"edge_index": torch.zeros(2, 2)}, "data.edge_index must be a 2 x edges tensor of whole numbers"),
        ({"edge_index": torch.zeros(4, dtype=torch.long)}, "data.edge_index must be a 2 x edges tensor"),
        ({"edge_index": torch.tensor([[0], [20]])}, "data.edge_index names a node outside of 0 to 19"),
        ({"edge_index": torch.tensor([[-1], [0]])}, "data.edge_index names a node outside of 0 to 19"),
    ],
)
def test_wrong_data_is_named(changes: dict[str, Any], message: str) -> None:
    data = random_data(0)
    for key, value in changes.items():
        data[key] = value
    with pytest.raises(InputError, match=message):
        ego_graphs(data)
