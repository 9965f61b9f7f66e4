from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import graphcondense as gc
from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.graphs import GraphStore
from graphcondense.methods import Pursuit, RandomSoft
from graphcondense.methods.effort import Effort
from graphcondense.methods.ground import Choice, Ground, Trial
from graphcondense.methods.teachers import train_teacher
from graphcondense.methods.trials import Examiner, Said
from graphcondense.models import NetworkConfig
from graphcondense.training import Recipe
from tests.made_up import toy_task

TASK = toy_task()
METHOD = Pursuit(
    graphs_per_class=2,
    seed=3,
    network=NetworkConfig(hidden=8, layers=2),
    recipe=Recipe(epochs=5, rate=0.01),
    kernels=2,
    kernel_hidden=8,
    starts=4,
    finalists=3,
    steps=2,
    matched=0,
    all_round=1,
    trained=2,
    teacher_hidden=16,
    taught_by="regression",
)


def ground_of(method: Pursuit) -> Ground:
    return method.ground(TASK, method.taught(TASK)[1])


def choices(method: Pursuit = METHOD) -> list[Choice]:
    ground = ground_of(method)
    return method.choices(TASK, ground.hard() if method.labels == "own" else ground)


def same(first: GraphStore, second: GraphStore) -> bool:
    return all(torch.equal(getattr(first, name), getattr(second, name)) for name in ("x", "edge_index", "y"))


def test_choices_are_real_graphs_of_their_classes_and_the_likeliest_comes_first() -> None:
    found = choices()
    assert 1 <= len(found) <= 4
    ends = [choice.errors[-1] for choice in found]
    assert ends == sorted(ends)
    real = [(one.x.tolist(), one.edge_index.tolist(), int(one.y)) for one in TASK.train]
    for choice in found:
        own = choice.with_labels("own")
        assert own.y.tolist() == [0, 0, 1, 1]
        assert all((one.x.tolist(), one.edge_index.tolist(), int(one.y)) in real for one in own)
        assert choice.errors == sorted(choice.errors, reverse=True)
    assert len({tuple(choice.chosen.x.flatten().tolist()) for choice in found}) == len(found)


