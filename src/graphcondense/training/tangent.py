"""Tangent kernels: how far a small step of training on one graph moves what a network says of another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore
from graphcondense.models import Network, Parameters
from graphcondense.training.losses import graph_losses

_TOGETHER = 64  # graphs whose gradients are taken in one pass
_SMALLEST_SLOPE = 0.01  # of a weight, as a share of the largest: weights that hardly matter are not blown up
_WIDEST = 256  # inputs of a weight; gradients of more are projected, which keeps their products up to chance


@torch.no_grad()
def tangent_kernel(
    network: Network, theta: Parameters, graphs: GraphStore, source: torch.Generator, scales: Parameters | None = None
) -> Tensor:
    """The tangent kernel of a network, ``G x G``, float64, with ones on its diagonal on average.

    Entry ``[i, j]`` is the product of the gradients of one output at graphs ``i`` and ``j``. As long as a network stays
    near these weights, training it on some graphs is kernel regression with this kernel.

    Args:
        network: the network.
        theta: one draw of weights, ``1 x ...``.
        graphs: the graphs.
        source: random numbers, see :func:`tangent_rows`.
        scales: what gradients are multiplied by first, see :func:`adam_scales`.
    """
    kernel = torch.zeros(len(graphs), len(graphs), dtype=torch.float64)
    for rows in tangent_rows(network, theta, graphs, source, scales).values():
        kernel += rows @ rows.T
    return kernel / kernel.diagonal().mean().clamp(min=torch.finfo(torch.float64).tiny)


def tangent_rows(
    network: Network, theta: Parameters, graphs: GraphStore, source: torch.Generator, scales: Parameters | None = None
) -> dict[str, Tensor]:
    """The gradient of one output (of the difference of the first two) at each graph, ``G x P`` a weight.

    Args:
        network: the network.
        theta: one draw of weights, ``1 x ...``.
        graphs: the graphs.
        source: random numbers, for weights with so many inputs that their gradients are projected.
        scales: what gradients are multiplied by before, ``1 x ...`` each.
    """
    projections = {
        name: torch.randn(_WIDEST, shape[0], generator=source).div_(math.sqrt(_WIDEST))
        for name, shape in network.shapes.items()
        if len(shape) == 2 and shape[0] > _WIDEST
    }
    real = network.prepare(graphs, compress=False)
    found: dict[str, list[Tensor]] = {name: [] for name in theta}
    for part in torch.arange(len(graphs)).split(_TOGETHER):
        batch = real.batch(part, [1] * len(part))
        with torch.enable_grad():
            tied = {
                k: w.detach().expand(len(part), *w.shape[1:]).contiguous().requires_grad_() for k, w in theta.items()
            }
            outputs = network(tied, batch, {})
            one = outputs[..., 0] if outputs.shape[-1] == 1 else outputs[..., 0] - outputs[..., 1]
            gradients = torch.autograd.grad(one.sum(), list(tied.values()))
        for name, gradient in zip(tied, gradients, strict=True):
            scaled = gradient if scales is None else gradient * scales[name]
            rows = projections[name] @ scaled if name in projections else scaled
            found[name].append(rows.flatten(1))
    return {name: torch.cat(rows) for name, rows in found.items()}


def adam_scales(
    network: Network, theta: Parameters, sets: Sequence[GraphStore], rate: float, steps: int
) -> list[Parameters]:
    """What makes products of gradients say how far Adam moves outputs, ``1 x ...`` a weight, for each draw of weights.

    Adam divides a step along each weight by the root of that weight's mean squared slope: its kernel is the product of
    gradients divided by the fourth root each. The mean squares are those that it keeps itself, after some steps on
    each of several sets of graphs.

    Args:
        network: what is trained.
        theta: draws of weights, ``R x ...``.
        sets: graphs with labels like those that it will be trained on.
        rate: Adam's.
        steps: on each set.
    """
    squares = {name: torch.zeros_like(weight) for name, weight in theta.items()}
    for graphs in sets:
        weights = {name: weight.clone().requires_grad_() for name, weight in theta.items()}
        statistics = network.fresh_statistics(len(theta["head.weight"]))
        optimiser = torch.optim.Adam(list(weights.values()), rate)
        batch = network.prepare(graphs).batch()
        for _ in range(steps):
            optimiser.zero_grad()
            losses = graph_losses(network(weights, batch, statistics), batch.y)
            torch.autograd.backward(losses.mean(-1).sum())
            optimiser.step()
        for name, weight in weights.items():
            squares[name] += optimiser.state[weight]["exp_avg_sq"]
    return [
        _scales({name: one[draw : draw + 1] for name, one in squares.items()})
        for draw in range(len(theta["head.weight"]))
    ]


def _scales(squares: Parameters) -> Parameters:
    largest = max(float(one.max()) for one in squares.values())
    least = max(_SMALLEST_SLOPE**2 * largest, torch.finfo(torch.float32).tiny)
    return {name: (one + least).pow(-0.25) for name, one in squares.items()}
