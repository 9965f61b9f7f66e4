from __future__ import annotations

import math

import pytest
import torch

from graphcondense.matching import DISTANCES, Gradients, cosine, layerwise_cosine, relative_squared
from graphcondense.matching.distances import with_slope

REAL = Gradients.of([torch.tensor([[[3.0, 0.0], [4.0, 2.0]]]), torch.tensor([[0.0, 1.0]])])
OTHER = Gradients.of([torch.tensor([[[4.0, 1.0], [3.0, 0.0]]]), torch.tensor([[1.0, 0.0]])])


def test_relative_squared_by_hand() -> None:
    # differences 1, 1, 1, 2 and 1, 1: squares add up to 9; the real squares to 9 + 16 + 4 + 1 = 30
    torch.testing.assert_close(relative_squared(OTHER, REAL), torch.tensor([9 / 30]))


def test_cosine_by_hand() -> None:
    inner = 3 * 4 + 4 * 3
    expected = 1 - inner / (math.sqrt(30) * math.sqrt(16 + 1 + 9 + 1))
    torch.testing.assert_close(cosine(OTHER, REAL), torch.tensor([expected]))


def test_layerwise_cosine_by_hand() -> None:
    # column 1: (3, 4) and (4, 3): 24 / 25; column 2: (0, 2) and (1, 0): 0; the bias does not count
    torch.testing.assert_close(layerwise_cosine(OTHER, REAL), torch.tensor([1 - 24 / 25 + 1]))


@pytest.mark.parametrize("name", DISTANCES)
def test_zero_for_equal_gradients_and_one_number_a_class(name: str) -> None:
    source = torch.Generator().manual_seed(0)
    gradient = Gradients.of([torch.randn(3, 4, 5, generator=source), torch.randn(3, 5, generator=source)])
    torch.testing.assert_close(DISTANCES[name](gradient, gradient), torch.zeros(3), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", DISTANCES)
def test_a_zero_real_gradient_stays_finite(name: str) -> None:
    value, slope = with_slope(DISTANCES[name], OTHER, REAL.like(torch.zeros_like(REAL.flat)))
    assert bool(torch.isfinite(value)) and bool(torch.isfinite(slope.flat).all())


@pytest.mark.parametrize("name", DISTANCES)
def test_the_slope_is_that_of_autograd(name: str) -> None:
    leaf = OTHER.flat.clone().requires_grad_()
    expected = DISTANCES[name](OTHER.like(leaf), REAL).sum()
    value, slope = with_slope(DISTANCES[name], OTHER, REAL)
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(slope.flat, torch.autograd.grad(expected, [leaf])[0])


def test_cosines_do_not_see_length_and_the_relative_distance_does() -> None:
    twice = REAL.like(2 * REAL.flat)
    assert float(cosine(twice, REAL)) == pytest.approx(0, abs=1e-6)
    assert float(layerwise_cosine(twice, REAL)) == pytest.approx(0, abs=1e-6)
    assert float(relative_squared(twice, REAL)) == pytest.approx(1)
