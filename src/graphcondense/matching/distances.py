"""How far apart two gradients are: pure functions, one number a group."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import torch
from torch import Tensor

from graphcondense.matching.gradients import Gradients, flatten

_TINY = 1e-12


def relative_squared(synthetic: Gradients, real: Gradients) -> Tensor:
    """``|g_S - g_T|^2 / |g_T|^2`` over all weights together, ``C``: the paper's distance as its authors compute it.

    >>> relative_squared([torch.tensor([[1.0, 2.0]])], [torch.tensor([[2.0, 0.0]])]).tolist()
    [1.25]
    """
    real_row, synthetic_row = flatten(real), flatten(synthetic)
    return (synthetic_row - real_row).square().sum(1) / real_row.square().sum(1).clamp(min=_TINY)


def cosine(synthetic: Gradients, real: Gradients) -> Tensor:
    """One minus the cosine of the two whole gradients, ``C``.

    >>> cosine([torch.tensor([[0.0, 2.0]])], [torch.tensor([[3.0, 0.0]])]).tolist()
    [1.0]
    """
    return 1 - torch.cosine_similarity(flatten(synthetic), flatten(real), dim=1, eps=_TINY)


def layerwise_cosine(synthetic: Gradients, real: Gradients) -> Tensor:
    """Sum over all weight matrices and their output units of one minus the cosine; biases are left out, ``C``.

    This is the distance of dataset condensation (Zhao et al.) and of GCond.

    >>> layerwise_cosine([torch.eye(2).unsqueeze(0)], [torch.ones(1, 2, 1) * torch.eye(2)]).tolist()
    [0.0]
    """
    matrices = [(s, r) for s, r in zip(synthetic, real, strict=True) if s.dim() == 3]
    return torch.stack([(1 - torch.cosine_similarity(s, r, dim=1, eps=_TINY)).sum(1) for s, r in matrices]).sum(0)


DISTANCES: MappingProxyType[str, Callable[[Gradients, Gradients], Tensor]] = MappingProxyType(
    {"relative-squared": relative_squared, "cosine": cosine, "layerwise-cosine": layerwise_cosine}
)
