from __future__ import annotations

import pytest
import torch

from graphcondense.matching import DISTANCES, Gradients, Matcher, autograd_gradients, relative_squared, tie
from graphcondense.models import KINDS, Network, NetworkConfig
from graphcondense.real import batch as real_batch
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
    ours = autograd_gradients(NETWORK, tie(theta, 2), batch, y, weights).parts
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


@pytest.mark.parametrize("written_out", [True, False])
def test_matching_loss_has_the_gradient_of_finite_differences_in_features_and_structure(written_out: bool) -> None:
    """The second derivative that the whole method stands on."""
    source = torch.Generator().manual_seed(1)
    theta = {n: w.double() + 0.05 for n, w in NETWORK.draw(source).items()}
    target = Gradients.of([torch.randn(2, *w.shape[1:], generator=source, dtype=torch.float64) for w in theta.values()])
    y, weights = torch.tensor([[0, 0], [1, 1]]), torch.full((2, 2), 0.5, dtype=torch.float64)
    matcher = Matcher(NETWORK, relative_squared, written_out)

    def loss(adjacency: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return 3 * matcher.synthetic(theta, DenseBatch(adjacency, x, "gcn"), y, weights, target)[0]

    adjacency = torch.rand(2, 2, 4, 4, generator=source, dtype=torch.float64).requires_grad_()
    x = torch.rand(2, 2, 4, 4, generator=source, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(loss, (adjacency, x))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_written_out_equals_autograd_on_synthetic_graphs(
    layers: int, outputs: int, masked: bool, pooling: str, distance: str
) -> None:
    network = Network(NetworkConfig(hidden=6, layers=layers, pooling=pooling), 4, outputs)
    source = torch.Generator().manual_seed(layers)
    theta = {n: w.double() + 0.05 for n, w in network.draw(source).items()}
    adjacency = torch.rand(3, 2, 5, 5, generator=source, dtype=torch.float64).requires_grad_()
    x = torch.randn(3, 2, 5, 4, generator=source, dtype=torch.float64).requires_grad_()
    mask = None
    if masked:
        mask = torch.rand(3, 2, 5, generator=source) < 0.7
        mask[..., 0] = True
    y = torch.tensor([[0, 0], [1, 1], [2, 2]]) % max(outputs, 2)
    weights = torch.full((3, 2), 0.5, dtype=torch.float64)
    target = Gradients.of([torch.randn(3, *w.shape[1:], generator=source, dtype=torch.float64) for w in theta.values()])
    found = []
    for written_out in (True, False):
        matcher = Matcher(network, DISTANCES[distance], written_out)
        assert matcher.written_out == written_out
        batch = DenseBatch(adjacency, x, "gcn", mask)
        loss, gradients = matcher.synthetic(theta, batch, y, weights, target)
        found.append((loss.detach(), gradients.flat.detach(), *torch.autograd.grad(loss, [adjacency, x])))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
def test_real_gradients_in_one_pass_in_parts_and_by_autograd_are_those_one_by_one(
    kind: str, compress: bool, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Network(NetworkConfig(kind, hidden=6, layers=2), 4, 2)
    theta = network.draw(torch.Generator().manual_seed(0))
    members = [(TASK.train.y == label).nonzero().flatten() for label in (0, 1)]
    sizes = [len(part) for part in members]
    weights = torch.cat([torch.full((size,), 1 / size) for size in sizes])
    alone = []
    plain = network.prepare(TASK.train, compress=False)
    for part, size in zip(members, sizes, strict=True):
        batch = plain.batch(part)
        alone.append(autograd_gradients(network, tie(theta, 1), batch, batch.y, torch.full((size,), 1 / size)).flat)
    expected = torch.cat(alone) if grouped else sum(alone)
    real = network.prepare(TASK.train, compress, by_label=grouped)
    for rows, written_out in ((2**13, True), (40, True), (40, False)):
        monkeypatch.setattr(real_batch, "CACHED_ROWS", rows)
        batches = real.batches(torch.cat(members), sizes if grouped else None)
        assert (len(batches) > 1) == (rows == 40 and real.compression is None)
        split = weights.split([len(batch.y) for batch in batches])
        together = Matcher(network, relative_squared, written_out).real(theta, batches, split)
        torch.testing.assert_close(together.flat, expected, rtol=1e-4, atol=1e-6)


def test_groups_need_graphs_that_were_prepared_for_them() -> None:
    real = NETWORK.prepare(TASK.train)
    assert real.compression is not None
    with pytest.raises(ValueError, match="by_label=True"):
        real.batch(torch.arange(4), [2, 2])


def test_tied_weights_are_equal_leaves() -> None:
    theta = NETWORK.draw(torch.Generator().manual_seed(0))
    tied = tie(theta, 3)
    assert all(torch.equal(tied[n][k], theta[n][0]) and tied[n].is_leaf for n in theta for k in range(3))
