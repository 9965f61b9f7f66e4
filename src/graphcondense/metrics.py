"""Scores of predictions: pure functions over many networks at once."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import torch
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
    guess = (outputs[..., 0] > 0).long() if outputs.shape[-1] == 1 else outputs.argmax(-1)
    return (guess == y).double().mean(-1)


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
    score = outputs[..., -1] - outputs[..., 0] if outputs.shape[-1] == 2 else outputs[..., 0]
    ranks = rankdata(score.detach().cpu().numpy().astype(np.float64), axis=-1)
    area = (ranks[..., positive].sum(-1) - ones * (ones + 1) / 2) / (ones * zeros)
    return torch.as_tensor(area)


METRICS: MappingProxyType[str, Callable[[Tensor, Tensor], Tensor]] = MappingProxyType(
    {"accuracy": accuracy, "roc_auc": roc_auc}
)
METRIC_TITLES: MappingProxyType[str, str] = MappingProxyType({"accuracy": "accuracy (%)", "roc_auc": "ROC-AUC"})
