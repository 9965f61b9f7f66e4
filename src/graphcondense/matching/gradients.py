"""Class gradients: how the loss of one class's graphs wants to move the weights, real and synthetic."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.models import GraphBatch, Network, Parameters
from graphcondense.training import graph_losses

Gradients = list[Tensor]


def tie(theta: Parameters, groups: int) -> Parameters:
    """One draw of weights (``1 x ...``) as ``groups`` equal leaves, so that each group's gradient arrives apart."""
    return {name: weight.expand(groups, *weight.shape[1:]).clone().requires_grad_() for name, weight in theta.items()}


def gradients(
    network: Network, theta: Parameters, batch: GraphBatch, y: Tensor, graph_weights: Tensor, create_graph: bool = False
) -> Gradients:
    """Gradient of the weighted sum of graph losses, one ``C x ...`` tensor a parameter.

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


def flatten(gradient: Gradients) -> Tensor:
    """All weights in one row a group, ``C x P``."""
    return torch.cat([part.flatten(1) for part in gradient], dim=1)
