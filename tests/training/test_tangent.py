from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graphcondense.graphs import GraphStore
from graphcondense.models import Network, NetworkConfig
from graphcondense.seeding import generator
from graphcondense.training import adam_scales, graph_losses, tangent_kernel, tangent_rows
from tests.made_up import toy_task

TASK = toy_task()
GRAPHS = TASK.train.subset(torch.arange(7))


def network(outputs: int = 2, **config: object) -> Network:
    return Network(NetworkConfig(hidden=5, layers=2, **config), TASK.num_features, outputs)  # type: ignore[arg-type]


def output(made: Network, theta: dict[str, torch.Tensor], graphs: GraphStore) -> torch.Tensor:
    """The output whose gradients are taken, ``G``."""
    out = made(theta, made.prepare(graphs, compress=False).batch(), {})[0]
    return out[:, 0] if out.shape[1] == 1 else out[:, 0] - out[:, 1]


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize(
    "config",
    [{}, {"kind": "gin"}, {"kind": "sage"}, {"kind": "mlp"}, {"pooling": "sum"}, {"norm": "instance"}],
    ids=str,
)
def test_rows_are_the_gradients_of_each_graph_alone(config: dict[str, str], outputs: int) -> None:
    made = network(outputs, **config)
    theta = made.draw(generator(1, "weights"))
    rows = tangent_rows(made, theta, GRAPHS, generator(1, "projections"))
    for place in range(len(GRAPHS)):
        own = {name: weight.clone().requires_grad_() for name, weight in theta.items()}
        value = output(made, own, GRAPHS.subset(torch.tensor([place]))).sum()
        for name, gradient in zip(own, torch.autograd.grad(value, list(own.values())), strict=True):
            torch.testing.assert_close(rows[name][place], gradient.flatten(), rtol=1e-4, atol=1e-6)


def test_a_small_step_on_one_graph_moves_the_others_as_the_kernel_says() -> None:
    made = network()
    double = replace(GRAPHS, x=GRAPHS.x.double())
    theta = {name: weight.double() for name, weight in made.draw(generator(2, "weights")).items()}
    rows = tangent_rows(made, theta, double, generator(2, "projections"))
    kernel = sum(one @ one.T for one in rows.values())
    step = 1e-5
    moved = {name: weight + step * rows[name][3].view_as(weight) for name, weight in theta.items()}
    change = (output(made, moved, double) - output(made, theta, double)) / step
    torch.testing.assert_close(change, kernel[3], rtol=1e-3, atol=1e-4)


def drawn_kernel(made: Network, name: str) -> torch.Tensor:
    source = generator(0, name)
    return tangent_kernel(made, made.draw(source), GRAPHS, source)


def test_the_kernel_is_symmetric_positive_and_one_on_average() -> None:
    kernel = drawn_kernel(network(), "tangent 0")
    torch.testing.assert_close(kernel, kernel.T)
    assert torch.linalg.eigvalsh(kernel).min() > -1e-6
    assert float(kernel.diagonal().mean()) == pytest.approx(1)
    assert torch.equal(kernel, drawn_kernel(network(), "tangent 0"))
    assert not torch.equal(kernel, drawn_kernel(network(), "tangent 1"))


def test_gradients_are_scaled_before_their_products() -> None:
    made = network()
    theta = made.draw(generator(0, "weights"))
    scales = {name: torch.rand(weight.shape, generator=generator(1, name)) for name, weight in theta.items()}
    plain = tangent_rows(made, theta, GRAPHS, generator(0, "projections"))
    scaled = tangent_rows(made, theta, GRAPHS, generator(0, "projections"), scales)
    for name, rows in scaled.items():
        torch.testing.assert_close(rows, plain[name] * scales[name].flatten(1))
    kernel = sum(rows.double() @ rows.double().T for rows in scaled.values())
    torch.testing.assert_close(
        tangent_kernel(made, theta, GRAPHS, generator(0, "projections"), scales),
        kernel / kernel.diagonal().mean(),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_a_first_step_of_adam_moves_outputs_as_the_scaled_kernel_says(norm: str) -> None:
    made = network(norm=norm)
    theta = {name: torch.cat([weight] * 2) for name, weight in made.draw(generator(2, "weights")).items()}
    scales = adam_scales(made, theta, [GRAPHS], rate=1e-3, steps=1)
    assert len(scales) == 2
    own = {name: weight[:1].clone().requires_grad_() for name, weight in theta.items()}
    batch = made.prepare(GRAPHS).batch()
    loss = graph_losses(made(own, batch, made.fresh_statistics(1)), batch.y).mean()
    slopes = dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True))
    largest = max(float(slope.square().max()) for slope in slopes.values())
    for name, slope in slopes.items():  # one step keeps a thousandth of the squares
        expected = (1e-3 * (slope.square() + 1e-4 * largest)).pow(-0.25)
        for scale in scales:
            torch.testing.assert_close(scale[name], expected, rtol=1e-3, atol=1e-3)


def test_scales_are_averaged_over_sets_and_do_not_depend_on_the_other_draws() -> None:
    made = network()
    thetas = [made.draw(generator(seed, "weights")) for seed in range(2)]
    stacked = {name: torch.cat([theta[name] for theta in thetas]) for name in thetas[0]}
    sets = [GRAPHS, TASK.train.subset(torch.arange(7, 14))]
    together = adam_scales(made, stacked, sets, rate=1e-2, steps=4)
    for theta, scale in zip(thetas, together, strict=True):
        (alone,) = adam_scales(made, theta, sets, rate=1e-2, steps=4)
        for name in scale:
            torch.testing.assert_close(scale[name], alone[name], rtol=1e-3, atol=1e-4)
    (first,) = adam_scales(made, thetas[0], sets[:1], rate=1e-2, steps=4)
    assert not torch.allclose(first["head.weight"], together[0]["head.weight"])


def test_gradients_of_wide_weights_are_projected_and_keep_their_products() -> None:
    wide = replace(GRAPHS, x=torch.rand(len(GRAPHS.x), 1500, generator=generator(0, "features")))
    made = Network(NetworkConfig(hidden=16, layers=1), 1500, 2)
    theta = made.draw(generator(0, "weights"))
    rows = tangent_rows(made, theta, wide, generator(0, "projections"))["conv1.weight"]
    assert rows.shape == (7, 256 * 16)
    whole = torch.stack([whole_gradient(made, theta, wide.subset(torch.tensor([place]))) for place in range(7)])
    kernel = whole @ whole.T
    assert float((rows @ rows.T - kernel).norm() / kernel.norm()) < 0.1


def whole_gradient(made: Network, theta: dict[str, torch.Tensor], graphs: GraphStore) -> torch.Tensor:
    own = {name: weight.clone().requires_grad_() for name, weight in theta.items()}
    return torch.autograd.grad(output(made, own, graphs).sum(), own["conv1.weight"])[0].flatten()
