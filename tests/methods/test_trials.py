from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphcondense.datasets import graph_task
from graphcondense.methods.trials import Examiner
from graphcondense.models import Network, NetworkConfig
from graphcondense.training import Recipe, train
from tests.made_up import random_graph, toy_task

TASK = toy_task()
CONFIG = NetworkConfig(hidden=8, layers=2)
RECIPE = Recipe(epochs=5, rate=0.01)
GRAPHS = TASK.train.subset(torch.tensor([0, 1, len(TASK.train) - 1]))


def examiner(config: NetworkConfig = CONFIG, scored: int = 1000) -> Examiner:
    return Examiner(TASK, config, RECIPE, TASK.train.subset(torch.arange(4, 9)), scored, seed=3)


@pytest.mark.parametrize("kind", [None, "sage"])
def test_it_trains_as_the_judge_does_and_scores_on_training_and_validation_graphs(kind: str | None) -> None:
    found = examiner().examine(GRAPHS, 2, kind)
    network = Network(NetworkConfig(kind or "gcn", hidden=8, layers=2), TASK.num_features, TASK.num_outputs)
    networks = train(network, GRAPHS, TASK.val, [10**6, 10**6 + 1], RECIPE, TASK.metric)
    right = networks.outputs(TASK.train).argmax(2) == TASK.train.y
    parts = torch.tensor([len(TASK.train), len(TASK.val)]).sqrt()
    scores = torch.tensor([float(right.float().mean()), float(networks.val_scores.mean())])
    assert found.score == pytest.approx(float((parts * scores).sum() / parts.sum()))
    said = networks.outputs(TASK.train.subset(torch.arange(4, 9))).softmax(2).mean(0)
    torch.testing.assert_close(found.pool.float(), said)


def test_one_set_after_the_other_is_as_each_alone() -> None:
    one, other = examiner(), TASK.train.subset(torch.tensor([5, len(TASK.train) - 3]))
    one.examine(other, 2)
    one.examine(other, 1, "gin")
    again, alone = one.examine(GRAPHS, 2), examiner().examine(GRAPHS, 2)
    assert again.score == alone.score and torch.equal(again.pool, alone.pool)


def test_so_many_graphs_score_at_most() -> None:
    assert len(examiner(scored=7).scored) == 7 and len(examiner().scored) == len(TASK.train)


@pytest.mark.parametrize(
    ("kind", "others"), [("gcn", ["gin", "sage"]), ("gin", ["gcn", "sage"]), ("sgc", ["gcn", "gin"])]
)
def test_other_kinds_are_not_the_judges(kind: str, others: list[str]) -> None:
    assert list(examiner(NetworkConfig(kind)).other_kinds) == others


@pytest.mark.parametrize(("chosen", "every"), [(1, 4), (2, 2), (9, 1)])
def test_looks_take_half_of_the_seconds_of_training_but_twenty_are_taken(chosen: int, every: int) -> None:
    # A look at the 6 validation graphs costs as much as a step on 2, and half of a step may be spent on looks.
    source = torch.Generator().manual_seed(0)
    data = [random_graph(source, 5, label=number % 2) for number in range(60)]
    task = graph_task(data, name="even")
    assert len(task.val) == 6
    graphs, recipe = task.train.subset(torch.arange(chosen)), Recipe(epochs=100)
    one = Examiner(task, CONFIG, recipe, task.train, 1000, seed=3)
    assert one.recipe_for(graphs) == replace(recipe, validate_every=every)
    seldom = Examiner(task, CONFIG, replace(recipe, validate_every=3), task.train, 1000, seed=3)
    assert seldom.recipe_for(graphs).validate_every == max(every, 3)
    few = Examiner(task, CONFIG, Recipe(epochs=60), task.train, 1000, seed=3)
    assert few.recipe_for(graphs).validate_every == min(every, 3)
