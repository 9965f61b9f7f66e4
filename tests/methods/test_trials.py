from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphcondense.datasets import graph_task
from graphcondense.graphs import GraphStore
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
    torch.testing.assert_close(found.pool().float(), said)


def test_one_set_after_the_other_is_as_each_alone() -> None:
    one, other = examiner(), TASK.train.subset(torch.tensor([5, len(TASK.train) - 3]))
    one.examine(other, 2)
    one.examine(other, 1, "gin")
    again, alone = one.examine(GRAPHS, 2), examiner().examine(GRAPHS, 2)
    assert again.score == alone.score and torch.equal(again.pool(), alone.pool())


def test_so_many_graphs_score_at_most() -> None:
    assert len(examiner(scored=7).scored) == 7 and len(examiner().scored) == len(TASK.train)


@pytest.mark.parametrize(
    ("kind", "others"), [("gcn", ["gin", "sage"]), ("gin", ["gcn", "sage"]), ("sgc", ["gcn", "gin"])]
)
def test_other_kinds_are_not_the_judges(kind: str, others: list[str]) -> None:
    assert list(examiner(NetworkConfig(kind)).other_kinds) == others


@pytest.mark.parametrize(("nodes", "chosen", "every"), [(500, 1, 5), (500, 2, 4), (500, 9, 1), (5, 1, 2)])
def test_looks_take_a_quarter_of_the_seconds_but_twenty_are_taken(nodes: int, chosen: int, every: int) -> None:
    # With 500 nodes more for every pass, a look at 6 graphs of 500 nodes costs a third of 3,500, a step on one graph
    # 1,000, and a quarter of that may be spent on looks: 4.7 steps a look.
    source = torch.Generator().manual_seed(0)
    data = [random_graph(source, nodes, density=2 / nodes, label=number % 2) for number in range(60)]
    task = graph_task(data, name="even")
    assert len(task.val) == 6
    graphs, recipe = task.train.subset(torch.arange(chosen)), Recipe(epochs=100)
    one = Examiner(task, CONFIG, recipe, task.train, 1000, seed=3)
    assert one.recipe_for(graphs) == replace(recipe, validate_every=every)
    seldom = Examiner(task, CONFIG, replace(recipe, validate_every=4), task.train, 1000, seed=3)
    assert seldom.recipe_for(graphs).validate_every == max(every, 4)
    few = Examiner(task, CONFIG, Recipe(epochs=40), task.train, 1000, seed=3)
    assert few.recipe_for(graphs).validate_every == min(every, 2)


def test_a_model_has_a_say_and_the_more_the_fewer_graphs_there_are() -> None:
    def model(graphs: GraphStore) -> torch.Tensor:
        second = 0.1 + 0.8 * graphs.x[graphs.node_ptr[:-1], 0]  # of the first node
        return torch.stack([1 - second, second], dim=1)

    network = Network(CONFIG, TASK.num_features, TASK.num_outputs)
    networks = train(network, GRAPHS, TASK.val, [10**6], RECIPE, TASK.metric)
    scored = examiner(scored=50).scored
    share = 50 / 1050
    expected = []
    for graphs in (scored, TASK.val):
        guess = networks.outputs(graphs)[0].argmax(1)
        own = float((guess == graphs.y).double().mean())
        expected.append(share * own + (1 - share) * float(model(graphs).gather(1, guess.unsqueeze(1)).mean()))
    parts = torch.tensor([50, len(TASK.val)]).double().sqrt()
    one = Examiner(TASK, CONFIG, RECIPE, TASK.train, 50, seed=3, model=model)
    score = float((parts * torch.tensor(expected).double()).sum() / parts.sum())
    assert one.examine(GRAPHS, 1).score == pytest.approx(score)
    assert one.examine(GRAPHS, 1).score != examiner(scored=50).examine(GRAPHS, 1).score
