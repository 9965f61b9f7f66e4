from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from graphcondense.datasets.networks import attributes_of, edges_of, node_features
from graphcondense.datasets.paths import network_task
from graphcondense.errors import InputError


def features(*nodes: dict[str, Any]) -> Any:
    return node_features(nodes, [f"node {i}" for i in range(len(nodes))])


def test_numbers_text_and_rows_become_columns() -> None:
    made = features(
        {"x10": 1, "x2": True, "kind": "b", "row": [1.0, 2]},
        {"x10": np.float32(3), "x2": False, "row": (5, 6)},
        {"x10": 4, "x2": False, "kind": "b", "row": np.array([7, 8])},
        {"x10": 4, "x2": False, "kind": "b", "row": torch.tensor([7, 8])},
    )
    assert made.names == ("kind=(none)", "kind=b", "row0", "row1", "x2", "x10")
    assert made.x.tolist() == [[0, 1, 1, 2, 1, 1], [1, 0, 5, 6, 0, 3], [0, 1, 7, 8, 0, 4], [0, 1, 7, 8, 0, 4]]
    assert made.notes == ()


def test_names_and_odd_values_are_left_out_and_said() -> None:
    made = features(*({"name": f"n{i}", "viz": {"r": i}} for i in range(9)))
    assert made.x is None
    assert made.notes == (
        "attribute name is not used: 9 texts are names rather than categories",
        "attribute viz is not used: it is neither a number nor text",
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"a": 1}, {}], "node 1 has no attribute a like the others': give it to all nodes, or to none"),
        ([{"a": [1, 2]}, {"a": [1]}], "node 1 has no attribute a like the others'"),
        ([{"a": 1}, {"a": float("nan")}], "node 1: attribute a is not finite in float32: mend it"),
        ([{"a": 1}, {"a": 10**400}], "attribute a is not finite in float32: mend it"),
    ],
)
def test_attributes_that_are_no_features_are_refused(nodes: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        features(*nodes)


def test_edges_go_both_ways_unless_they_have_a_direction() -> None:
    assert edges_of(nx.path_graph(3)).tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert edges_of(nx.path_graph(3, create_using=nx.DiGraph)).tolist() == [[0, 1], [1, 2]]
    assert edges_of(nx.empty_graph(3)).shape == (2, 0)


def test_defaults_of_a_graph_stand_in() -> None:
    graph = nx.path_graph(2)
    graph.graph["node_default"] = {"a": 7}
    graph.nodes[0]["a"] = 1
    assert attributes_of(graph) == [{"a": 1}, {"a": 7}]


def test_one_network_is_a_node_task() -> None:
    graph = nx.karate_club_graph()
    task = network_task(graph, label="club", name="club")
    assert task.class_names == ("Mr. Hi", "Officer") and task.num_nodes == 34
    assert int(task.graph.num_edges.sum()) == 78
    assert task.notes[0] == "label of a node: its attribute club"
    assert "attributes of edges are not used: weight" in task.notes
    assert any(note.startswith("split made here (by class, seed 0)") for note in task.notes)
    with pytest.raises(InputError, match=r"no node has an attribute 'klub': did you mean 'club'\?"):
        network_task(graph, label="klub")
    with pytest.raises(InputError, match=r"which attribute is the label of a node\? \(known: club\): name it, label="):
        network_task(graph)


def test_the_split_and_unlabelled_nodes_of_a_network_are_kept() -> None:
    graph = nx.path_graph(12, create_using=nx.DiGraph)
    for node, own in graph.nodes(data=True):
        own |= {"y": node % 2, "split": ("train", "val", "test")[node % 3], "size": float(node)}
    graph.nodes[11].pop("y"), graph.nodes[11].pop("split")
    task = network_task(graph)
    assert task.split.train.tolist() == [0, 3, 6, 9] and task.split.test.tolist() == [2, 5, 8]
    assert task.graph.y[11] == -1 and "edges taken both ways" in task.notes
    assert not task.graph.has_one_way_edges()


def test_labels_of_nodes_that_are_no_classes_are_refused() -> None:
    graph = nx.path_graph(4)
    for label, message in [
        (0.5, "which is a quantity: regression is not supported"),
        ([0, 1], "has y='.0, 1.': one class is needed"),
    ]:
        nx.set_node_attributes(graph, dict.fromkeys(graph, label), "y")
        with pytest.raises(InputError, match=message):
            network_task(graph, label="y")
    with pytest.raises(InputError, match="the graph has no nodes"):
        network_task(nx.Graph())
    negative = nx.path_graph(40)
    nx.set_node_attributes(negative, {node: (-5, 5)[node % 2] for node in negative}, "y")
    assert network_task(negative).class_names == ("-5", "5")
