from __future__ import annotations

import pytest
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.methods import Pursuit
from graphcondense.methods.effort import Effort
from graphcondense.tasks import GraphTask
from tests.made_up import toy_task

FEW, MANY, VERY_MANY = toy_task(), toy_task(graphs=700), toy_task(graphs=2600)
NOTHING = dict.fromkeys(Effort.names())


def usual(task: GraphTask, graphs: int) -> Effort:
    return Effort.of(task, graphs, NOTHING)


def test_of_few_graphs_some_are_learned_instead_of_steps() -> None:
    for task, matched in ((FEW, 1), (MANY, 2), (VERY_MANY, 2)):
        assert (usual(task, 12).steps, usual(task, 12).matched) == (0, matched)
        assert (usual(task, 13).steps, usual(task, 13).matched) == (8, 0)


def test_more_ends_are_tried_where_scores_can_be_trusted() -> None:
    assert [usual(task, 2).finalists for task in (FEW, MANY, VERY_MANY)] == [2, 2, 5]
    assert usual(VERY_MANY, 14).finalists == 2


@pytest.mark.parametrize(
    ("graphs", "starts", "trained"), [(2, 16, 4), (12, 10, 3), (20, 6, 2), (100, 2, 2), (1000, 2, 2)]
)
def test_fewer_starts_and_networks_where_each_is_larger(graphs: int, starts: int, trained: int) -> None:
    assert (usual(MANY, graphs).starts, usual(MANY, graphs).trained) == (starts, trained)
    assert usual(FEW, graphs).trained == min(trained, 3)


def test_on_large_graphs_matching_takes_longer() -> None:
    large = [Data(x=one.x[:1].expand(200, -1), edge_index=one.edge_index, y=one.y) for one in FEW.graphs]
    assert (usual(gc.graph_task(large), 2).matched_steps, usual(FEW, 2).matched_steps) == (1000, 300)


@pytest.mark.parametrize("name", Effort.names())
def test_what_is_given_is_taken(name: str) -> None:
    assert getattr(Effort.of(VERY_MANY, 2, NOTHING | {name: 7}), name) == 7
    assert getattr(Pursuit(graphs_per_class=1, **{name: 7}).effort(VERY_MANY), name) == 7  # type: ignore[arg-type]
