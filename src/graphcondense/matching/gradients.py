"""Class gradients: how the loss of one class's graphs wants to move the weights, real and synthetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from graphcondense.matching import explicit
from graphcondense.models import GraphBatch, Network, Parameters
from graphcondense.real import SparseBatch
from graphcondense.synthetic import DenseBatch
from graphcondense.training import graph_losses

Gradients = list[Tensor]
Distance = Callable[[Gradients, Gradients], Tensor]


def tie(theta: Parameters, groups: int) -> Parameters:
    """One draw of weights (``1 x ...``) as ``groups`` equal leaves, so that each group's gradient arrives apart."""
    return {name: weight.expand(groups, *weight.shape[1:]).clone().requires_grad_() for name, weight in theta.items()}


def gradients(
    network: Network, theta: Parameters, batch: GraphBatch, y: Tensor, graph_weights: Tensor, create_graph: bool = False
) -> Gradients:
    """Gradient of the weighted sum of graph losses by autograd, one ``C x ...`` tensor a parameter.

    Args:
        network: the network.
        theta: tied weights, ``C x ...``.
        batch: the graphs, in C groups.
        y: labels in the shape of the batch's graphs.
        graph_weights: weight of each graph's loss, in the same shape. ``1 / graphs of the class`` gives class means.
        create_graph: whether the gradients will be differentiated again (synthetic side).
    """
    loss = (graph_losses(network(theta, batch), y) * graph_weights).sum()
    leaves = [theta[name] for name in network.parameter_names]
    return list(torch.autograd.grad(loss, leaves, create_graph=create_graph))


def real_gradients(network: Network, theta: Parameters, batch: SparseBatch, graph_weights: Tensor) -> Gradients:
    """Class gradients of real graphs at one draw of weights: written out where we have it, else by autograd."""
    if explicit.supports(network):
        with torch.no_grad():
            return explicit.sparse_gradients(network, theta, batch, graph_weights)
    return gradients(network, tie(theta, len(batch.groups(-1))), batch, batch.y, graph_weights)


def match(
    network: Network,
    theta: Parameters,
    batch: DenseBatch,
    y: Tensor,
    graph_weights: Tensor,
    real: Gradients,
    distance: Distance,
) -> tuple[Tensor, Gradients]:
    """Distance of the synthetic graphs' class gradients from the real ones, summed over the classes; and the former.

    The distance can be differentiated in the batch's adjacency and features.
    """
    if not explicit.supports(network):
        matched = gradients(network, tie(theta, len(y)), batch, y, graph_weights, create_graph=True)
        return distance(matched, real).sum(), matched
    assert batch.matrix is not None
    with torch.no_grad():
        dense = explicit.DensePass(network, theta, batch, y, graph_weights)
    leaves = [part.requires_grad_() for part in dense.gradients]
    with torch.enable_grad():
        value = distance(leaves, real).sum()
    direction = torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        in_matrix, in_x = dense.slopes_along(list(direction))
    matched = [part.detach() for part in leaves]
    return _WithSlopes.apply(batch.matrix, batch.x, value.detach(), in_matrix, in_x), matched


class _WithSlopes(torch.autograd.Function):
    """A value whose slopes in the propagation matrix and in the features are known."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor, value: Tensor, in_matrix: Tensor, in_x: Tensor) -> Tensor:
        ctx.save_for_backward(in_matrix.view_as(matrix), in_x.view_as(x))
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        in_matrix, in_x = ctx.saved_tensors
        return grad_outputs[0] * in_matrix, grad_outputs[0] * in_x, None, None, None


def flatten(gradient: Gradients) -> Tensor:
    """All weights in one row a group, ``C x P``."""
    return torch.cat([part.flatten(1) for part in gradient], dim=1)
