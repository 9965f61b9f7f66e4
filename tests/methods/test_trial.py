from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import graphcondense as gc
from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore
from graphcondense.methods import DosCond, Trial
from graphcondense.methods import trial as module
from graphcondense.models import NetworkConfig
from graphcondense.training import Recipe
from tests.made_up import toy_task

TASK = toy_task()
SMALL = NetworkConfig(hidden=8, layers=2)
METHOD = Trial(
    graphs_per_class=2,
    seed=3,
    iterations=3,
    network=SMALL,
    recipe=Recipe(epochs=5, rate=0.01),
    candidates=3,
    teacher_hidden=16,
)


def entrants(monkeypatch: pytest.MonkeyPatch, scores: list[float]) -> tuple[gc.CondensedDataset, list[GraphStore]]:
    """The result where trials give ``scores``, one after the other, and all that was tried."""
    seen: list[GraphStore] = []

    def score(trial: object, candidate: GraphStore) -> float:
        seen.append(candidate)
        return scores[len(seen) - 1]

    monkeypatch.setattr(module._Trial, "score", score)
    return METHOD.condense(TASK), seen


def test_the_best_of_the_final_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three with hard labels, the same three with soft ones, then the final: learned, two hard ones, two soft ones.
    result, seen = entrants(monkeypatch, [0.1, 0.3, 0.2, 0.6, 0.4, 0.5, 0.5, 0.6, 0.7, 0.9, 0.8])
    assert result.info["trials"]["winner"] == "soft"
    kinds = ["learned", "hard", "hard", "soft", "soft"]
    assert result.info["trials"]["scores"] == [list(pair) for pair in zip(kinds, seen_scores(), strict=True)]
    assert [place_of(graphs, seen[:6]) for graphs in seen[7:]] == [1, 2, 3, 5]  # the two best of either kind
    assert torch.equal(result.graphs.x, seen[9].x) and torch.equal(result.graphs.y, seen[9].y)
    assert all(torch.equal(hard.x, soft.x) for hard, soft in zip(seen[:3], seen[3:6], strict=True))
    assert all(soft.y.shape == (4, 2) for soft in seen[3:6])


def seen_scores() -> list[float]:
    return [0.5, 0.6, 0.7, 0.9, 0.8]


def place_of(graphs: GraphStore, among: list[GraphStore]) -> int:
    return next(place for place, one in enumerate(among) if one is graphs)


def test_what_was_learned_is_doscond_s_with_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = entrants(monkeypatch, [0.0] * 6 + [0.5] * 5)  # equal in the final: the first one
    own = {one.name: getattr(METHOD, one.name) for one in fields(DosCond)}
    alone = DosCond(**own).condense(TASK)
    assert result.info["trials"]["winner"] == "learned"
    assert torch.equal(result.graphs.x, alone.graphs.x) and torch.equal(
        result.graphs.edge_index, alone.graphs.edge_index
    )
    assert result.history == alone.history


def test_validation_and_test_graphs_are_not_looked_at() -> None:
    same = METHOD.condense(TASK)
    other = replace(TASK, graphs=shuffled(TASK.graphs, torch.cat([TASK.split.val, TASK.split.test])))
    again = METHOD.condense(other)
    assert same.info["trials"] == again.info["trials"]
    assert torch.equal(same.graphs.x, again.graphs.x) and torch.equal(same.graphs.y, again.graphs.y)


def shuffled(graphs: GraphStore, which: torch.Tensor) -> GraphStore:
    """The same graphs, those at ``which`` with the label of another class."""
    y = graphs.y.clone()
    y[which] = 1 - y[which]
    return replace(graphs, y=y)


def test_a_saved_result_says_what_won(tmp_path: Path) -> None:
    result = METHOD.condense(TASK)
    loaded = gc.CondensedDataset.load(result.save(tmp_path / "tried.safetensors"))
    assert loaded.info["trials"] == result.info["trials"]
    assert len(loaded.info["trials"]["scores"]) == 5
    assert torch.equal(loaded.graphs.y, result.graphs.y)


@pytest.mark.parametrize(("graphs", "tried"), [(1, 64), (10, 24), (50, 8)])
def test_fewer_are_tried_where_each_is_larger(graphs: int, tried: int) -> None:
    class Sized(Trial):
        def class_sizes(self, task: object) -> list[int]:
            return [self.graphs_per_class] * 2

    assert Sized(graphs_per_class=graphs).num_candidates(TASK) == tried
    assert METHOD.num_candidates(TASK) == 3


def test_at_most_so_many_graphs_are_scored() -> None:
    assert METHOD._scored(TASK) is TASK.train
    few = replace(METHOD, scored=5)._scored(TASK)
    assert len(few) == 5 and torch.equal(few.x, replace(METHOD, scored=5)._scored(TASK).x)


@pytest.mark.parametrize("setting", ["candidates", "finalists", "scored", "teacher_networks", "teacher_hidden"])
def test_settings_are_checked(setting: str) -> None:
    with pytest.raises(InputError, match=f"{setting}=0"):
        Trial(**{setting: 0})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="recipe='long' must be a Recipe"):
        Trial(recipe="long")  # type: ignore[arg-type]


def test_trials_beat_random_graphs_on_digits() -> None:
    task = gc.load("digits")
    preset = gc.preset("default", task)
    preset = replace(preset, recipe=replace(preset.recipe, epochs=100, rate=0.01, validate_every=10))
    means = {}
    for name, settings in (("random", {}), ("trial", {"iterations": 2, "candidates": 6, "scored": 300})):
        scores = [
            gc.evaluate(
                preset.method(name, graphs_per_class=1, seed=seed, **settings).condense(task),
                task,
                seeds=2,
                protocol=preset.protocol,
            ).mean
            for seed in range(2)
        ]
        means[name] = sum(scores)
    assert means["trial"] > means["random"]
