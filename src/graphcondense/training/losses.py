"""The loss of a graph: cross-entropy, or its binary form on one logit."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def graph_losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Loss of each graph, ``... x G``.

    Args:
        outputs: ``... x G x O``. One output is the logit of class 1.
        y: labels, ``... x G`` whole numbers or ``... x G x num_classes`` probabilities.

    >>> graph_losses(torch.zeros(1, 2), torch.tensor([1])).item() == graph_losses(
    ...     torch.zeros(1, 1), torch.tensor([1])
    ... ).item()
    True
    """
    soft = y.is_floating_point()
    if outputs.shape[-1] == 1:
        target = (y[..., 1] if soft else y).to(outputs.dtype)
        logit = outputs[..., 0]
        return F.binary_cross_entropy_with_logits(logit, target.expand_as(logit), reduction="none")
    log_probability = torch.log_softmax(outputs, dim=-1)
    if soft:
        return -(y * log_probability).sum(-1)
    target = y.expand(outputs.shape[:-1]).unsqueeze(-1)
    return -log_probability.gather(-1, target).squeeze(-1)


def probabilities(outputs: Tensor) -> Tensor:
    """Class probabilities, ``... x C``, of outputs ``... x O``; one output is the logit of the second of two classes.

    >>> probabilities(torch.zeros(1, 1)).tolist()
    [[0.5, 0.5]]
    """
    if outputs.shape[-1] == 1:
        second = torch.sigmoid(outputs)
        return torch.cat([1 - second, second], dim=-1)
    return torch.softmax(outputs, dim=-1)


def residuals(outputs: Tensor, y: Tensor) -> Tensor:
    """Slope of each graph's loss in its outputs, ``... x G x O``: what the network says minus what is true.

    >>> residuals(torch.zeros(1, 2), torch.tensor([1])).tolist()
    [[0.5, -0.5]]
    """
    soft = y.is_floating_point()
    if outputs.shape[-1] == 1:
        return torch.sigmoid(outputs).sub_((y[..., 1:] if soft else y.unsqueeze(-1)).to(outputs.dtype))
    probability = torch.softmax(outputs, dim=-1)
    if soft:
        return probability.sub_(y)
    one = torch.ones((), dtype=outputs.dtype, device=outputs.device)
    target = y.expand(outputs.shape[:-1]).unsqueeze(-1)
    return probability.scatter_add_(-1, target, -one.expand(target.shape))


def residual_change(outputs: Tensor, change: Tensor) -> Tensor:
    """How :func:`residuals` move when the outputs move by ``change``, to first order."""
    if outputs.shape[-1] == 1:
        probability = torch.sigmoid(outputs)
        return probability * (1 - probability) * change
    probability = torch.softmax(outputs, dim=-1)
    return probability * (change - (probability * change).sum(-1, keepdim=True))
