from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphcondense.graphs import GraphStore
from graphcondense.methods import DosCond
from graphcondense.methods.matched import match_from
from graphcondense.models import NetworkConfig
from tests.made_up import toy_task

TASK = toy_task()
NETWORK = NetworkConfig(hidden=8, layers=2)


def start(size: int = 2) -> GraphStore:
    places = torch.cat([(TASK.train.y == label).nonzero().flatten()[:size] for label in range(2)])
    return TASK.train.subset(places)


def matched(iterations: int = 20, seed: int = 0, **changes: object) -> GraphStore:
    found = match_from(start(), TASK.train, replace(TASK, **changes), NETWORK, iterations, seed)
    assert found is not None
    return found


def test_graphs_keep_sizes_and_classes_and_get_features_of_their_own() -> None:
    found = matched()
    assert found.num_nodes.tolist() == start().num_nodes.tolist() and found.y.tolist() == [0, 0, 1, 1]
    assert not torch.allclose(found.x, start().x, atol=0.05)
    assert not found.has_one_way_edges() and bool((found.edge_index[0] != found.edge_index[1]).all())


def test_it_is_doscond_from_given_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    places = torch.cat([(TASK.train.y == label).nonzero().flatten()[:2] for label in range(2)])
    monkeypatch.setattr(DosCond, "start", lambda *_: places)
    settings = {"feature_rate": 0.5, "restart_at": 8, "real_batch": "all", "iterations": 20}
    nodes = int(start().num_nodes.max())
    made = DosCond(graphs_per_class=2, network=NETWORK, nodes=nodes, **settings).condense(TASK)  # type: ignore[arg-type]
    assert torch.equal(made.graphs.x, matched().x) and torch.equal(made.graphs.edge_index, matched().edge_index)


def test_seeds_differ_and_repeat() -> None:
    assert torch.equal(matched(seed=1).x, matched(seed=1).x)
    assert not torch.equal(matched(seed=1).x, matched(seed=2).x)


def test_only_the_real_graphs_that_are_given_are_looked_at() -> None:
    other = replace(TASK.graphs, y=1 - TASK.graphs.y)
    assert torch.equal(matched(graphs=other).x, matched().x)


def test_features_of_another_scale_move_in_proportion() -> None:
    large = replace(TASK, graphs=replace(TASK.graphs, x=TASK.graphs.x * 1000))
    scaled = replace(start(), x=start().x * 1000)
    found = match_from(scaled, large.train, large, NETWORK, 20, 0)
    assert found is not None and float((found.x - scaled.x).abs().max()) > 10


def test_large_graphs_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.methods.matched._MOST_ENTRIES", 4 * int(start().num_nodes.max()) ** 2 - 1)
    assert match_from(start(), TASK.train, TASK, NETWORK, 1, 0) is None


def test_learning_that_diverges_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.methods.matched._WAY", 1e30)
    assert match_from(start(), TASK.train, TASK, NETWORK, 20, 0) is None
