from __future__ import annotations

import torch

from graphcondense.matching import flatten, gradients, tie
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import DenseBatch
from graphcondense.training import graph_losses
from tests.made_up import toy_task

TASK = toy_task()
NETWORK = Network(NetworkConfig(hidden=6, layers=2), 4, 2)


def test_class_gradient_is_that_of_finite_differences() -> None:
    """Dense, in double precision: move each weight a little and see how the loss of one class moves."""
    source = torch.Generator().manual_seed(0)
    adjacency = torch.rand(2, 3, 5, 5, generator=source, dtype=torch.float64)
    batch = DenseBatch(adjacency, torch.rand(2, 3, 5, 4, generator=source, dtype=torch.float64), "gcn")
    y = torch.tensor([[0, 0, 0], [1, 1, 1]])
    theta = {n: w.double() + 0.05 for n, w in NETWORK.draw(source).items()}
    weights = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    ours = gradients(NETWORK, tie(theta, 2), batch, y, weights)
    step = 1e-6
    for number, name in enumerate(NETWORK.parameter_names):
        for place in (0, theta[name][0].numel() // 2, theta[name][0].numel() - 1):
            losses = []
            for sign in (1, -1):
                moved = {n: w.clone() for n, w in theta.items()}
                moved[name].view(-1)[place] += sign * step
                doubled = {n: w.expand(2, *w.shape[1:]) for n, w in moved.items()}
                losses.append(graph_losses(NETWORK(doubled, batch), y).mean(1))
            expected = (losses[0] - losses[1]) / (2 * step)
            torch.testing.assert_close(ours[number].flatten(1)[:, place], expected, rtol=1e-5, atol=1e-8)


def test_matching_loss_has_the_gradient_of_finite_differences_in_features_and_structure() -> None:
    """The second derivative that the whole method stands on."""
    source = torch.Generator().manual_seed(1)
    theta = tie({n: w.double() + 0.05 for n, w in NETWORK.draw(source).items()}, 2)
    target = [torch.randn(w.shape, generator=source, dtype=torch.float64) for w in theta.values()]
    y, weights = torch.tensor([[0, 0], [1, 1]]), torch.full((2, 2), 0.5, dtype=torch.float64)

    def loss(adjacency: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        matched = gradients(NETWORK, theta, DenseBatch(adjacency, x, "gcn"), y, weights, create_graph=True)
        return (flatten(matched) - flatten(target)).square().sum()

    adjacency = torch.rand(2, 2, 4, 4, generator=source, dtype=torch.float64).requires_grad_()
    x = torch.rand(2, 2, 4, 4, generator=source, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(loss, (adjacency, x))


def test_real_gradients_of_all_classes_in_one_pass_are_those_one_by_one() -> None:
    real = NETWORK.prepare(TASK.train)
    theta = NETWORK.draw(torch.Generator().manual_seed(0))
    members = [(TASK.train.y == label).nonzero().flatten() for label in (0, 1)]
    sizes = [len(part) for part in members]
    weights = torch.cat([torch.full((size,), 1 / size) for size in sizes])
    batch = real.batch(torch.cat(members), sizes)
    together = flatten(gradients(NETWORK, tie(theta, 2), batch, batch.y, weights))
    for label, part in enumerate(members):
        batch = real.batch(part)
        alone = gradients(NETWORK, tie(theta, 1), batch, batch.y, torch.full((sizes[label],), 1 / sizes[label]))
        torch.testing.assert_close(together[label], flatten(alone)[0], rtol=1e-4, atol=1e-6)


def test_tied_weights_are_equal_leaves() -> None:
    theta = NETWORK.draw(torch.Generator().manual_seed(0))
    tied = tie(theta, 3)
    assert all(torch.equal(tied[n][k], theta[n][0]) and tied[n].is_leaf for n in theta for k in range(3))
