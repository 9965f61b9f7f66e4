"""Layers whose weight is shared by all rows but whose gradient arrives group by group."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphcondense.autograd import apply


def tied_linear(h: Tensor, weight: Tensor, rows: list[int]) -> Tensor:
    """``h @ weight[0]``; slice ``c`` of the gradient of ``weight`` is that of group ``c``'s rows alone.

    Args:
        h: ``N x in``, group after group.
        weight: ``C x in x out`` with equal slices.
        rows: rows of each group.
    """
    return apply(_TiedLinear, h, weight, rows)


def tied_bias(h: Tensor, bias: Tensor, rows: list[int]) -> Tensor:
    """``h + bias[0]`` likewise, with ``bias`` of ``C x F``."""
    return apply(_TiedBias, h, bias, rows)


class _TiedLinear(torch.autograd.Function):
    """One product with the shared weight forwards; one weight gradient a group backwards."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, rows: list[int]) -> Tensor:
        ctx.save_for_backward(h, weight)
        ctx.rows = rows
        return h @ weight[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, Tensor, None]:
        h, weight = ctx.saved_tensors
        grad = grad_outputs[0]
        grad_weight = torch.empty_like(weight)
        for group, (left, right) in enumerate(zip(h.split(ctx.rows), grad.split(ctx.rows), strict=True)):
            torch.mm(left.T, right, out=grad_weight[group])
        return grad @ weight[0].T if ctx.needs_input_grad[0] else None, grad_weight, None


class _TiedBias(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, bias: Tensor, rows: list[int]) -> Tensor:
        ctx.rows = rows
        return h + bias[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        grad = grad_outputs[0]
        return grad, torch.stack([part.sum(0) for part in grad.split(ctx.rows)]), None
