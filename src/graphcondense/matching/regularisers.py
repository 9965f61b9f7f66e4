"""What else the synthetic graphs are asked to be: sparse, and small in the norm of the paper's Theorem 1."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from graphcondense.synthetic import DenseBatch


def sparsity(density: Tensor, target: float) -> Tensor:
    """``max(density - target, 0)``: structure may not get denser than it started.

    >>> round(sparsity(torch.tensor(0.3), 0.2).item(), 4)
    0.1
    """
    return torch.relu(density - target)


def input_norm(batch: DenseBatch, steps: int, pooling: str) -> Tensor:
    """``sqrt(sum_i gamma_i |1^T A'^K X'|^2)`` over all graphs; gamma is 1 for sum pooling and 1/n for mean pooling."""
    squares = batch.feature_sums(steps).square()
    if pooling == "mean":
        squares = squares / batch.node_counts
    return torch.sqrt(squares.sum() + torch.finfo(squares.dtype).tiny)  # finite slope where all features are zero


def second_term(batch: DenseBatch, num_classes: int, num_graphs: int, horizon: int, steps: int, pooling: str) -> Tensor:
    """The second term of Proposition 1 without M: ``3 / (2 sqrt T) * (C - 1) / (C N') * input norm``."""
    factor = 3 / (2 * math.sqrt(horizon)) * (num_classes - 1) / (num_classes * num_graphs)
    return factor * input_norm(batch, steps, pooling)


def first_term(synthetic: Tensor, real: Tensor) -> Tensor:
    """The first term of Proposition 1 without M: ``sqrt 2 |grad l_T - grad l_S|``, of the two whole gradients."""
    return math.sqrt(2) * (real - synthetic).square().sum().sqrt()
