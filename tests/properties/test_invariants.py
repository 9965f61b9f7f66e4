"""What must hold for any graphs at all, looked for with hypothesis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphcondense.evaluation import Protocol, evaluate
from graphcondense.graphs import GraphStore
from graphcondense.matching import Matcher, relative_squared
from graphcondense.methods import RandomSelection
from graphcondense.models import KINDS, Network, NetworkConfig
from graphcondense.synthetic import BernoulliStructure, CondensedDataset
from graphcondense.training import Recipe
from graphcondense.training.trainer import predict, prediction_batches
from tests.made_up import random_store, toy_task

SEEDS = st.integers(0, 2**31 - 1)
POOLINGS = ("mean", "sum")
quick = settings(max_examples=15, deadline=None, derandomize=True)


def in_double(store: GraphStore) -> GraphStore:
    """Double precision: what is left of a difference is of the order of additions alone."""
    return replace(store, x=store.x.double())


def class_gradients(
    store: GraphStore, kind: str, pooling: str, classes: int = 2, compress: bool = True
) -> torch.Tensor:
    """Full gradient of each class, ``C x weights``."""
    network = Network(NetworkConfig(kind, hidden=5, layers=2, pooling=pooling), store.num_features, classes)
    theta = {name: weight.double() for name, weight in network.draw(torch.Generator().manual_seed(0)).items()}
    order = torch.argsort(store.y, stable=True)
    sizes = torch.bincount(store.y, minlength=classes)
    real = network.prepare(store, compress, by_label=True)
    batches = real.batches(order, sizes.tolist())
    weights = (1 / sizes.double()).repeat_interleave(sizes).split([len(batch.y) for batch in batches])
    return Matcher(network, relative_squared).real(theta, batches, weights).flat


def permuted(graph: Data, source: torch.Generator) -> Data:
    """The same graph with its nodes in another order."""
    order = torch.randperm(graph.num_nodes, generator=source)
    place = order.argsort()
    return Data(x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y)


@quick
@given(SEEDS, st.sampled_from(sorted(KINDS)), st.sampled_from(POOLINGS), st.booleans())
def test_the_order_of_nodes_changes_no_gradient(seed: int, kind: str, pooling: str, directed: bool) -> None:
    store = random_store(8, seed=seed, directed=directed)
    source = torch.Generator().manual_seed(seed)
    other = GraphStore.from_data_list([permuted(graph, source) for graph in store], directed)
    one, two = (class_gradients(in_double(graphs), kind, pooling) for graphs in (store, other))
    assert torch.allclose(one, two, rtol=1e-9, atol=1e-12)


@quick
@given(SEEDS, st.sampled_from(sorted(KINDS)), st.sampled_from(POOLINGS))
def test_the_order_of_graphs_changes_no_full_gradient(seed: int, kind: str, pooling: str) -> None:
    store = in_double(random_store(9, seed=seed, classes=3))
    order = torch.randperm(len(store), generator=torch.Generator().manual_seed(seed))
    one, two = (class_gradients(graphs, kind, pooling, classes=3) for graphs in (store, store.subset(order)))
    assert torch.allclose(one, two, rtol=1e-9, atol=1e-12)


@quick
@given(SEEDS, st.sampled_from(sorted(KINDS)), st.lists(st.integers(0, 5), min_size=4, max_size=12))
def test_compressed_equals_uncompressed_whatever_repeats(seed: int, kind: str, repeats: list[int]) -> None:
    store = in_double(random_store(6, seed=seed)).subset(torch.tensor([0, 1, *repeats]))
    one, two = (class_gradients(store, kind, "mean", compress=compress) for compress in (True, False))
    assert torch.allclose(one, two, rtol=1e-9, atol=1e-12)


@quick
@given(SEEDS, st.integers(1, 9), st.booleans())
def test_samples_are_symmetric_and_zero_or_one_in_the_limit(seed: int, nodes: int, directed: bool) -> None:
    source = torch.Generator().manual_seed(seed)
    start = (torch.rand(3, nodes, nodes, generator=source) < 0.4).float().triu(1)
    structure = BernoulliStructure(start + start.transpose(1, 2), strength=2.0)
    warm = structure.sample(1.0, source).detach()
    cold = structure.sample(1e-6, source).detach()
    for sample in (warm, cold):
        assert torch.equal(sample, sample.transpose(1, 2))
        assert not sample.diagonal(dim1=1, dim2=2).any() and bool(((sample >= 0) & (sample <= 1)).all())
    assert bool(((cold < 1e-3) | (cold > 1 - 1e-3)).all())
    assert set(structure.discrete().unique().tolist()) <= {0.0, 1.0}


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS, st.integers(1, 9), st.booleans(), st.booleans())
def test_save_load_save_is_identity(tmp_path: Path, seed: int, graphs: int, directed: bool, soft: bool) -> None:
    store = random_store(graphs, seed=seed, directed=directed)
    if soft:
        store = replace(store, y=torch.rand(graphs, 2, generator=torch.Generator().manual_seed(seed)))
    condensed = CondensedDataset(store, 2, info={"dataset": "made up", "note": "ä\n"})
    first = condensed.save(tmp_path / "first.safetensors", force=True)
    second = CondensedDataset.load(first).save(tmp_path / "second.safetensors", force=True)
    assert first.read_bytes() == second.read_bytes()


@quick
@given(SEEDS, st.sampled_from(sorted(KINDS)), st.integers(1, 12))
def test_scores_do_not_depend_on_the_batch_size(seed: int, kind: str, size: int) -> None:
    store = in_double(random_store(12, seed=seed))
    network = Network(NetworkConfig(kind, hidden=5, layers=2), store.num_features, 2)
    weights = {name: value.double() for name, value in network.draw_seeds([0, 1]).items()}
    statistics = {name: value.double() for name, value in network.fresh_statistics(2).items()}
    whole = predict(network, weights, statistics, prediction_batches(network, store))
    real = network.prepare(store)
    parts = [real.batch(index) for index in torch.arange(len(store)).split(size)]
    assert torch.allclose(whole, predict(network, weights, statistics, parts), rtol=1e-9, atol=1e-12)


def test_scores_do_not_depend_on_who_is_scored_beside() -> None:
    """The judge's scores are those of test graphs one by one."""
    task = toy_task(60)
    condensed = RandomSelection(graphs_per_class=2).condense(task)
    protocol = Protocol(NetworkConfig(hidden=8), Recipe(epochs=5))
    whole = evaluate(condensed, task, seeds=2, protocol=protocol)
    single = []
    for index in task.split.test:
        one = replace(task, split=replace(task.split, test=index.view(1)))
        single.append(evaluate(condensed, one, seeds=2, protocol=protocol).per_seed)
    assert torch.tensor(single).mean(0).tolist() == pytest.approx(whole.per_seed)
