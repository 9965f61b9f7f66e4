"""Numbers that go wrong, and data at the edge of what makes sense: a result, or one line that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from graphcondense import machine
from graphcondense.datasets import graph_task, node_task
from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.evaluation import Protocol, evaluate, evaluate_nodes
from graphcondense.matching import DISTANCES, Gradients
from graphcondense.methods import DivergedError, DosCond, DosCondBi, GCond, NodeDosCond, RandomSelection
from graphcondense.methods.numbers import EXPLODED, LossWatch
from graphcondense.models import KINDS, NetworkConfig
from graphcondense.presets import preset
from graphcondense.runs.callbacks import Every
from graphcondense.runs.checkpoint import checkpoint_files, read_checkpoint
from graphcondense.runs.condense import condense_into
from graphcondense.runs.folder import read_result
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Recipe
from tests.made_up import toy_nodes, toy_task

SMALL = NetworkConfig(hidden=8)
QUICK = Protocol(SMALL, Recipe(epochs=3))


def ring(nodes: int, label: int, scale: float = 1.0) -> Data:
    first = torch.arange(nodes)
    edges = torch.stack([first, (first + 1) % nodes])
    x = scale * torch.eye(3)[first % 3]
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=torch.tensor([label]))


def dot(label: int) -> Data:
    return Data(
        x=torch.eye(3)[label : label + 1], edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([label])
    )


def condensed_and_judged(task: GraphTask, **settings: Any) -> float:
    condensed = DosCond(**({"graphs_per_class": 1, "iterations": 3, "network": SMALL} | settings)).condense(task)
    assert bool(condensed.graphs.x.isfinite().all())
    return evaluate(condensed, task, seeds=1, protocol=QUICK).mean


def test_a_loss_that_is_not_finite_is_told_with_iteration_class_and_setting() -> None:
    with pytest.raises(DivergedError) as told:
        condensed_and_judged(toy_task(), feature_rate=1e30, iterations=9)
    text = str(told.value)
    assert (
        text.startswith("the loss is inf, at iteration 2, worst in class ") or "the loss is nan, at iteration 2" in text
    )
    assert text.endswith(": lower feature_rate=1e+30, e.g. to 0.1")


def test_an_exploding_loss_is_told() -> None:
    with pytest.raises(
        DivergedError, match=r"times what it was at first, at iteration \d+, worst in class [01]: lower"
    ):
        condensed_and_judged(toy_task(), feature_rate=1e4, iterations=50)
    with pytest.raises(
        DivergedError, match=r"times what it was at first, at iteration \d+, worst in class [012]: lower"
    ):
        NodeDosCond(nodes=6, iterations=50, feature_rate=1e4, network=SMALL).condense(toy_nodes())


def test_a_last_step_that_is_too_long_is_told() -> None:
    with pytest.raises(DivergedError, match=r"not finite after iteration 1: lower feature_rate=1e\+39, e.g. to 0\.1"):
        condensed_and_judged(toy_task(), feature_rate=1e39, iterations=1)
    with pytest.raises(DivergedError, match=r"not finite after iteration \d: lower structure_rate=1e\+39"):
        condensed_and_judged(toy_task(), structure_rate=1e39, iterations=2)


def test_the_rate_of_the_networks_is_named_where_it_is_to_blame() -> None:
    method = DosCondBi(graphs_per_class=1, iterations=9, inner_rate=1e30, outer=5, network=SMALL)
    with pytest.raises(DivergedError, match=r"lower inner_rate=1e\+30, e.g. to 0\.1"):
        method.condense(toy_task())


def test_features_that_are_too_large_are_named() -> None:
    task = graph_task([ring(5 + i % 2, i % 2, scale=1e30) for i in range(20)])
    with pytest.raises(
        DivergedError, match=r"at iteration 1, .*the real features reach 1e\+30: scale them, e.g. to mean"
    ):
        condensed_and_judged(task, nodes=6)


def test_the_last_good_checkpoint_is_kept_and_resuming_says_the_same(tmp_path: Path) -> None:
    """A rate that explodes after some iterations: what was saved before is finite, and is still there."""
    task, folder = toy_task(), tmp_path / "run"
    chosen = preset("default", task)
    method = DosCond(graphs_per_class=1, iterations=60, feature_rate=1e4, network=SMALL)
    told = []
    for resume in (False, True):
        with pytest.raises(DivergedError) as error:
            condense_into(folder, method, task, chosen, every=Every(iterations=1), resume=resume)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert told[0].endswith(f"is kept in {folder}, --resume would end the same way: begin anew with --force")
    files = checkpoint_files(folder)
    assert files and read_result(folder) is None
    kept = read_checkpoint(files[0], json.loads((folder / "settings.json").read_text()))
    assert f"iteration {kept.iteration} is kept" in told[0]
    assert all(bool(value.isfinite().all()) for name, value in kept.state.items() if "learned" in name)
    smaller = DosCond(graphs_per_class=1, iterations=3, feature_rate=0.01, network=SMALL)
    with pytest.raises(InputError, match="start anew with --force"):
        condense_into(folder, smaller, task, chosen, resume=True)
    condense_into(folder, smaller, task, chosen, force=True)
    assert read_result(folder) is not None


def test_without_a_checkpoint_that_is_said(tmp_path: Path) -> None:
    task = toy_task()
    method = DosCond(graphs_per_class=1, iterations=9, feature_rate=1e30, network=SMALL)
    with pytest.raises(DivergedError, match="no checkpoint was made before in"):
        condense_into(tmp_path / "run", method, task, preset("default", task))


def test_one_odd_draw_is_no_explosion_and_a_continued_run_counts_on() -> None:
    watch = LossWatch(["a", "b"], {"feature_rate": 0.1}, 1.0)

    def see(iteration: int, loss: float) -> None:
        watch.see(iteration, {"loss": loss}, lambda: torch.tensor([1.0, 3.0]), [torch.ones(1)], [])

    for iteration, loss in enumerate([1.0, 2 * EXPLODED, 1.0, 2 * EXPLODED, 2 * EXPLODED]):
        see(iteration, loss)
    watch.recall([1.0, 2 * EXPLODED, 1.0, 2 * EXPLODED, 2 * EXPLODED])
    with pytest.raises(
        DivergedError, match=r"^the loss is 2e\+06, 2e\+06 times .* at iteration 6, worst in class b: lower"
    ):
        see(5, 2 * EXPLODED)


def test_training_that_diverges_is_no_score() -> None:
    task = toy_task(40)
    condensed = RandomSelection(graphs_per_class=1).condense(task)
    wild = Protocol(SMALL, Recipe(epochs=20, rate=1e30))
    with pytest.raises(GraphcondenseError, match=r"training diverged: with seed 0 .* lower the recipe's rate=1e\+30"):
        evaluate(condensed, task, seeds=2, protocol=wild)
    nodes = toy_nodes()
    small = NodeDosCond(nodes=6, iterations=1, network=SMALL).condense(nodes)
    for model in ("gcn", "gat"):
        with pytest.raises(GraphcondenseError, match="training diverged"):
            evaluate_nodes(small, nodes, seeds=1, protocol=wild, model=model)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_real_gradient_of_zero_has_a_finite_distance_and_slope(distance: str) -> None:
    real = Gradients.of([torch.zeros(2, 3, 4)])
    leaf = torch.ones(2, 12, requires_grad=True)
    value = DISTANCES[distance](real.like(leaf), real)
    (slope,) = torch.autograd.grad(value.sum(), [leaf])
    assert bool(value.isfinite().all()) and bool(slope.isfinite().all())
    assert float(slope.abs().max()) <= 10  # as it is, not a trillion times as much


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_features_of_zeros(kind: str) -> None:
    task = graph_task([ring(4, i % 2, scale=0.0) for i in range(20)])
    assert 0 <= condensed_and_judged(task, network=NetworkConfig(kind, hidden=8)) <= 1


@pytest.mark.parametrize("structure", ["bernoulli", "none", "features"])
def test_nodes_with_features_of_zeros_and_hardly_an_edge(structure: str) -> None:
    data = Data(x=torch.zeros(60, 4), edge_index=torch.tensor([[0], [1]]), y=torch.arange(60) % 2)
    task = node_task(data)
    small = NodeDosCond(nodes=2, iterations=3, network=SMALL, structure=structure).condense(task)
    assert 0 <= evaluate_nodes(small, task, seeds=1, protocol=QUICK).mean <= 1


def test_graphs_of_one_node_real_and_synthetic() -> None:
    task = graph_task([dot(i % 2) for i in range(20)] + [ring(3, i % 2) for i in range(2)])
    condensed = DosCond(graphs_per_class=2, iterations=3, nodes=1, network=SMALL).condense(task)
    assert condensed.graphs.num_nodes.tolist() == [1] * 4 and int(condensed.graphs.num_edges.sum()) == 0
    assert evaluate(condensed, task, seeds=1, protocol=QUICK).mean >= 0


def test_synthetic_graphs_without_an_edge(tmp_path: Path) -> None:
    """Still a result, a file and a score."""
    task = graph_task([dot(i % 2) for i in range(20)] + [ring(4, i % 2) for i in range(2)])
    bare = DosCond(graphs_per_class=1, iterations=3, nodes=3, pad=True, structure_rate=0.0, network=SMALL)
    condensed = bare.condense(task)
    condensed = type(condensed).load(condensed.save(tmp_path / "bare.safetensors"))
    assert int(condensed.graphs.num_edges.sum()) == 0
    for kind in KINDS:
        assert evaluate(condensed, task, seeds=1, protocol=QUICK, model=kind).mean >= 0


def test_a_class_with_one_graph() -> None:
    task = graph_task([ring(4, 0) for _ in range(20)] + [ring(5, 1)])
    assert int(task.train_class_counts[1]) == 1
    assert condensed_and_judged(task, nodes=5) >= 0
    with pytest.raises(
        InputError, match="graphs_per_class=2 is more than the 1 training graphs of class 1: use 1 or fewer"
    ):
        condensed_and_judged(task, graphs_per_class=2)


def test_a_thousand_classes() -> None:
    task = graph_task([ring(3 + i % 3, i % 1000) for i in range(3000)])
    condensed = DosCond(graphs_per_class=1, iterations=1, nodes=6, network=SMALL).condense(task)
    assert len(condensed) == 1000
    assert evaluate(condensed, task, seeds=1, protocol=Protocol(SMALL, Recipe(epochs=1))).mean >= 0


def thousand_nodes(classes: int) -> NodeTask:
    first = torch.arange(3 * classes)
    return node_task(Data(x=torch.eye(4)[first % 4], edge_index=torch.stack([first, first.roll(1)]), y=first % classes))


def test_many_classes_of_nodes_are_learned_or_refused_before_the_memory_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = thousand_nodes(100)
    small = NodeDosCond(nodes=100, iterations=1, network=SMALL).condense(task)
    assert len(small) == 100
    monkeypatch.setattr(machine, "physical_memory", lambda: 8 * 10**9)
    words = "the gradients of 1,000 classes in 1,000 nodes need about 33 GB, this machine has 8: lower nodes or"
    with pytest.raises(InputError, match=words):
        GCond(nodes=1000, network=SMALL).condense(thousand_nodes(1000))


def test_graphs_of_ten_thousand_nodes() -> None:
    task = graph_task([ring(10_000, i % 2) for i in range(4)] + [ring(10 + i % 2, i % 2) for i in range(20)])
    assert condensed_and_judged(task, nodes=11) >= 0
    data = ring(10_000, 0)
    data.y = torch.arange(10_000) % 2
    nodes = node_task(data)
    small = NodeDosCond(nodes=4, iterations=2, network=SMALL).condense(nodes)
    assert evaluate_nodes(small, nodes, seeds=1, protocol=QUICK).mean >= 0


def test_more_structure_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "physical_memory", lambda: 10**9)
    task = graph_task([ring(10_000, i % 2) for i in range(12)])
    words = (
        r"the structures of 2 graphs of 10000 nodes need about 6 GB, this machine has 1: lower nodes \(--graph-nodes\)"
    )
    with pytest.raises(InputError, match=words):
        condensed_and_judged(task)
