from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphcondense.graphs import GraphStore
from graphcondense.methods.teachers import fit_teacher, networks_are_as_good, train_teacher
from graphcondense.models import NetworkConfig
from graphcondense.training import Recipe, TrainedNetworks
from tests.made_up import toy_task

TASK = toy_task()
CONFIG = NetworkConfig(hidden=8, layers=2)


def taught(recipe: Recipe, networks: int = 2, steps: int = 30, seed: int = 3) -> TrainedNetworks:
    return train_teacher(TASK, CONFIG, recipe, networks, steps, seed)


def test_networks_learn_for_so_many_steps_but_never_longer_than_the_judges() -> None:
    recipe = Recipe(epochs=10, batch_size=32, rate=0.01)
    assert len(TASK.train) == 96  # three steps an epoch
    found, alike = taught(recipe, steps=13), taught(replace(recipe, epochs=4), steps=1000)
    assert torch.equal(found.outputs(TASK.test), alike.outputs(TASK.test))
    shortest, one = taught(recipe, steps=1), taught(replace(recipe, epochs=1))
    assert torch.equal(shortest.outputs(TASK.test), one.outputs(TASK.test))


def test_every_seed_has_networks_of_its_own() -> None:
    recipe = Recipe(epochs=2)
    first, second = (taught(recipe, seed=seed).outputs(TASK.test) for seed in (0, 1))
    assert len({tuple(one.flatten().tolist()) for one in (*first, *second)}) == 4


def test_networks_say_the_mean_of_their_probabilities() -> None:
    networks = taught(Recipe(epochs=3))
    expected = networks.outputs(TASK.val).softmax(-1).mean(0)
    torch.testing.assert_close(networks.probabilities(TASK.val), expected)


class Says:
    """A teacher with given probabilities of class 1 for validation graphs."""

    def __init__(self, second: torch.Tensor) -> None:
        self.second = second

    def probabilities(self, graphs: GraphStore) -> torch.Tensor:
        assert len(graphs) == len(self.second)
        return torch.stack([1 - self.second, self.second], dim=1)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
@pytest.mark.parametrize(
    ("of_networks", "of_regression", "networks"), [(1, 0, True), (0, 0, True), (0, 1, True), (0, 9, False)]
)
def test_networks_teach_unless_the_regression_plainly_knows_more(
    metric: str, of_networks: int, of_regression: int, networks: bool
) -> None:
    """Teachers know one graph each that the other does not, and these many more."""
    task = toy_task(300, metric=metric)
    right = 0.5 + 0.3 * (task.val.y.double() - 0.5)
    said = [right.clone(), right.clone()]
    for one, wrong in ((0, 2 + of_regression), (1, 2 + of_networks)):
        places = torch.arange(one, 2 * wrong, 2)[:wrong]
        said[one][places] = 1 - right[places]
    found = networks_are_as_good(task, Says(said[0]), Says(said[1]), 0)  # type: ignore[arg-type]
    assert found is networks


def test_a_regression_is_not_swayed_by_a_label_that_validation_graphs_lack() -> None:
    task = replace(TASK, num_classes=3)
    networks = taught(Recipe(epochs=1))
    regression = fit_teacher(TASK, CONFIG, networks=1, hidden=8, seed=0)
    assert networks_are_as_good(task, networks, regression, 0) is networks_are_as_good(TASK, networks, regression, 0)


def test_where_both_know_all_the_regression_teaches() -> None:
    right = Says(TASK.val.y.double())
    assert not networks_are_as_good(TASK, right, right, 0)  # type: ignore[arg-type]
