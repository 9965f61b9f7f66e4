"""How far apart two gradients are: pure functions, one number a group."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import torch
from torch import Tensor

from graphcondense.matching.gradients import Gradients

Distance = Callable[[Gradients, Gradients], Tensor]
TINY = 1e-12


def relative_squared(synthetic: Gradients, real: Gradients) -> Tensor:
    """``|g_S - g_T|^2 / |g_T|^2`` over all weights together, ``C``: the paper's distance as its authors compute it.

    >>> one, two = Gradients.of([torch.tensor([[1.0, 2.0]])]), Gradients.of([torch.tensor([[2.0, 0.0]])])
    >>> relative_squared(one, two).tolist()
    [1.25]
    """
    return (synthetic.flat - real.flat).square().sum(1) / scales(real.flat.square().sum(1))


def scales(squares: Tensor) -> Tensor:
    """Squared lengths to divide by; 1 for a gradient of zero, for which there is no "relative to"."""
    return squares.where(squares > TINY, torch.ones(()))


def cosine(synthetic: Gradients, real: Gradients) -> Tensor:
    """One minus the cosine of the two whole gradients, ``C``.

    >>> one, two = Gradients.of([torch.tensor([[0.0, 2.0]])]), Gradients.of([torch.tensor([[3.0, 0.0]])])
    >>> cosine(one, two).tolist()
    [1.0]
    """
    return 1 - torch.cosine_similarity(synthetic.flat, real.flat, dim=1, eps=TINY)


def layerwise_cosine(synthetic: Gradients, real: Gradients) -> Tensor:
    """Sum over all weight matrices and their output units of one minus the cosine; biases are left out, ``C``.

    This is the distance of dataset condensation (Zhao et al.) and of GCond.

    >>> one, two = Gradients.of([torch.eye(2).unsqueeze(0)]), Gradients.of([2 * torch.eye(2).unsqueeze(0)])
    >>> layerwise_cosine(one, two).tolist()
    [0.0]
    """
    matrices = [(s, r) for s, r in zip(synthetic.parts, real.parts, strict=True) if s.dim() == 3]
    return torch.stack([(1 - torch.cosine_similarity(s, r, dim=1, eps=TINY)).sum(1) for s, r in matrices]).sum(0)


def with_slope(
    distance: Distance, synthetic: Gradients, real: Gradients, shares: Tensor | None = None
) -> tuple[Tensor, Gradients]:
    """The distance summed over the groups, weighed by ``shares`` if given, and its slope in the synthetic gradients."""
    if distance is relative_squared:  # the default, by hand: a tenth of an iteration on a small dataset
        gap = synthetic.flat - real.flat
        scale = scales(real.flat.square().sum(1)).reciprocal_()
        if shares is not None:
            scale *= shares
        value = torch.dot(gap.square().sum(1), scale)
        return value, synthetic.like(gap.mul_(scale.mul_(2).unsqueeze(1)))
    with torch.enable_grad():
        leaf = synthetic.flat.detach().requires_grad_()
        gaps = distance(synthetic.like(leaf), real)
        value = (gaps if shares is None else gaps * shares).sum()
        (slope,) = torch.autograd.grad(value, [leaf])
    return value.detach(), synthetic.like(slope)


DISTANCES: MappingProxyType[str, Distance] = MappingProxyType(
    {"relative-squared": relative_squared, "cosine": cosine, "layerwise-cosine": layerwise_cosine}
)
