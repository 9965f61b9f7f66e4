from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import torch

import graphcondense as gc
from graphcondense.errors import InputError
from graphcondense.evaluation import Protocol, evaluate
from graphcondense.methods import METHODS, Herding, HerdingSoft, RandomSelection, RandomSoft
from graphcondense.models import NetworkConfig
from graphcondense.training import Recipe, Store
from tests.made_up import toy_task

TASK = toy_task()
SMALL = NetworkConfig(hidden=8, layers=2)
RECIPE = Recipe(epochs=3, rate=0.01)


@pytest.mark.parametrize("name", ["random", "herding"])
def test_the_graphs_are_those_of_the_method_and_only_the_labels_differ(name: str, tmp_path: Path) -> None:
    plain_kind, soft_kind = METHODS[name], METHODS[f"{name}-soft"]
    given = {"graphs_per_class": 3, "seed": 2, "network": SMALL, "recipe": RECIPE}
    own = {one.name for one in fields(plain_kind)}
    plain = plain_kind(**{key: value for key, value in given.items() if key in own}).condense(TASK, store=Store())
    own = {one.name for one in fields(soft_kind)}
    method = soft_kind(teacher_hidden=16, **{key: value for key, value in given.items() if key in own})
    soft = method.condense(TASK, store=Store())
    assert torch.equal(plain.graphs.x, soft.graphs.x) and torch.equal(plain.graphs.edge_index, soft.graphs.edge_index)
    assert soft.graphs.y.shape == (len(plain), TASK.num_classes)
    torch.testing.assert_close(soft.graphs.y, method.teacher(TASK).probabilities(plain.graphs))  # type: ignore[attr-defined]
    path = soft.save(tmp_path / "soft.safetensors")
    assert path.stat().st_size == soft.num_bytes
    assert torch.equal(gc.CondensedDataset.load(path).graphs.y, soft.graphs.y)
    assert evaluate(soft, TASK, seeds=2, protocol=Protocol(SMALL, RECIPE)).per_seed


def test_what_they_are() -> None:
    assert issubclass(RandomSoft, RandomSelection) and issubclass(HerdingSoft, Herding)
    with pytest.raises(InputError, match="teacher_networks=0"):
        RandomSoft(teacher_networks=0)
    with pytest.raises(InputError, match="teacher_hidden=0"):
        HerdingSoft(teacher_hidden=0)


def test_soft_labels_are_better_than_hard_ones_on_digits() -> None:
    task = gc.load("digits")
    protocol = gc.preset("default", task).protocol
    means = {
        name: sum(
            evaluate(METHODS[name](graphs_per_class=5, seed=seed).condense(task), task, seeds=2, protocol=protocol).mean
            for seed in range(2)
        )
        for name in ("random", "random-soft")
    }
    assert means["random-soft"] > means["random"]
