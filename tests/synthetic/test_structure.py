from __future__ import annotations

import pytest
import torch

from graphcondense.synthetic import BernoulliStructure


def some_adjacency(directed: bool = False) -> torch.Tensor:
    upper = (torch.rand(3, 6, 6, generator=torch.Generator().manual_seed(0)) < 0.4).float()
    if directed:
        return upper * (1 - torch.eye(6))
    upper = upper.triu(1)
    return upper + upper.mT


@pytest.mark.parametrize("directed", [False, True])
def test_samples_are_symmetric_without_loops_and_discrete_in_the_limit(directed: bool) -> None:
    structure = BernoulliStructure(some_adjacency(directed), directed=directed, strength=0.5)
    sample = structure.sample(1e-4, torch.Generator().manual_seed(1)).detach()
    assert torch.equal(sample, sample.mT) != directed
    assert float(sample.diagonal(dim1=1, dim2=2).abs().max()) == 0
    assert float(torch.minimum(sample, 1 - sample).detach().max()) < 1e-3


def test_edge_frequencies_are_the_probabilities() -> None:
    structure = BernoulliStructure(some_adjacency(), strength=1.0)
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        mean = torch.stack([structure.sample(0.01, source) for _ in range(4000)]).mean(0)
    # 4,000 draws: a frequency has a standard deviation below 0.008
    torch.testing.assert_close(mean, structure.probabilities().detach(), rtol=0, atol=0.04)


def test_gradient_of_a_sample_is_that_of_finite_differences() -> None:
    adjacency = some_adjacency().double()

    def total(logits: torch.Tensor) -> torch.Tensor:
        structure = BernoulliStructure(adjacency)
        structure.logits = logits
        weights = torch.arange(adjacency.numel(), dtype=torch.float64).view_as(adjacency)
        return (structure.sample(0.7, torch.Generator().manual_seed(3)) * weights).sum()

    logits = torch.randn(3 * 15, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert torch.autograd.gradcheck(total, (logits.requires_grad_(),))


@pytest.mark.parametrize("directed", [False, True])
def test_result_is_the_start_until_a_logit_crosses_zero(directed: bool) -> None:
    adjacency = some_adjacency(directed)
    structure = BernoulliStructure(adjacency, directed=directed)
    assert torch.equal(structure.discrete(), adjacency)
    with torch.no_grad():
        structure.logits[structure.pair.view(structure.shape)[0, 0, 1]] = 50.0
        structure.logits[structure.pair.view(structure.shape)[0, 2, 3]] = -50.0
    result = structure.discrete()
    assert result[0, 0, 1] == 1 and result[0, 2, 3] == 0
    if not directed:
        assert result[0, 1, 0] == 1 and result[0, 3, 2] == 0


def test_nodes_that_do_not_exist_have_no_edges() -> None:
    mask = torch.tensor([[True] * 4 + [False] * 2] * 3)
    structure = BernoulliStructure(some_adjacency(), mask, strength=0.1)
    drawn = structure.sample(1.0, torch.Generator().manual_seed(0))
    for adjacency in (drawn.detach(), structure.discrete(), structure.probabilities().detach()):
        assert float(adjacency[:, 4:].abs().sum() + adjacency[:, :, 4:].abs().sum()) == 0
        assert float(adjacency[:, :4, :4].abs().sum()) > 0


@pytest.mark.parametrize("directed", [False, True])
def test_one_logit_a_possible_edge_and_the_density_is_the_mean_probability(directed: bool) -> None:
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6, [True] * 2 + [False] * 4])
    structure = BernoulliStructure(some_adjacency(directed), mask, strength=0.3, directed=directed)
    assert len(structure.logits) == (6 + 15 + 1) * (2 if directed else 1)
    torch.testing.assert_close(structure.density(), structure.probabilities().mean())


def test_extreme_noise_stays_finite() -> None:
    structure = BernoulliStructure(torch.zeros(1, 300, 300), strength=30.0)
    sample = structure.sample(0.01, torch.Generator().manual_seed(0))
    (gradient,) = torch.autograd.grad(sample.sum(), [structure.logits])
    assert bool(torch.isfinite(sample).all()) and bool(torch.isfinite(gradient).all())
