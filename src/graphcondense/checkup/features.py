"""What the columns of a feature matrix hold."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

MOST_CATEGORIES = 100
_WHOLE = 2.0**24  # beyond it every number of single precision is a whole one


@dataclass(frozen=True)
class FeatureFacts:
    """What was found in a feature matrix.

    Args:
        columns: how many columns.
        kind: ``"one-hot"`` (one 1 a row), ``"0/1"``, ``"categories"`` (whole numbers, few a column) or ``"real"``.
        low: smallest value.
        high: largest value.
        constant: columns that are the same everywhere.
        ids: columns of whole numbers in which hardly two nodes are alike.
    """

    columns: int
    kind: str
    low: float
    high: float
    constant: int
    ids: tuple[int, ...]


def feature_facts(x: Tensor) -> FeatureFacts:
    """The facts about ``x``, ``num_nodes x num_features``.

    >>> import torch
    >>> feature_facts(torch.eye(3)).kind, feature_facts(torch.tensor([[0.5], [2.0]])).kind
    ('one-hot', 'real')
    """
    low, high = x.amin(0), x.amax(0)
    zero_one = bool((low >= 0).all() and (high <= 1).all()) and bool(((x == 0) | (x == 1)).all())
    kind, ids = "0/1", []
    if zero_one:
        if bool((x.sum(1) == 1).all()):
            kind = "one-hot"
    else:
        most = 0
        for column in range(x.shape[1]):
            values = x[:, column]
            if bool(((values == values.round()) & (values.abs() < _WHOLE)).all()):
                different = len(values.unique())
                most = max(most, different)
                if different > MOST_CATEGORIES and 10 * different > 9 * len(values):
                    ids.append(column)
            else:
                most = MOST_CATEGORIES + 1
        kind = "categories" if most <= MOST_CATEGORIES else "real"
    return FeatureFacts(x.shape[1], kind, float(low.min()), float(high.max()), int((low == high).sum()), tuple(ids))
