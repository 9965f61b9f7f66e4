"""Tangent kernels: how far a small step of training on one graph moves what a network says of another."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore
from graphcondense.models import Network, Parameters
from graphcondense.seeding import generator

_TOGETHER = 64  # graphs whose gradients are taken in one pass
_WIDEST = 256  # inputs of a weight; gradients of more are projected, which keeps their products up to chance


@torch.no_grad()
def tangent_kernel(network: Network, graphs: GraphStore, seed: int, name: str) -> Tensor:
    """The tangent kernel of a freshly drawn network, ``G x G``, float64, with ones on its diagonal on average.

    Entry ``[i, j]`` is the product of the gradients of one output at graphs ``i`` and ``j``. As long as a network stays
    near its first weights, training it on some graphs is kernel regression with this kernel.

    Args:
        network: what is drawn.
        graphs: the graphs.
        seed: decides the weights, with ``name``.
        name: of the stream of random numbers.
    """
    source = generator(seed, name)
    theta = network.draw(source)
    kernel = torch.zeros(len(graphs), len(graphs), dtype=torch.float64)
    for rows in tangent_rows(network, theta, graphs, source).values():
        kernel += rows @ rows.T
    return kernel / kernel.diagonal().mean().clamp(min=torch.finfo(torch.float64).tiny)


def tangent_rows(network: Network, theta: Parameters, graphs: GraphStore, source: torch.Generator) -> dict[str, Tensor]:
    """The gradient of one output (of the difference of the first two) at each graph, ``G x P`` a weight.

    Args:
        network: the network.
        theta: one draw of weights, ``1 x ...``.
        graphs: the graphs.
        source: random numbers, for weights with so many inputs that their gradients are projected.
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
            rows = projections[name] @ gradient if name in projections else gradient
            found[name].append(rows.flatten(1))
    return {name: torch.cat(rows) for name, rows in found.items()}
