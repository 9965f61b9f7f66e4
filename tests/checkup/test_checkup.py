from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.checkup.copies import find_copies
from graphcondense.checkup.features import feature_facts
from tests.made_up import node_data, random_graph, toy_nodes, toy_task
from tests.own_folders import write_own


def graphs(count: int = 60, seed: int = 0) -> list[Data]:
    source = torch.Generator().manual_seed(seed)
    return [random_graph(source, 9, density=0.3, label=i % 2) for i in range(count)]


def doubts(task: object) -> str:
    return "\n".join(str(doubt) for doubt in gc.check(task).doubts)


def test_a_task_is_told_in_figures() -> None:
    task = toy_task()
    facts = json.loads(json.dumps(gc.check(task).to_dict()))
    assert facts["graphs"] == 120 and facts["split"] == {"train": 96, "val": 12, "test": 12}
    assert [one["train"] for one in facts["classes"]] == [48, 48] and facts["classes"][1]["name"] == "1"
    assert facts["features"]["kind"] == "one-hot" and facts["features"]["columns"] == 4
    assert facts["nodes"]["least"] >= 4 and facts["nodes"]["most"] <= 8 and not facts["directed"]
    degrees = torch.bincount(task.graphs.edge_index[0], minlength=task.graphs.x.shape[0])
    assert facts["isolated_nodes"] == int((degrees == 0).sum())
    assert facts["changes"] == list(task.notes)


def test_any_source_can_be_checked() -> None:
    assert gc.check(graphs()).facts["graphs"] == 60
    made = gc.check(nx.karate_club_graph(), label="club")
    assert made.facts["task"] == "node" and made.facts["nodes"] == 34
    assert str(made).startswith(
        "dataset    Zachary's Karate Club: one graph of 34 nodes to classify, judged by accuracy"
    )


def test_permuted_copies_across_the_split_are_found() -> None:
    train, test = graphs(), graphs(20, seed=5)
    shuffled = []
    for graph in train[:7]:
        order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
        place = torch.argsort(order)
        shuffled.append(Data(x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y))
    task = gc.graph_task(train, graphs(20, seed=9), [*test, *shuffled])
    copies = find_copies(task)
    assert (copies.val, copies.test) == (0, 7)
    assert copies.ceiling == 1.0
    assert "7 of 27 test graphs look like a training graph: scores may be too good: keep copies in" in doubts(task)


def test_the_same_list_given_twice_is_found() -> None:
    again = gc.graph_task(graphs(), test=graphs())  # some of the training graphs are for validation
    assert "54 of 60 test graphs look like a training graph: if the same graphs were given twice, give" in doubts(again)


def test_graphs_that_no_network_can_tell_apart_bound_the_score() -> None:
    pair = torch.tensor([[0, 1], [1, 0]])
    same = [Data(x=torch.ones(2, 1), edge_index=pair, y=torch.tensor([int(i % 4 == 0)])) for i in range(80)]
    assert find_copies(gc.graph_task(same)).ceiling == 0.75
    found = doubts(gc.graph_task(same))
    assert "no network of this kind can be right about more than 75.0%: give features that tell them apart" in found
    assert "all features are the same at every node: leave them out: the degree is taken instead" in found


def test_imbalance_and_one_class_tests_are_said() -> None:
    source = torch.Generator().manual_seed(0)
    data = [random_graph(source, 8, label=int(i % 12 == 0)) for i in range(96)]
    found = doubts(gc.graph_task(data))
    assert "class 0 has 70 training graphs, class 1 6: accuracy says little about the small one: each class" in found
    assert "the smallest class has 6 training graphs: ask for -n 6 or fewer, or for --in-proportion" in found
    task = gc.graph_task(data, test=[one for one in data if int(one.y) == 0])
    assert "every test graph is of class 0: scores there say little" in task.notes
    assert "all test graphs are of class 0: give some of every class" in doubts(task)


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (torch.eye(4), "one-hot"),
        (torch.tensor([[1.0, 1.0], [0.0, 1.0]]), "0/1"),
        (torch.tensor([[3.0], [7.0]]), "categories"),
        (torch.tensor([[0.5], [1.0]]), "real"),
        (torch.arange(500.0).view(-1, 1), "real"),
    ],
)
def test_kinds_of_features(x: torch.Tensor, kind: str) -> None:
    facts = feature_facts(x)
    assert facts.kind == kind and facts.ids == ((0,) if len(x) == 500 else ())


def test_features_far_from_one_are_doubtful_and_large_real_numbers_are_no_ids() -> None:
    def scaled(factor: float) -> str:
        shrunk = [graph.clone() for graph in graphs()]
        for graph in shrunk:
            graph.x = graph.x * factor
        return str(gc.check(gc.graph_task(shrunk)))

    assert "networks learn slowly from numbers so small: scale each column to about -1 to 1" in scaled(1e-3)
    assert "numbers so small" not in scaled(1.0)
    large = scaled(1e30)
    assert "networks learn badly from numbers so large" in large and "another whole number" not in large


def test_a_class_with_one_graph_is_told_to_ask_for_one() -> None:
    source = torch.Generator().manual_seed(0)
    data = [random_graph(source, 8, label=int(i == 0)) for i in range(60)]
    assert "the smallest class has 1 training graph: ask for -n 1, or for --in-proportion" in doubts(
        gc.graph_task(data)
    )


def test_nodes_are_told_too() -> None:
    facts = gc.check(toy_nodes()).facts
    assert facts["nodes"] == 90 and facts["split"] == {"train": 30, "val": 30, "test": 30}
    assert facts["features"]["kind"] == "real" and 0.5 < facts["edges_within_a_class"] <= 1
    data = node_data()
    data.test_mask = data.train_mask
    assert "30 nodes are both for training and for test: scores there are too good: take them" in doubts(data)


def test_folders_are_told_with_what_was_dropped(tmp_path: Path) -> None:
    real = gc.check(write_own(tmp_path / "real", "real"))
    assert real.facts["features"]["kind"] == "real"
    assert any("REAL_edge_attributes.txt not used" in change for change in real.changes)
    assert "networks learn badly from numbers so large: scale each column to about -1 to 1" in str(real)
    bare = gc.check(write_own(tmp_path / "bare", "bare"))
    assert bare.facts["directed"] and bare.facts["features"]["from_degree"]
