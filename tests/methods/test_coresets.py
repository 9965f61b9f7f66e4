from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphcondense.errors import InputError
from graphcondense.evaluation import Protocol, evaluate
from graphcondense.methods import Callback, Coreset, Herding, KCenter
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, store, train
from tests.made_up import toy_task

TASK = toy_task()
SMALL = NetworkConfig(hidden=8, layers=2)
RECIPE = Recipe(epochs=3, rate=0.01)
KINDS: list[type[Coreset]] = [Herding, KCenter]
Points = NDArray[np.float64]


def condense(kind: type[Coreset], kept: Store | None = None, **changes: Any) -> CondensedDataset:
    values = {"graphs_per_class": 4, "network": SMALL, "recipe": RECIPE}
    return kind(**(values | changes)).condense(TASK, store=kept or Store())


def prints(condensed: CondensedDataset) -> list[tuple[Any, ...]]:
    return [(int(g.y), tuple(g.x.flatten().tolist()), tuple(g.edge_index.flatten().tolist())) for g in condensed.graphs]


def herding_by_hand(points: Points, count: int) -> list[int]:
    chosen: list[int] = []
    for _ in range(count):
        free = [i for i in range(len(points)) if i not in chosen]
        gaps = [np.linalg.norm(points[[*chosen, i]].mean(0) - points.mean(0)) for i in free]
        chosen.append(free[int(np.argmin(gaps))])
    return chosen


def k_center_by_hand(points: Points, count: int) -> list[int]:
    chosen = [int(np.argmin([np.linalg.norm(point - points.mean(0)) for point in points]))]
    for _ in range(count - 1):
        free = [i for i in range(len(points)) if i not in chosen]
        nearest = [min(np.linalg.norm(points[i] - points[j]) for j in chosen) for i in free]
        chosen.append(free[int(np.argmax(nearest))])
    return chosen


@pytest.mark.parametrize(("kind", "by_hand"), [(Herding, herding_by_hand), (KCenter, k_center_by_hand)])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_choice_is_the_plain_one(
    kind: type[Coreset], by_hand: Callable[[Points, int], list[int]], data: st.DataObject
) -> None:
    rows, width = data.draw(st.integers(3, 14)), data.draw(st.integers(1, 5))
    count = data.draw(st.integers(1, rows))
    points = np.random.default_rng(data.draw(st.integers(0, 2**32))).normal(size=(rows, width))
    assert kind.choose(torch.from_numpy(points), count).tolist() == by_hand(points, count)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_no_row_is_chosen_twice_even_among_equals(kind: type[Coreset], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([0.0, 1.0, 4.0]), min_size=1, max_size=12))
    count = data.draw(st.integers(1, len(values)))
    chosen = kind.choose(torch.tensor(values).unsqueeze(1), count).tolist()
    assert len(set(chosen)) == len(chosen) == count
    assert set(chosen) <= set(range(len(values)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_of_equals_is_chosen(kind: type[Coreset]) -> None:
    points = torch.tensor([[9.0], [9.0], [0.0], [0.0], [4.0], [4.0], [4.0]])
    assert kind.choose(points, 1).tolist() == [4]
    assert kind.choose(torch.ones(5, 3), 5).tolist() == [0, 1, 2, 3, 4]


def test_k_center_reaches_every_place_before_it_takes_one_again() -> None:
    points = torch.tensor([[0.0], [0.0], [5.0], [5.0], [5.0], [20.0]])
    chosen = KCenter.choose(points, 3)
    assert set(points[chosen].flatten().tolist()) == {0, 5, 20}


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), rows=st.integers(2, 30), move=st.floats(-100, 100))
def test_more_graphs_begin_with_those_of_fewer_and_moving_all_changes_nothing(
    kind: type[Coreset], seed: int, rows: int, move: float
) -> None:
    points = torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, 3)))
    every = kind.choose(points, rows).tolist()
    assert sorted(every) == list(range(rows))
    assert kind.choose(points, 1 + rows // 2).tolist() == every[: 1 + rows // 2]
    if rows > 2:  # two rows are equally near to their mean
        assert kind.choose(points + move, rows).tolist() == every


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 30))
def test_one_graph_is_the_one_nearest_to_the_mean_for_both(seed: int, rows: int) -> None:
    points = torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, 4)))
    assert Herding.choose(points, 1).tolist() == KCenter.choose(points, 1).tolist()
    gaps = (points - points.mean(0)).norm(dim=1)
    assert float(gaps[Herding.choose(points, 1)]) == pytest.approx(float(gaps.min()))


