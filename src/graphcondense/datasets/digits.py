"""Scikit-learn's hand-written digits as graphs: small, embedded, always there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits as load_images

from graphcondense.datasets.assembly import LooseGraphs, clean, make_task
from graphcondense.datasets.splits import sizes, stratified_split
from graphcondense.tasks import GraphTask

_BRIGHTEST = 16.0
_HALF_OF_THE_NEIGHBOURS = ((0, 1), (1, -1), (1, 0), (1, 1))


def load_digits(*, split_seed: int = 0) -> GraphTask:
    """The 1,797 images of 8 x 8 pixels as graphs.

    A node is a pixel that is not empty, with brightness, row and column as features, each from 0 to 1. Edges join it
    to those of its 8 neighbours that are not empty either.

    >>> task = load_digits()
    >>> task.graphs.num_graphs, task.num_features, task.num_classes
    (1797, 3, 10)
    """
    images, y = load_images(return_X_y=True)
    graphs = clean(image_graphs(images.reshape(-1, 8, 8), y))
    split = stratified_split(graphs.store.y, split_seed)
    note = f"split made here (by class, seed {split_seed}): {sizes(split)}"
    return replace(make_task("digits", graphs, split, notes=[note]), position_features=(1, 2))


def image_graphs(images: NDArray[np.float64], y: NDArray[np.int64]) -> LooseGraphs:
    """The graphs of the non-empty pixels of ``images``, ``num_images x height x width``."""
    inked = images > 0
    number = np.cumsum(inked).reshape(images.shape) - 1
    image, row, column = np.nonzero(inked)
    height, width = images.shape[1:]
    scales = (_BRIGHTEST, height - 1, width - 1)
    features = [values / scale for values, scale in zip((images[image, row, column], row, column), scales, strict=True)]

    pairs = []
    for down, right in _HALF_OF_THE_NEIGHBOURS:
        here = np.s_[:, : height - down, max(0, -right) : width - max(0, right)]
        there = np.s_[:, down:, max(0, right) : width + min(0, right)]
        both = inked[here] & inked[there]
        pairs.append(np.stack([number[here][both], number[there][both]]))
    once = torch.from_numpy(np.concatenate(pairs, axis=1))
    return LooseGraphs(
        x=torch.from_numpy(np.stack(features, axis=1)).float(),
        edge_index=torch.cat([once, once.flip(0)], dim=1),
        num_nodes=torch.from_numpy(inked.sum(axis=(1, 2))),
        y=torch.from_numpy(np.asarray(y, dtype=np.int64)),
    )
