from __future__ import annotations

import math

import pytest
import torch

from graphcondense.matching import Gradients, first_term, input_norm, second_term, sparsity, total
from graphcondense.synthetic import DenseBatch


def two_graphs() -> DenseBatch:
    """A pair of joined nodes, and two lonely nodes; features by hand."""
    joined = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    adjacency = torch.stack([joined, torch.zeros(2, 2)]).unsqueeze(0)
    x = torch.tensor([[[1.0, 0.0], [3.0, 2.0]], [[1.0, 1.0], [2.0, 0.0]]]).unsqueeze(0)
    return DenseBatch(adjacency, x, "gcn")


def test_input_norm_by_hand() -> None:
    # Normalised with self loops, the joined pair averages: any number of steps keeps the column sums (4, 2); the
    # lonely nodes keep theirs, (3, 1). Squares: 20 and 10.
    for steps in (1, 3):
        assert float(input_norm(two_graphs(), steps, "sum")) == pytest.approx(math.sqrt(30))
        assert float(input_norm(two_graphs(), steps, "mean")) == pytest.approx(math.sqrt(30 / 2))


def test_input_norm_counts_only_nodes_that_exist() -> None:
    batch = two_graphs()
    masked = DenseBatch(torch.zeros(1, 2, 2, 2), batch.x, "gcn", torch.tensor([[[True, False], [True, True]]]))
    assert float(input_norm(masked, 2, "sum")) == pytest.approx(math.sqrt(1 + 10))
    assert float(input_norm(masked, 2, "mean")) == pytest.approx(math.sqrt(1 + 10 / 2))


def test_second_term_by_hand() -> None:
    expected = 3 / (2 * math.sqrt(100)) * (2 - 1) / (2 * 5) * math.sqrt(30)
    assert float(second_term(two_graphs(), 2, 5, horizon=100, steps=3, pooling="sum")) == pytest.approx(expected)


def test_sparsity_is_one_sided() -> None:
    density = torch.tensor(0.3, requires_grad=True)
    assert float(sparsity(density, 0.4).detach()) == 0
    penalty = sparsity(density, 0.1)
    assert float(penalty.detach()) == pytest.approx(0.2)
    assert float(torch.autograd.grad(penalty, [density])[0]) == 1


def test_first_term_by_hand() -> None:
    real = Gradients.of([torch.tensor([[1.0, 0.0], [3.0, 4.0]])])
    synthetic = Gradients.of([torch.tensor([[1.0, 2.0], [1.0, 2.0]])])
    shares = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    # real: 0.25 (1, 0) + 0.75 (3, 4) = (2.5, 3); synthetic: (1, 2)
    expected = math.sqrt(2) * math.hypot(1.5, 1.0)
    assert float(first_term(total(synthetic, shares[0]), total(real, shares[1]))) == pytest.approx(expected)


def test_norm_of_all_zero_features_has_a_finite_slope() -> None:
    x = torch.zeros(1, 1, 2, 2, requires_grad=True)
    norm = input_norm(DenseBatch(torch.zeros(1, 1, 2, 2), x, "gcn"), 2, "sum")
    (slope,) = torch.autograd.grad(norm, [x])
    assert bool(torch.isfinite(slope).all())