# --- condensing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_class_gets_real_training_graphs(kind: type[Coreset]) -> None:
    condensed = condense(kind)
    assert condensed.labels.tolist() == [0] * 4 + [1] * 4
    real = prints(CondensedDataset(TASK.train, 2))
    found = [[place for place, other in enumerate(real) if other == graph] for graph in prints(condensed)]
    assert all(found)
    assert condensed.history == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_graphs_are_those_that_the_trained_networks_embeddings_choose(kind: type[Coreset]) -> None:
    network = Network(SMALL, TASK.num_features, TASK.num_outputs)
    embedded = train(network, TASK.train, TASK.val, [6], RECIPE, "accuracy").embeddings(TASK.train)[0].double()
    expected = []
    for label in (0, 1):
        members = (TASK.train.y == label).nonzero().flatten()
        expected.append(members[kind.choose(embedded[members], 4)])
    assert prints(condense(kind, seed=6)) == prints(CondensedDataset(TASK.train.subset(torch.cat(expected)), 2))


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_graphs_other_seed_other_graphs(kind: type[Coreset]) -> None:
    assert prints(condense(kind, seed=1)) == prints(condense(kind, seed=1))
    assert prints(condense(kind, seed=1)) != prints(condense(kind, seed=2))


def test_one_graph_a_class_is_the_same_for_both() -> None:
    one, two = (condense(kind, graphs_per_class=1) for kind in KINDS)
    assert prints(one) == prints(two)
    assert prints(condense(Herding)) != prints(condense(KCenter))


def test_all_of_a_class_can_be_asked_for_and_not_one_more() -> None:
    smallest = int(TASK.train_class_counts.min())
    assert len(condense(KCenter, graphs_per_class=smallest)) == 2 * smallest
    with pytest.raises(InputError, match=f"use {smallest} or fewer"):
        condense(Herding, graphs_per_class=smallest + 1)


def test_the_second_method_and_the_whole_sets_score_need_no_training_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = Store()
    fresh = prints(condense(KCenter, seed=2))
    whole = evaluate(TASK.train, TASK, seeds=[2], protocol=Protocol(SMALL, RECIPE))
    condense(Herding, kept, seed=2)

    def no(*_: Any) -> NoReturn:
        pytest.fail("trained again")

    monkeypatch.setattr(store, "train", no)
    assert prints(condense(KCenter, kept, seed=2)) == fresh
    assert evaluate(TASK.train, TASK, seeds=[2], protocol=Protocol(SMALL, RECIPE), store=kept) == whole
    assert kept.saved_seconds > 0


def test_without_a_store_that_of_the_process_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments[3])
        return train(*arguments)

    monkeypatch.setattr(store, "train", counted)
    recipe = Recipe(epochs=2, rate=0.0123)  # no other test trains by it
    for kind in KINDS:
        kind(graphs_per_class=2, network=SMALL, recipe=recipe, seed=3).condense(TASK)
    assert calls == [[3]]


def test_a_binary_task_is_embedded_by_a_network_of_one_logit() -> None:
    task: GraphTask = toy_task(metric="roc_auc")
    condensed = Herding(graphs_per_class=2, network=SMALL, recipe=RECIPE).condense(task, store=Store())
    assert condensed.metric == "roc_auc" and condensed.labels.tolist() == [0, 0, 1, 1]


def test_callbacks_hear_of_every_epoch() -> None:
    heard: list[object] = []

    class Listener(Callback):
        def on_start(self, iterations: int) -> None:
            heard.append(iterations)

        def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
            heard.append((iteration, record))

    Herding(graphs_per_class=1, network=SMALL, recipe=RECIPE).condense(TASK, [Listener()], Store())
    assert heard == [3, (1, {}), (2, {}), (3, {})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": "gin"}, r"network='gin' must be a NetworkConfig"),
        ({"recipe": 500}, r"recipe=500 must be a Recipe"),
        ({"graphs_per_class": 0}, "graphs_per_class=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_wrong_settings_are_named_when_the_method_is_built(
    kind: type[Coreset], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        kind(**changes)
