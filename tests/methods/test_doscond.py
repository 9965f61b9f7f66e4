from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.evaluation import Protocol, evaluate
from graphcondense.matching import DISTANCES
from graphcondense.methods import Callback, DosCond, RandomSelection
from graphcondense.models import KINDS, NetworkConfig
from graphcondense.presets import preset
from graphcondense.synthetic import CondensedDataset
from graphcondense.training import Recipe
from tests.made_up import toy_task

TASK = toy_task()
SMALL = NetworkConfig(hidden=8, layers=2)


def condense(**settings: object) -> CondensedDataset:
    defaults = {"graphs_per_class": 3, "iterations": 4, "network": SMALL, "nodes": 7}
    return DosCond(**(defaults | settings)).condense(TASK)  # type: ignore[arg-type]


def equal(one: CondensedDataset, two: CondensedDataset) -> bool:
    return torch.equal(one.graphs.x, two.graphs.x) and torch.equal(one.graphs.edge_index, two.graphs.edge_index)


def test_same_seed_same_graphs_other_seed_other_graphs() -> None:
    assert equal(condense(seed=1), condense(seed=1))
    assert not equal(condense(seed=1), condense(seed=2))


def test_matching_loss_falls() -> None:
    history = condense(iterations=120, real_batch="all", structure_rate=0.1, feature_rate=0.02, restart_at=None).history
    first, last = (sum(record["loss"] for record in part) for part in (history[:20], history[-20:]))
    assert last < 0.7 * first


def test_terms_and_temperature_are_reported() -> None:
    history = condense(iterations=3, annealing=2).history
    assert [record["temperature"] for record in history] == pytest.approx([1.0, 0.1, 0.01])
    assert all(
        math.isfinite(record[key]) and record[key] > 0 for record in history for key in ("first_term", "second_term")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_can_be_matched(kind: str) -> None:
    condensed = condense(network=NetworkConfig(kind, hidden=8, layers=2))
    assert len(condensed) == 6 and bool(torch.isfinite(condensed.graphs.x).all())


@pytest.mark.parametrize(
    "settings",
    [
        {"match": "joint"},
        {"pad": True},
        {"samples": 3},
        {"norm_weight": 0.7},
        {"network": NetworkConfig(hidden=8, layers=2, pooling="sum", norm="instance")},
        {"network": NetworkConfig(hidden=8, layers=2, norm="batch")},
        {"sparsity_weight": 0.0},
        *({"distance": name} for name in DISTANCES),
    ],
)
def test_each_setting_changes_the_result(settings: dict[str, object]) -> None:
    if settings == {"distance": "relative-squared"}:
        assert equal(condense(**settings), condense())
    else:
        assert not equal(condense(**settings), condense())


def test_binary_task_is_learned_on_one_logit() -> None:
    task = toy_task(metric="roc_auc")
    condensed = DosCond(graphs_per_class=2, iterations=3, network=SMALL, nodes=7).condense(task)
    assert condensed.metric == "roc_auc" and len(condensed) == 4


def test_frozen_structure_is_real_structure() -> None:
    frozen = condense(structure_rate=0.0, pad=False)
    structures = {(int(g.num_nodes), tuple(map(tuple, g.edge_index.T.tolist()))) for g in TASK.train}
    for graph in frozen.graphs:
        assert (graph.num_nodes, tuple(map(tuple, sorted(graph.edge_index.T.tolist())))) in structures


def test_structure_moves_when_its_rate_allows() -> None:
    frozen, free = condense(structure_rate=0.0), condense(structure_rate=3.0, iterations=10)
    assert not torch.equal(frozen.graphs.edge_index, free.graphs.edge_index)


def test_a_stronger_sparsity_regulariser_gives_sparser_graphs() -> None:
    loose = condense(sparsity_weight=0.0, structure_rate=1.0, iterations=60)
    tight = condense(sparsity_weight=100.0, structure_rate=1.0, iterations=60)
    assert int(tight.graphs.num_edges.sum()) < int(loose.graphs.num_edges.sum())


def test_padding_makes_all_graphs_of_one_size_and_masks_keep_true_ones() -> None:
    assert set(condense(pad=True).graphs.num_nodes.tolist()) == {7}
    assert set(condense(pad=False).graphs.num_nodes.tolist()) <= {4, 5, 6, 7}


def test_nodes_default_to_the_rounded_mean() -> None:
    mean = round(float(TASK.graphs.num_nodes.double().mean()))
    assert set(condense(nodes=None, pad=True).graphs.num_nodes.tolist()) == {mean}


def test_restart_lowers_the_rates() -> None:
    early, never = condense(iterations=30, restart_at=1), condense(iterations=30, restart_at=None)
    start = condense(iterations=1, feature_rate=0.0, structure_rate=0.0)
    moved = [float((run.graphs.x - start.graphs.x).abs().sum()) for run in (early, never)]
    assert moved[0] < 0.5 * moved[1]


def test_settings_end_up_in_the_result() -> None:
    condensed = condense(seed=5)
    assert condensed.info["settings"] == asdict(
        DosCond(graphs_per_class=3, iterations=4, network=SMALL, nodes=7, seed=5)
    )
    assert condensed.info["dataset"] == "toy" and condensed.info["iterations"] == 4


def test_callbacks_hear_of_every_iteration() -> None:
    heard: list[object] = []

    class Listener(Callback):
        def on_start(self, iterations: int) -> None:
            heard.append(iterations)

        def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
            heard.append((iteration, record["loss"]))

        def on_end(self) -> None:
            heard.append("end")

    condensed = DosCond(graphs_per_class=1, iterations=2, network=SMALL, nodes=7).condense(TASK, [Listener()])
    losses = [record["loss"] for record in condensed.history]
    assert heard == [2, (1, losses[0]), (2, losses[1]), "end"]


def test_a_loss_that_is_not_a_number_stops_the_run() -> None:
    with pytest.raises(GraphcondenseError, match=r"the loss is (nan|inf), at iteration \d+, .*: lower feature_rate"):
        condense(feature_rate=1e30, iterations=20)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graphs_per_class": 0}, "graphs_per_class=0 must be a whole number of at least 1"),
        ({"iterations": -1}, "iterations=-1"),
        ({"real_batch": "most"}, "real_batch='most'"),
        ({"match": "clas"}, "unknown match 'clas': did you mean 'class'"),
        ({"distance": "euclid"}, "unknown distance 'euclid'"),
        ({"feature_rate": -0.1}, "feature_rate=-0.1"),
        ({"final_temperature": 0.0}, "final_temperature=0.0 must be in"),
        ({"seed": -1}, "seed=-1"),
        ({"nodes": 0}, "nodes=0"),
    ],
)
def test_wrong_settings_are_named_when_the_method_is_built(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DosCond(**settings)  # type: ignore[arg-type]


def test_more_graphs_than_there_are_small_ones() -> None:
    with pytest.raises(InputError, match=r"with at most 4 nodes to start from.*--graph-nodes \d"):
        condense(nodes=4, graphs_per_class=30)


def test_more_structure_than_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match=r"6 graphs of 99999999 nodes need about \d+ GB, .* lower nodes"):
        condense(nodes=99_999_999)


