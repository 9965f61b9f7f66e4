"""Matching the gradients of a first layer without forming them.

With many features the first weight is by far the largest, and a gradient of it for each class is more numbers than all
else together. Both sides are products of tall matrices: ``g_S^c = P_S^T D_S^c`` and ``g_T^c = P_T^T D_T^c``. Every
distance here looks only at products of columns, ``<g_S, g_S>``, ``<g_S, g_T>`` and ``<g_T, g_T>``, and these need
nothing but the rows' own products ``P_S P_S^T``, ``P_S P_T^T`` and ``P_T P_T^T``: the last is the same in every
iteration. A distance's slope is ``V = a g_S + b g_T`` with two numbers a column, so it need not be formed either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from graphcondense.matching.distances import TINY, Distance, cosine, layerwise_cosine, relative_squared, scales
from graphcondense.matching.node_pass import NodePass, RealPass, side_by_side, steps


@dataclass
class Products:
    """Products of the columns of one weight's gradients, each ``C x out``.

    Args:
        own: ``<g_S, g_S>``.
        cross: ``<g_S, g_T>``.
        real: ``<g_T, g_T>``.
        matrix: whether the weight is a matrix, or a bias.
    """

    own: Tensor
    cross: Tensor
    real: Tensor
    matrix: bool = True


def _sums(parts: Sequence[Products]) -> tuple[Tensor, Tensor, Tensor]:
    names = ("own", "cross", "real")
    own, cross, real = (torch.stack([getattr(part, name).sum(1) for part in parts]).sum(0) for name in names)
    return own, cross, real


def _norms(own: Tensor, real: Tensor) -> Tensor:
    return own.clamp(min=TINY**2).sqrt() * real.clamp(min=TINY**2).sqrt()


def _relative_squared(parts: Sequence[Products]) -> Tensor:
    own, cross, real = _sums(parts)
    return (own - 2 * cross + real) / scales(real)


def _cosine(parts: Sequence[Products]) -> Tensor:
    own, cross, real = _sums(parts)
    return 1 - cross / _norms(own, real)


def _layerwise_cosine(parts: Sequence[Products]) -> Tensor:
    gaps = [(1 - part.cross / _norms(part.own, part.real)).sum(1) for part in parts if part.matrix]
    return torch.stack(gaps).sum(0)


BY_PRODUCTS: MappingProxyType[Distance, Callable[[Sequence[Products]], Tensor]] = MappingProxyType(
    {relative_squared: _relative_squared, cosine: _cosine, layerwise_cosine: _layerwise_cosine}
)


def pays(real: RealPass, passed: NodePass) -> bool:
    """Whether it takes fewer multiplications than forming the first layer's gradients."""
    (rows, width), (classes, nodes, units) = real.rows[0].shape, passed.slopes[0].shape
    squares = sum(size * size for size in real.groups[0])
    formed = width * units * (rows + 3 * classes * nodes)
    once = 0 if real.batch.lasting else squares * width
    factored = 2 * nodes * width * (rows + nodes) + units * (squares + 2 * nodes * rows + 2 * classes * nodes**2) + once
    return factored < formed


class Factors:
    """The distance of two passes' class gradients, and its slope as a direction.

    Args:
        real: the pass through the real nodes.
        passed: the pass through the learned nodes.
        distance: one of :data:`BY_PRODUCTS`.
        shares: what each class counts, ``C``.
    """

    @torch.no_grad()
    def __init__(self, real: RealPass, passed: NodePass, distance: Distance, shares: Tensor) -> None:
        self.real, self.passed = real, passed
        self.slopes = real.slopes[0].split(real.groups[0])
        ours = passed.seen[0]
        sparse = real.mostly_zero
        products = ours @ real.rows[0].T if sparse is None else (sparse @ ours.T.contiguous()).T
        cross = products.split(real.groups[0], dim=1)
        self.own_sent = (ours @ ours.T) @ passed.slopes[0]  # P_S g_S^c
        self.real_sent = torch.stack(
            [part @ slope for part, slope in zip(cross, self.slopes, strict=True)]
        )  # P_S g_T^c
        blocks = real.batch.products(steps(real.network))
        squares = [(slope * (block @ slope)).sum(0) for block, slope in zip(blocks, self.slopes, strict=True)]
        first = passed.slopes[0]
        parts = [Products((first * self.own_sent).sum(1), (first * self.real_sent).sum(1), torch.stack(squares))]
        self.formed: list[tuple[Tensor, Tensor]] = []  # gradients of the other weights and of all biases
        for number in range(1, len(real.names)):
            self.formed.append((passed.seen[number].T @ passed.slopes[number], real.weight_gradient(number)))
        for slope, bias in zip(passed.slopes, real.bias, strict=True):
            self.formed.append((slope.sum(1).unsqueeze(1), bias.unsqueeze(1)))
        for place, (s, t) in enumerate(self.formed, 1):
            parts.append(Products((s * s).sum(1), (s * t).sum(1), (t * t).sum(1), matrix=place < len(real.names)))
        with torch.enable_grad():
            for part in parts:
                part.own.requires_grad_()
                part.cross.requires_grad_()
            value = (BY_PRODUCTS[distance](parts) * shares).sum()
            leaves = [leaf for part in parts for leaf in (part.own, part.cross)]
            slopes = torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True)
        self.value = value.detach()
        self.coefficients = [
            (2 * own.unsqueeze(1), cross.unsqueeze(1)) for own, cross in zip(slopes[::2], slopes[1::2], strict=True)
        ]

    def _move(self, place: int) -> Tensor:
        (a, b), (s, t) = self.coefficients[place], self.formed[place - 1]
        return a * s + b * t

    def along(self, number: int) -> Tensor:
        """``P_l V_l^c + v_l^c``, ``C x n x out``."""
        bias = self._move(len(self.real.names) + number)
        if number:
            return self.passed.seen[number] @ self._move(number) + bias
        a, b = self.coefficients[0]
        return a * self.own_sent + b * self.real_sent + bias

    def against(self, number: int) -> Tensor:
        """``sum_c D_l^c V_l^cT``, ``n x in``."""
        slopes = self.passed.slopes[number]
        if number:
            return side_by_side(slopes, self._move(number))
        a, b = self.coefficients[0]
        between = side_by_side(a * slopes, slopes) @ self.passed.seen[0]
        weighed = torch.cat([part @ slope.T for part, slope in zip(b * slopes, self.slopes, strict=True)], dim=1)
        sparse = self.real.mostly_zero
        if sparse is None:
            return between.addmm_(weighed, self.real.rows[0])
        return between.add_((sparse.T @ weighed.T.contiguous()).T)
