"""Soft labels without training: ridge regression on the pooled rows of untrained networks, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from graphcondense.errors import check_count
from graphcondense.graphs import GraphStore
from graphcondense.models import Network, Parameters
from graphcondense.seeding import generator
from graphcondense.training.trainer import prediction_batches

_PENALTIES = 10.0 ** torch.arange(-6, 2.25, 0.5, dtype=torch.float64)
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear map from rows to class probabilities, on columns that have mean 0 and deviation 1.

    Args:
        mean: of the columns that it was fitted to, ``F``.
        scale: one over their standard deviation, 0 for those that never change, ``F``.
        weight: ``F x C``.
        bias: ``C``.
        penalty: the one of several with the least error on rows left out, a row at a time.
        left_out: for each row that it was fitted to, what the fit without that row says of it, ``R x C``.
    """

    mean: Tensor
    scale: Tensor
    weight: Tensor
    bias: Tensor
    penalty: float
    left_out: Tensor

    @staticmethod
    def fit(rows: Tensor, targets: Tensor, importance: Tensor) -> Ridge:
        """The best of all penalties.

        Args:
            rows: ``R x F``.
            targets: ``R x C``.
            importance: of each row, ``R``; they add up to the number of rows.
        """
        root, count = importance.sqrt().unsqueeze(1), len(rows)
        mean, bias = (importance @ rows) / count, (importance @ targets) / count
        deviation = ((importance @ (rows - mean).square()) / count).sqrt()
        scale = torch.where(deviation > _TINY * deviation.max(), 1 / deviation, 0.0)
        x, y = (rows - mean) * scale * root, (targets - bias) * root
        values, vectors = torch.linalg.eigh(x.mT @ x)
        values, turned, aimed = values.clamp(min=0), x @ vectors, vectors.mT @ (x.mT @ y)
        best: tuple[float, float, Tensor] | None = None
        every = values.unsqueeze(1) + _PENALTIES * count
        leverages = turned.square() @ every.reciprocal() + importance.unsqueeze(1) / count  # of all penalties in one go
        for penalty, shrunk, leverage in zip(_PENALTIES.tolist(), every.T, leverages.T, strict=True):
            gaps = (y - turned @ (aimed / shrunk.unsqueeze(1))) / (1 - leverage.unsqueeze(1)).clamp(min=_TINY)
            error = float(gaps.square().mean())
            if best is None or error < best[0]:
                best = (error, penalty, targets - gaps / root)
        assert best is not None
        weight = vectors @ (aimed / (values + best[1] * count).unsqueeze(1))
        return Ridge(mean, scale, weight, bias, best[1], best[2])

    def __call__(self, rows: Tensor) -> Tensor:
        """What it says of ``rows``, ``... x C``."""
        return ((rows - self.mean) * self.scale) @ self.weight + self.bias


@dataclass(frozen=True, eq=False)
class Teacher:
    """Several untrained networks, each with the ridge regression that was fitted to its pooled rows.

    What it says varies slowly over graphs, so that a network learns it from few of them, and it takes seconds where
    training on the whole set takes minutes.
    """

    network: Network
    weights: Sequence[Parameters]
    ridges: Sequence[Ridge]

    @staticmethod
    def fit(
        network: Network,
        graphs: GraphStore,
        num_classes: int,
        *,
        networks: int = 4,
        balanced: bool = False,
        seed: int = 0,
    ) -> Teacher:
        """Fit to labelled graphs.

        Args:
            network: the kind and width of the networks.
            graphs: the whole training set.
            num_classes: number of classes.
            networks: how many; what they say is averaged.
            balanced: whether every class counts as much as any other, whatever its number of graphs.
            seed: decides the networks.
        """
        check_count("teacher_networks", networks)
        counts = torch.bincount(graphs.y, minlength=num_classes).double()
        importance = torch.ones(len(graphs), dtype=torch.float64)
        if balanced:
            importance = (len(graphs) / (counts > 0).sum() / counts)[graphs.y]
        targets = F.one_hot(graphs.y, num_classes).double()
        weights = [network.draw(generator(seed, f"teacher {number}")) for number in range(networks)]
        batches = prediction_batches(network, graphs)
        with torch.no_grad():
            embedded = (torch.cat([network.embed(drawn, batch)[0] for batch in batches]) for drawn in weights)
            ridges = [Ridge.fit(rows.double(), targets, importance) for rows in embedded]
        return Teacher(network, weights, ridges)

    @torch.no_grad()
    def probabilities(self, graphs: GraphStore) -> Tensor:
        """Class probabilities of graphs, ``G x C``."""
        batches = prediction_batches(self.network, graphs)
        said = [
            torch.cat([ridge(self.network.embed(drawn, batch)[0].double()) for batch in batches])
            for drawn, ridge in zip(self.weights, self.ridges, strict=True)
        ]
        positive = torch.stack(said).mean(0).clamp(min=0, max=1)
        total = positive.sum(1, keepdim=True)
        even = torch.full_like(positive, 1 / positive.shape[1])
        return torch.where(total > 0, positive / total.clamp(min=_TINY), even).float()
