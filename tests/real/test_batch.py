from __future__ import annotations

import pytest
import torch

from graphcondense.graphs import GraphStore
from graphcondense.models import KINDS, Network, NetworkConfig
from graphcondense.real import ClassSampler, RealGraphs
from graphcondense.training import graph_losses
from tests.made_up import random_store


def repeated_store(directed: bool = False) -> GraphStore:
    """Random graphs, several of which come twice: much to compress."""
    store = random_store(20, seed=3, directed=directed)
    return store.subset(torch.tensor([*range(20), 3, 4, 5, 6, 7, 8, 9, 3, 4, 5]))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_compressed_equals_plain_in_outputs_and_gradients(kind: str, directed: bool) -> None:
    store = repeated_store(directed)
    network = Network(NetworkConfig(kind, hidden=8, layers=3), 3, 2)
    index = torch.randperm(len(store), generator=torch.Generator().manual_seed(0))[:25]
    results = []
    for compress in (False, True):
        weights = {n: w.requires_grad_() for n, w in network.draw_seeds([0, 1]).items()}
        real = network.prepare(store, compress)
        assert (real.compression is not None) == compress
        batch = real.batch(index)
        outputs = network(weights, batch)
        gradient = torch.autograd.grad(graph_losses(outputs, batch.y).sum(), list(weights.values()))
        results.append((outputs, gradient))
    (plain, plain_gradient), (compressed, gradient) = results
    torch.testing.assert_close(compressed, plain)
    for ours, theirs in zip(gradient, plain_gradient, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_compression_leaves_fewer_rows_and_never_more() -> None:
    store = repeated_store()
    batch = RealGraphs(store, "gcn").batch()
    rows = [batch.features(0, level).shape[0] for level in range(1, 4)]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1] < store.x.shape[0]


def test_compression_switches_itself_off_for_float_features() -> None:
    store = random_store(20)
    noisy = GraphStore(torch.rand(store.x.shape), store.edge_index, store.node_ptr, store.edge_ptr, store.y)
    assert RealGraphs(noisy, "gcn").compression is None
    assert RealGraphs(store, "gcn").compression is not None


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_grouped_gradients_equal_those_of_each_group_alone(kind: str, compress: bool) -> None:
    store = repeated_store()
    network = Network(NetworkConfig(kind, hidden=8, layers=2), 3, 2)
    real = network.prepare(store, compress, by_label=True)
    theta = network.draw(torch.Generator().manual_seed(0))
    parts = [(store.y == label).nonzero().flatten() for label in (0, 1)]
    tied = {n: w.expand(2, *w.shape[1:]).clone().requires_grad_() for n, w in theta.items()}
    batch = real.batch(torch.cat(parts), [len(part) for part in parts])
    together = torch.autograd.grad(graph_losses(network(tied, batch), batch.y).sum(), list(tied.values()))
    for group, part in enumerate(parts):
        alone = {n: w.clone().requires_grad_() for n, w in theta.items()}
        batch = real.batch(part)
        gradient = torch.autograd.grad(graph_losses(network(alone, batch), batch.y).sum(), list(alone.values()))
        for ours, theirs in zip(together, gradient, strict=True):
            torch.testing.assert_close(ours[group], theirs[0], rtol=1e-4, atol=1e-6)


def test_batch_norm_statistics_of_a_group_are_its_own() -> None:
    store = repeated_store()
    network = Network(NetworkConfig("gcn", hidden=8, layers=2, norm="batch"), 3, 2)
    real = network.prepare(store)
    theta = network.draw(torch.Generator().manual_seed(0))
    tied = {n: w.expand(2, *w.shape[1:]).clone() for n, w in theta.items()}
    together = network(tied, real.batch(torch.arange(10), [4, 6]))
    alone = torch.cat([network(theta, real.batch(torch.arange(a, b)))[0] for a, b in ((0, 4), (4, 10))])
    torch.testing.assert_close(together, alone)


def test_sampler_draws_each_class_without_repeats() -> None:
    y = torch.tensor([0, 1, 0, 0, 1, 0, 0])
    sampler = ClassSampler(y, 2, batch=3)
    drawn, sizes = sampler.draw(torch.Generator().manual_seed(0))
    assert sizes == [3, 2]
    assert y[drawn].tolist() == [0, 0, 0, 1, 1]
    assert len(set(drawn.tolist())) == 5
    assert not sampler.fixed
    assert ClassSampler(y, 2, batch=None).fixed
    assert ClassSampler(y, 2, batch=None).draw(torch.Generator())[1] == [5, 2]


def test_sampler_names_an_empty_class() -> None:
    with pytest.raises(ValueError, match="class 1 has no training graph"):
        ClassSampler(torch.tensor([0, 2]), 3, batch=1)
