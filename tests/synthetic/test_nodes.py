from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from graphcondense.synthetic import (
    CondensedGraph,
    DenseNodes,
    Discrete,
    FromFeatures,
    NodeStructure,
    NoStructure,
    SyntheticNodes,
)

SOURCE = torch.Generator().manual_seed(3)
X = torch.randn(7, 4, generator=SOURCE)
HALF = (torch.rand(7, 7, generator=SOURCE) < 0.4).float().triu(1)
START = HALF + HALF.T


def structures() -> dict[str, NodeStructure]:
    return {
        "discrete": Discrete(START, 1.0),
        "none": NoStructure(),
        "features": FromFeatures(4, torch.Generator().manual_seed(0), threshold=0.5, hidden=16),
    }


@pytest.mark.parametrize("name", structures())
@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_every_adjacency_is_symmetric_without_loops_and_in_the_unit_interval(name: str, temperature: float) -> None:
    structure = structures()[name]
    for made in (structure.sample(X, temperature, torch.Generator().manual_seed(1)), structure.result(X)):
        assert made.shape == (7, 7)
        torch.testing.assert_close(made, made.T, rtol=1e-6, atol=0)
        assert not bool(made.diagonal().any())
        assert float(made.detach().min()) >= 0 and float(made.detach().max()) <= 1
    assert not structure.result(X).requires_grad


def test_discrete_starts_at_the_given_edges_and_hands_out_zeros_and_ones() -> None:
    structure = Discrete(START, 2.0)
    assert not structure.weighted
    assert torch.equal(structure.result(X), START)
    (logits,) = structure.learned
    assert set(logits.tolist()) == {-2.0, 2.0}
    with torch.no_grad():
        logits.neg_()
    assert torch.equal(structure.result(X), 1 - START - torch.eye(7))
    edges = float(torch.sigmoid(logits.detach()).sum()) * 2
    assert float(structure.density().detach()) == pytest.approx(edges / 49)  # type: ignore[union-attr]


def test_discrete_draws_are_those_of_the_generator() -> None:
    structure = Discrete(START, 1.0)
    one, same, other = (structure.sample(X, 0.5, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_no_structure_learns_nothing() -> None:
    structure = NoStructure()
    assert structure.learned == [] and structure.density() is None and not structure.weighted
    assert not bool(structure.sample(X, 1.0, torch.Generator()).any()) and not bool(structure.result(X).any())


def plain_perceptron(structure: FromFeatures, x: Tensor) -> Tensor:
    """The weights by torch's own layers, on the concatenated features of each pair."""
    weights = [weight.detach().to(x.dtype) for weight in structure.learned]
    hidden = weights[2].shape[0]
    layers = nn.Sequential(
        nn.Linear(2 * x.shape[1], hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, 1),
    ).to(x.dtype)
    with torch.no_grad():
        for number, (place, norm) in enumerate(((0, 1), (3, 4), (6, None))):
            layers[place].weight.copy_(weights[2 * number].T)
            layers[place].bias.copy_(weights[2 * number + 1])
            if norm is not None:
                layers[norm].weight.copy_(weights[6 + 2 * number])
                layers[norm].bias.copy_(weights[7 + 2 * number])
    n = len(x)
    pairs = torch.stack([torch.cat([x[i], x[j]]) for i in range(n) for j in range(n)])
    logits = layers(pairs).view(n, n)
    return torch.sigmoid((logits + logits.T) / 2) * (1 - torch.eye(n, dtype=x.dtype))


def test_weights_from_features_are_those_of_a_plain_perceptron() -> None:
    structure = FromFeatures(4, torch.Generator().manual_seed(0), threshold=0.5, hidden=16)
    source = torch.Generator().manual_seed(5)
    with torch.no_grad():  # norms that do something
        for weight in structure.learned[6:]:
            weight += 0.5 * torch.rand(weight.shape, generator=source)
    ours = structure.sample(X, 1.0, torch.Generator())
    torch.testing.assert_close(ours, plain_perceptron(structure, X), rtol=1e-4, atol=1e-5)
    assert float(ours.detach().std()) > 0.02
    assert structure.weighted and structure.density() is None


def test_every_weight_of_the_perceptron_and_every_feature_is_learned() -> None:
    structure = FromFeatures(4, torch.Generator().manual_seed(0), threshold=0.5, hidden=16)
    x = X.clone().requires_grad_()
    made = structure.sample(x, 1.0, torch.Generator())
    slopes = torch.autograd.grad((made * START).sum(), [x, *structure.learned])
    hidden_biases = (2, 4)  # batch norm takes the mean of the first two layers' rows away
    for number, slope in enumerate(slopes):
        assert bool(torch.isfinite(slope).all())
        if number not in hidden_biases:
            assert float(slope.abs().max()) > 1e-6, number
    assert len(structure.learned) == 10


@pytest.mark.parametrize("threshold", [0.0, 0.45, 0.5, 1.0])
def test_the_result_keeps_weights_above_the_threshold(threshold: float) -> None:
    structure = FromFeatures(4, torch.Generator().manual_seed(0), threshold, hidden=16)
    every = structure.sample(X, 1.0, torch.Generator()).detach()
    kept = structure.result(X)
    torch.testing.assert_close(kept, every * (every >= threshold), rtol=1e-6, atol=0)
    if threshold == 0.45:
        assert 0 < int((kept > 0).sum()) <= 42 and float(kept[kept > 0].min()) >= 0.45


def test_the_two_directions_of_an_edge_are_kept_or_dropped_together(tmp_path: Path) -> None:
    """A threshold between the two roundings of one weight must not leave an edge that goes one way."""
    structure = FromFeatures(4, torch.Generator().manual_seed(0), threshold=0.0, hidden=16)
    every = structure.result(X)
    structure.threshold = (
        float(torch.maximum(every, every.T)[every != every.T].min()) if (every != every.T).any() else 0.5
    )
    made = CondensedGraph.from_adjacency(structure.result(X), X, torch.arange(7) % 2, 2, weighted=True)
    assert torch.equal(CondensedGraph.load(made.save(tmp_path / "a.safetensors")).adjacency, made.adjacency)


def test_the_perceptrons_weights_are_those_of_the_generator() -> None:
    one, same, other = (FromFeatures(4, torch.Generator().manual_seed(seed), 0.5).learned for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
    assert not torch.equal(one[0], other[0])


def test_class_weights_are_means_over_the_class() -> None:
    nodes = SyntheticNodes(X, torch.tensor([0, 0, 0, 1, 3, 3, 3]), 4, NoStructure())
    third = pytest.approx(1 / 3)
    assert nodes.class_weights.tolist() == [
        [third, third, third, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0],
        [0] * 7,
        [0, 0, 0, 0, third, third, third],
    ]
    assert nodes.x.requires_grad and nodes.x.is_leaf
    with torch.no_grad():
        nodes.x += 1
    assert not torch.equal(nodes.x, X)  # the given features stay


def test_dense_features_are_made_once_and_are_powers_times_x() -> None:
    batch = DenseNodes(START, X, "gcn")
    loops = START + torch.eye(7)
    scale = loops.sum(1).rsqrt()
    matrix = scale[:, None] * loops * scale[None]
    for steps in range(4):
        torch.testing.assert_close(batch.features(steps), torch.linalg.matrix_power(matrix, steps) @ X)
        assert batch.features(steps) is batch.features(steps)
    assert torch.equal(DenseNodes(START, X, "none").features(2), X)
    assert batch.rows(1) == batch.rows(2) == 7
