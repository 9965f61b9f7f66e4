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