def test_a_list_is_not_a_task() -> None:
    with pytest.raises(InputError, match="task=list must be a task: make one"):
        DosCond().condense(list(TASK.train))  # type: ignore[arg-type]


def test_defaults_are_those_of_the_default_preset() -> None:
    assert preset("default", TASK).method("doscond") == DosCond()


def test_more_graphs_than_there_are() -> None:
    with pytest.raises(InputError, match="graphs_per_class=1000 is more than the 48 training graphs of class 0"):
        condense(graphs_per_class=1000)


def test_quality_on_digits_beats_random_selection() -> None:
    """A floor, far from what is reached: five graphs a class must beat five random ones, on the same training."""
    from graphcondense.datasets import load

    task = load("digits")
    protocol = Protocol(NetworkConfig(hidden=64), Recipe(epochs=150, rate=0.005))
    method = DosCond(
        graphs_per_class=5,
        iterations=100,
        real_batch=32,
        network=NetworkConfig(hidden=64),
        nodes=40,
        structure_rate=0.1,
    )
    learned = evaluate(method.condense(task), task, seeds=3, protocol=protocol)
    chosen = evaluate(RandomSelection(graphs_per_class=5).condense(task), task, seeds=3, protocol=protocol)
    assert learned.mean > chosen.mean
    assert learned.mean > 0.5


def test_quality_on_superpixels_with_the_papers_settings(needs_data: Callable[[str], Path]) -> None:
    """A floor: one graph a class learned in few short iterations beats the ten real graphs that it started from."""
    from graphcondense.datasets import load

    task = load("CIFAR10", data_root=needs_data("CIFAR10"))
    method = preset("paper", task).method("doscond", graphs_per_class=1, iterations=30, real_batch=32)
    assert isinstance(method, DosCond)
    few = replace(task, split=replace(task.split, test=task.split.val[:1024], val=task.split.val[1024:2048]))
    protocol = replace(preset("paper", task).protocol, recipe=Recipe(epochs=60, rate=0.003, validate_every=20))
    start, learned = (
        evaluate(graphs, few, seeds=2, protocol=protocol).mean
        for graphs in (task.train.subset(method.start(task)), method.condense(task))
    )
    assert learned > start + 0.01