def test_kinds_of_labels() -> None:
    choice = choices()[0]
    teacher = METHOD.teacher(TASK).probabilities(choice.chosen)
    torch.testing.assert_close(choice.with_labels("teacher").y, teacher)
    learned = choice.with_labels("learned").y
    torch.testing.assert_close(learned.sum(1), torch.ones(4))
    assert float(learned.min()) > 0 and not torch.allclose(learned, teacher)
    stubborn = choices(replace(METHOD, pull=1e9))[0].with_labels("learned").y
    torch.testing.assert_close(stubborn, teacher.clamp(0.01, 1), rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("labels", ["learned", "teacher", "own"])
def test_without_trials_the_likeliest_choice_is_the_result(labels: str) -> None:
    method = replace(METHOD, labels=labels, finalists=1, steps=0)
    made = method.condense(TASK)
    assert same(made.graphs, choices(method)[0].with_labels(labels))
    assert made.info["trials"] == {} and made.info["made_of"] == "real graphs"
    assert made.history[-1]["loss"] == pytest.approx(choices(method)[0].errors[-1])


def test_networks_teach_where_the_regression_does_not_know_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("graphcondense.methods.pursuit.networks_are_as_good", lambda *_: asked.append(1) or good)
    for good in (True, False):
        made = replace(METHOD, taught_by="best").condense(TASK)
        teacher = "networks" if good else "regression"
        alone = replace(METHOD, taught_by=teacher).condense(TASK)
        assert same(made.graphs, alone.graphs) and made.info["teacher"] == alone.info["teacher"] == teacher
        assert made.info["trials"] == alone.info["trials"]
    assert len(asked) == 2


def test_networks_word_is_what_there_is_to_learn() -> None:
    method = replace(METHOD, taught_by="networks", taught_steps=20)
    networks = train_teacher(TASK, METHOD.network, METHOD.recipe, 2, 20, METHOD.seed)
    choice = choices(method)[0]
    torch.testing.assert_close(choice.with_labels("teacher").y, networks.probabilities(choice.chosen))


LARGE = replace(METHOD, graphs_per_class=7, starts=6, finalists=2)
"""Of so many graphs that both kinds of labels are tried."""


def invent(monkeypatch: pytest.MonkeyPatch, scores: list[float], others: dict[str, list[float]]) -> list[GraphStore]:
    """Let trials have these scores, one after the other, those of other kinds of network by kind; what was tried."""
    seen: list[GraphStore] = []
    given = {"gcn": iter(scores)} | {kind: iter(own) for kind, own in others.items()}

    def examine(examiner: Examiner, graphs: GraphStore, networks: int, kind: str = "gcn") -> Said:
        assert networks == (2 if kind == "gcn" else 1)
        seen.append(graphs)
        return Said(next(given[kind]), lambda: torch.full((len(examiner.pool), 2), 0.5).double())

    monkeypatch.setattr(Examiner, "examine", examine)
    return seen


def test_the_best_of_the_tried_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [0.5, 0.9, 0.7, 0.9, 0.4, 0.6, 0.95, 0.95]
    seen = invent(monkeypatch, scores, {})
    made = replace(LARGE, steps=3).condense(TASK)
    assert len(seen) == 8 and same(made.graphs, seen[6])  # the first of equals
    assert made.info["trials"]["winner"] == 6
    assert made.info["trials"]["used"] == {
        "starts": 6,
        "steps": 3,
        "matched": 0,
        "matched_steps": 300,
        "trained": 2,
        "all_round": 0,
    }
    tried = made.info["trials"]["labels, error, score, other networks"]
    assert [row[0] for row in tried] == ["learned", "teacher"] * 2 + ["own"] + ["learned"] * 3
    assert [row[2] for row in tried] == scores and all(row[3] is None for row in tried)
    seen = invent(monkeypatch, scores, {})
    before = replace(LARGE, steps=0).condense(TASK)
    assert len(seen) == 5 and same(before.graphs, seen[1])


@pytest.mark.parametrize(
    ("steps", "patience", "taken"),
    [
        ([0.9, 0.9, 0.8], 2, 2),  # as good is no better
        ([0.8, 0.95, 0.94, 0.94, 0.99], 2, 4),  # a better one starts the count again
        ([0.8, 0.95, 0.94, 0.94, 0.99], 3, 5),
        ([0.8, 0.8, 0.8], 9, 3),
        ([0.9005, 0.9008, 0.95], 2, 2),  # a little better is not worth going on for
    ],
)
def test_steps_end_when_several_in_a_row_were_no_better(
    monkeypatch: pytest.MonkeyPatch, steps: list[float], patience: int, taken: int
) -> None:
    scores = [0.5, 0.9, 0.7, 0.6, 0.4, *steps]
    seen = invent(monkeypatch, scores, {})
    made = replace(LARGE, steps=len(steps), patience=patience).condense(TASK)
    assert len(seen) == 5 + taken and made.info["trials"]["used"]["steps"] == taken
    assert made.info["trials"]["winner"] == scores.index(max(scores[: 5 + taken]))


def test_steps_from_graphs_with_their_own_classes_keep_these(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = invent(monkeypatch, [0.5, 0.6, 0.5, 0.6, 0.8, 0.7, 0.9], {})
    made = replace(LARGE, steps=2).condense(TASK)
    assert [row[0] for row in made.info["trials"]["labels, error, score, other networks"]][4:] == ["own"] * 3
    assert same(made.graphs, seen[6]) and made.graphs.y.tolist() == [0] * 7 + [1] * 7


def test_steps_that_come_back_to_the_same_graphs_with_their_own_classes_train_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = invent(monkeypatch, [0.5, 0.6, 0.5, 0.6, 0.8, 0.9], {})
    steps, first = [], Ground.next_to

    def back(ground: Ground, choice: Choice, gap: torch.Tensor) -> Choice:
        steps.append(choice.key)
        return first(ground, choice, gap) if len(steps) == 1 else replace(choice, places=choice.places.flip(0))

    monkeypatch.setattr(Ground, "next_to", back)
    made = replace(LARGE, steps=3).condense(TASK)
    assert len(steps) == 3 and len(set(steps[1:])) == 1 and len(seen) == 6
    assert made.info["trials"]["winner"] == 5 and same(made.graphs, seen[5])


def test_of_the_best_the_one_is_taken_that_teaches_other_networks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # The two kinds of labels of one choice count once, so three are left for the others: the two best of those.
    seen = invent(monkeypatch, [0.8, 0.81, 0.5, 0.6, 0.1, 0.9], {"gin": [0.8, 0.79], "sage": [0.6, 0.78]})
    made = replace(LARGE, steps=1, all_round=2).condense(TASK)
    trials = made.info["trials"]
    tried = trials["labels, error, score, other networks"]
    assert [row[3] for row in tried] == [None, 0.78, None, None, None, 0.6]
    assert trials["winner"] == 1 and same(made.graphs, seen[1])


@pytest.mark.parametrize(
    ("gin", "sage", "trained"),
    [
        ([0.9], [0.87], [0.9]),  # no other can come first: it was the best of the judge's kind, and teaches the others
        ([0.73, 0.9], [0.9, 0.9], [0.9, 0.84]),  # .9 - .0625 is less than the second has, whose .84 none can reach
        ([0.5, 0.5, 0.9], [0.9, 0.9, 0.9], [0.9, 0.84, 0.81]),
    ],
)
def test_others_are_trained_while_a_choice_could_still_come_first(
    monkeypatch: pytest.MonkeyPatch, gin: list[float], sage: list[float], trained: list[float]
) -> None:
    invent(monkeypatch, [0.81, 0.8, 0.84, 0.5, 0.1, 0.9], {"gin": gin, "sage": sage})
    made = replace(LARGE, steps=1, all_round=3).condense(TASK)
    tried = made.info["trials"]["labels, error, score, other networks"]
    assert sorted((row[2] for row in tried if row[3] is not None), reverse=True) == trained


def test_other_networks_count_where_they_fall_short() -> None:
    trial = tried(ground_of(METHOD), "learned", torch.zeros(0))
    assert trial.all_round == 0.5
    assert replace(trial, others=0.48).all_round == 0.5
    assert replace(trial, others=0.375).all_round == pytest.approx(0.45)


def test_of_few_graphs_fewer_kinds_of_labels_are_tried() -> None:
    assert METHOD.kinds(TASK) == ("learned", "own") and LARGE.kinds(TASK) == ("learned", "teacher", "own")
    assert replace(LARGE, labels="own").kinds(TASK) == ("own",)


def test_half_as_many_ends_are_tried_with_own_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = choices()[:1] * 9
    monkeypatch.setattr(Pursuit, "choices", lambda *_: ends)
    kinds = [kind for _, _, kind in replace(METHOD, finalists=5).entrants(TASK, ground_of(METHOD))]
    assert kinds == ["learned"] * 5 + ["own"] * 3


def test_what_is_given_is_tried_and_the_rest_follows_from_the_data() -> None:
    unset = {"finalists": None, "starts": None, "steps": None, "matched": None, "trained": None}
    assert METHOD.effort(TASK) == Effort(finalists=3, starts=4, steps=2, matched=0, matched_steps=300, trained=2)
    assert replace(METHOD, **unset).effort(TASK) == Effort.of(TASK, 4, dict.fromkeys(Effort.names()))


SHOWN = "labels, error, score, other networks"


def test_of_few_graphs_some_are_learned_from_the_best_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    # From the best of two choices with learned labels and one with own classes comes what is better than all before.
    seen = invent(monkeypatch, [0.6, 0.8, 0.7, 0.85], {})
    made = replace(METHOD, steps=0, matched=1, finalists=2).condense(TASK)
    assert [row[0] for row in made.info["trials"][SHOWN]] == ["learned", "learned", "own", "learned, matched"]
    assert made.info["trials"]["winner"] == 3 and same(made.graphs, seen[3])
    assert made.info["made_of"] == "graphs learned from real ones" and made.info["trials"][SHOWN][3][1] is None
    assert made.graphs.num_nodes.tolist() == seen[1].num_nodes.tolist() and torch.equal(made.graphs.y, seen[1].y)
    assert not torch.equal(made.graphs.x, seen[1].x)


@pytest.mark.parametrize(
    ("after", "choices"),
    [
        ([0.7, 0.7], 1),
        ([0.7, 0.9, 0.7, 0.7], 2),
        ([0.9, 0.7, 0.7], 2),  # the soft labels were better: the own classes are not tried
        ([0.9, 0.95, 0.97], 3),
    ],
)
def test_learning_ends_with_a_choice_that_was_no_better(
    monkeypatch: pytest.MonkeyPatch, after: list[float], choices: int
) -> None:
    invent(monkeypatch, [0.6, 0.8, 0.75, *after], {})
    made = replace(METHOD, steps=0, matched=3, matched_steps=2, finalists=2).condense(TASK)
    tried = made.info["trials"][SHOWN]
    assert tried[3][0] == "learned, matched"
    assert [row[2] for row in tried[3:]] == after and made.info["trials"]["used"]["matched"] == choices


@pytest.mark.parametrize("labels", ["learned", "teacher", "own"])
def test_learned_graphs_have_the_labels_that_were_asked_for(labels: str) -> None:
    made = replace(METHOD, labels=labels, matched=2, matched_steps=2).condense(TASK)
    tried = made.info["trials"][SHOWN]
    assert {row[0] for row in tried} == {labels, f"{labels}, matched"}


def test_without_trials_nothing_is_learned_unless_asked_for() -> None:
    alone = replace(METHOD, labels="learned", finalists=1, steps=0, matched=None)
    assert alone.condense(TASK).info["trials"] == {}
    asked = replace(alone, matched=1, matched_steps=2).condense(TASK)
    assert len(asked.info["trials"][SHOWN]) == 2


def test_graphs_that_cannot_be_learned_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphcondense.methods.pursuit.match_from", lambda *_: None)
    made, plain = (replace(METHOD, matched=number).condense(TASK) for number in (2, 0))
    assert same(made.graphs, plain.graphs) and made.info["trials"] == plain.info["trials"]


def tried(ground: Ground, kind: str, said: torch.Tensor) -> Trial:
    return Trial(ground, ground.choice(torch.tensor([0, 1, 20, 21]), 1), kind, 0.5, lambda: said + 0.5)


@pytest.mark.parametrize("kind", ["learned", "teacher", "own"])
def test_networks_that_say_what_regression_says_leave_no_gap(kind: str) -> None:
    ground = ground_of(METHOD)
    blank = tried(ground, kind, torch.zeros(len(ground.graphs), 2).double())
    gap = ground.gap(blank)
    assert float(gap.abs().max()) > 0.01
    torch.testing.assert_close(ground.gap(replace(blank, said=lambda: gap + 0.5)), torch.zeros_like(gap))


def test_a_step_aims_at_the_teacher_and_the_gap() -> None:
    ground = ground_of(METHOD)
    blank = tried(ground, "learned", torch.zeros(len(ground.graphs), 2).double())
    same_aim = ground.next_to(blank.choice, torch.zeros_like(blank.said()))
    assert torch.equal(same_aim.places, ground.choice(blank.choice.places, 1).places)
    gap = 0.3 * torch.randn(blank.said().shape, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    moved = ground.next_to(blank.choice, gap)
    views = [view.towards(ground.taught.double() - 0.5 + gap) for view in ground.views]

    def mean(places: torch.Tensor) -> float:
        return sum(view.error(places) for view in views) / len(views)

    assert mean(moved.places) == pytest.approx(moved.errors[-1]) and moved.errors[-1] <= mean(blank.choice.places)


def test_graphs_with_their_own_labels_are_chosen_for_those() -> None:
    soft = ground_of(METHOD)
    hard = soft.hard()
    for view in soft.views:
        assert torch.equal(view.target, view.aim)
    for view in hard.views:
        assert torch.equal(view.aim, hard.taught.double() - 0.5)
        assert torch.equal(view.target[:, 1], hard.graphs.y.double() - 0.5)
    made = replace(METHOD, labels="own").condense(TASK)
    assert made.graphs.y.tolist() == [0, 0, 1, 1] and not made.graphs.y.is_floating_point()


class Told(gc.callbacks.Callback):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.steps: list[object] = []

    def on_start(self, iterations: int) -> None:
        self.steps.append(("start", iterations))

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        self.steps.append(iteration)

    def on_end(self) -> None:
        self.steps.append("end")


def test_callbacks_are_told_of_kernels_starts_and_trials() -> None:
    told = Told()
    METHOD.condense(TASK, [told])
    assert told.steps[0] == ("start", 2 + 4 * 2 + 3 + 2 + 2 + 1) and told.steps[-1] == "end"
    assert told.steps[1:-1] == list(range(1, len(told.steps) - 1)) and len(told.steps) > 2 + 4 * 2 + 2


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    paths = [METHOD.condense(TASK).save(tmp_path / f"{number}.safetensors") for number in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    loaded = gc.CondensedDataset.load(paths[0])
    assert loaded.info["method"] == "pursuit" and loaded.info["trials"]["labels, error, score, other networks"]
    assert loaded.num_bytes == paths[0].stat().st_size


def test_test_graphs_are_not_looked_at() -> None:
    y = TASK.graphs.y.clone()
    y[TASK.split.test] = 1 - y[TASK.split.test]
    other = replace(TASK, graphs=replace(TASK.graphs, y=y))
    assert same(METHOD.condense(TASK).graphs, METHOD.condense(other).graphs)


def test_a_small_pool_has_its_share_of_every_class_and_enough_to_choose() -> None:
    few = replace(METHOD, pool=10)
    labels = TASK.train.y[few._pool(TASK, torch.Generator().manual_seed(0))]
    assert torch.bincount(labels).tolist() == [5, 5]
    many = replace(METHOD, pool=2, graphs_per_class=7)
    labels = TASK.train.y[many._pool(TASK, torch.Generator().manual_seed(0))]
    assert torch.bincount(labels).tolist() == [7, 7]
    assert many.condense(TASK).graphs.num_graphs == 14


def test_classes_may_be_unequal() -> None:
    made = replace(METHOD, in_proportion=True, graphs_per_class=3).condense(TASK)
    assert made.graphs.num_graphs == 6


@pytest.mark.parametrize(
    "setting",
    [
        "finalists",
        "trained",
        "scored",
        "kernels",
        "kernel_hidden",
        "pool",
        "rounds",
        "patience",
        "matched_steps",
        "starts",
        "all_round",
        "taught_steps",
    ],
)
def test_settings_are_checked(setting: str) -> None:
    with pytest.raises(InputError, match=f"{setting}=0"):
        Pursuit(**{setting: 0})  # type: ignore[arg-type]


def test_more_settings_are_checked() -> None:
    with pytest.raises(InputError, match="recipe='long' must be a Recipe"):
        Pursuit(recipe="long")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="steps=-1"):
        Pursuit(steps=-1)
    with pytest.raises(InputError, match="matched=-1"):
        Pursuit(matched=-1)
    with pytest.raises(InputError, match="penalty=-1"):
        Pursuit(penalty=-1)
    with pytest.raises(InputError, match="unknown labels 'hard'"):
        Pursuit(labels="hard")
    with pytest.raises(InputError, match="unknown taught_by 'me'"):
        Pursuit(taught_by="me")
    with pytest.raises(InputError, match="graphs_per_class=1000 is more than"):
        Pursuit(graphs_per_class=1000).condense(TASK)


def test_regressions_without_a_solution_are_an_error_that_says_what_helps() -> None:
    huge = replace(TASK, graphs=replace(TASK.graphs, x=TASK.graphs.x * 1e30))
    with pytest.raises(GraphcondenseError, match=r"raise penalty, or scale the features \(the largest is .*e\+3"):
        METHOD.condense(huge)


def test_features_so_small_that_soft_labels_teach_nothing_leave_the_graphs_their_classes() -> None:
    small = replace(TASK, graphs=replace(TASK.graphs, x=TASK.graphs.x * 1e-3))
    method = Pursuit(graphs_per_class=3, recipe=Recipe(epochs=60), kernel_hidden=16, teacher_hidden=64, all_round=1)
    made, soft = method.condense(small), replace(method, labels="learned").condense(small)
    assert not made.graphs.y.is_floating_point()
    protocol = gc.Protocol(NetworkConfig(), Recipe(epochs=60))
    scores = [gc.evaluate(one, small, seeds=3, protocol=protocol).mean for one in (made, soft)]
    assert scores[0] > scores[1]


def test_roc_auc_weighs_classes_alike() -> None:
    from graphcondense.methods.pursuit import _weights

    task = toy_task(metric="roc_auc")
    uneven = task.train.y[torch.cat([(task.train.y == 0).nonzero()[:8], (task.train.y == 1).nonzero()[:2]]).flatten()]
    weights = _weights(task, uneven)
    assert float(weights[uneven == 0].sum()) == pytest.approx(0.5) and float(weights.sum()) == pytest.approx(1)


def test_pursuit_beats_random_graphs_with_the_same_teacher_on_digits() -> None:
    task = gc.load("digits")
    preset = gc.preset("default", task)
    protocol = replace(preset.protocol, recipe=replace(preset.recipe, epochs=100, rate=0.01, validate_every=10))
    quick = {
        "kernels": 2,
        "kernel_hidden": 32,
        "pool": 400,
        "starts": 2,
        "labels": "learned",
        "finalists": 1,
        "steps": 0,
    }
    means = {
        kind: sum(
            gc.evaluate(
                kind(graphs_per_class=1, seed=seed, **more).condense(task), task, seeds=2, protocol=protocol
            ).mean
            for seed in range(2)
        )
        for kind, more in ((RandomSoft, {}), (Pursuit, quick))
    }
    assert means[Pursuit] > means[RandomSoft]
