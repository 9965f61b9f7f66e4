"""How many condensed graphs or nodes each class gets."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def in_proportion(counts: Tensor, budget: int) -> list[int]:
    """A budget spread in proportion to ``counts``, at least one for each class that has any, never more than it has.

    Args:
        counts: members of each class.
        budget: how many to spread: at least the number of classes that have any, at most all members.

    >>> in_proportion(torch.tensor([90, 9, 1, 0]), 10)
    [8, 1, 1, 0]
    """
    present = (counts > 0).long()
    exact = counts.double() / counts.sum() * budget
    sizes = torch.maximum(exact.floor().long(), present)
    while int(sizes.sum()) != budget:  # the largest remainder first
        gap = exact - sizes
        if int(sizes.sum()) < budget:
            sizes[int(gap.masked_fill(sizes >= counts, -math.inf).argmax())] += 1
        else:
            sizes[int(gap.masked_fill(sizes <= present, math.inf).argmin())] -= 1
    return [int(size) for size in sizes]
