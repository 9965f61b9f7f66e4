"""Scores of predictions: pure functions over many networks at once."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from graphcondense.errors import InputError


def accuracy(outputs: Tensor, y: Tensor) -> Tensor:
    """Share of right predictions.

    Args:
        outputs: class scores, ``... x num_graphs x num_classes``; with one column, its sign decides.
        y: labels, ``num_graphs``.

    >>> accuracy(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0])).item()
    0.5
    """
    return (_predicted(outputs) == y).double().mean(-1)


def roc_auc(outputs: Tensor, y: Tensor) -> Tensor:
    """Area under the ROC curve of a two-class problem; ties count half.

    Args:
        outputs: ``... x num_graphs x 1`` (score of class 1) or ``... x num_graphs x 2``.
        y: labels 0 or 1, ``num_graphs``.

    >>> roc_auc(torch.tensor([[0.1], [0.4], [0.35], [0.8]]), torch.tensor([0, 0, 1, 1])).item()
    0.75
    """
    positive = (y == 1).cpu().numpy()
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if ones == 0 or zeros == 0:
        raise InputError(
            f"ROC-AUC needs both classes, but of {len(y)} graphs {ones} are of class 1: use a stratified split "
            "or metric='accuracy'"
        )
    ranks = rankdata(_of_second(outputs), axis=-1)
    area = (ranks[..., positive].sum(-1) - ones * (ones + 1) / 2) / (ones * zeros)
    return torch.as_tensor(area)


def agreement(outputs: Tensor, probabilities: Tensor) -> Tensor:
    """Mean probability of the predicted class: the accuracy to expect if labels were drawn from ``probabilities``.

    Args:
        outputs: as for :func:`accuracy`.
        probabilities: ``num_graphs x num_classes``.

    >>> agreement(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([[0.75, 0.25], [0.5, 0.5]])).item()
    0.625
    """
    guess = _predicted(outputs)
    each = probabilities.double().expand(*guess.shape, -1).gather(-1, guess.unsqueeze(-1))
    return each.squeeze(-1).mean(-1)


def order_agreement(outputs: Tensor, probabilities: Tensor) -> Tensor:
    """ROC-AUC where a graph is of class 1 by a probability: the share of pairs in the right order, ties count half.

    Two graphs count by the probability that the first is of class 1 and the second of class 0; labels of 0 and 1 give
    :func:`roc_auc`.

    Args:
        outputs: as for :func:`roc_auc`.
        probabilities: ``num_graphs x 2``.

    >>> order_agreement(torch.tensor([[0.1], [0.4]]), torch.tensor([[0.75, 0.25], [0.25, 0.75]])).item()
    0.9
    """
    score = _of_second(outputs)
    zero, one = probabilities.double().cpu().numpy().T
    pairs = one.sum() * zero.sum() - one @ zero
    if not pairs > 0:
        raise InputError("ROC-AUC needs both classes, but all of these graphs are of one")
    found = []
    for row in score.reshape(-1, len(one)):
        level = np.unique(row, return_inverse=True)[1]
        zeros = np.bincount(level, zero)
        below = (np.cumsum(zeros) - zeros / 2)[level]
        found.append((one @ (below - zero / 2)) / pairs)
    return torch.tensor(np.array(found).reshape(score.shape[:-1]))


METRICS: MappingProxyType[str, Callable[[Tensor, Tensor], Tensor]] = MappingProxyType(
    {"accuracy": accuracy, "roc_auc": roc_auc}
)


def _predicted(outputs: Tensor) -> Tensor:
    """Classes; with one column, its sign decides."""
    return (outputs[..., 0] > 0).long() if outputs.shape[-1] == 1 else outputs.argmax(-1)


def _of_second(outputs: Tensor) -> NDArray[np.float64]:
    """Scores of class 1."""
    score = outputs[..., -1] - outputs[..., 0] if outputs.shape[-1] == 2 else outputs[..., 0]
    return score.detach().cpu().numpy().astype(np.float64)


AGREEMENTS: MappingProxyType[str, Callable[[Tensor, Tensor], Tensor]] = MappingProxyType(
    {"accuracy": agreement, "roc_auc": order_agreement}
)
METRIC_TITLES: MappingProxyType[str, str] = MappingProxyType({"accuracy": "accuracy (%)", "roc_auc": "ROC-AUC"})
