from __future__ import annotations

import pytest
import torch

from graphcondense.errors import InputError
from graphcondense.methods import RandomSelection, Whole, choose_at_random
from tests.made_up import toy_task

TASK = toy_task()


def test_random_takes_real_training_graphs_of_each_class() -> None:
    condensed = RandomSelection(graphs_per_class=4, seed=1).condense(TASK)
    assert condensed.labels.tolist() == [0] * 4 + [1] * 4
    real = {(tuple(g.x.flatten().tolist()), tuple(g.edge_index.flatten().tolist())) for g in TASK.train}
    assert all(
        (tuple(g.x.flatten().tolist()), tuple(g.edge_index.flatten().tolist())) in real for g in condensed.graphs
    )


def test_random_takes_no_graph_twice_and_all_seeds_differ() -> None:
    picks = [choose_at_random(TASK, [10, 10], torch.Generator().manual_seed(seed)) for seed in range(5)]
    assert all(len(set(pick.tolist())) == 20 for pick in picks)
    assert len({tuple(pick.tolist()) for pick in picks}) == 5


def test_size_limit_holds() -> None:
    pick = choose_at_random(TASK, [3, 3], torch.Generator().manual_seed(0), most_nodes=5)
    assert int(TASK.train.num_nodes[pick].max()) <= 5


def test_all_of_a_class_can_be_asked_for_and_not_one_more() -> None:
    smallest = int(TASK.train_class_counts.min())
    assert len(RandomSelection(graphs_per_class=smallest).condense(TASK)) == 2 * smallest
    with pytest.raises(InputError, match=f"use {smallest} or fewer"):
        RandomSelection(graphs_per_class=smallest + 1).condense(TASK)


def test_whole_is_the_training_set() -> None:
    condensed = Whole().condense(TASK)
    assert torch.equal(condensed.graphs.x, TASK.train.x) and torch.equal(condensed.graphs.y, TASK.train.y)
