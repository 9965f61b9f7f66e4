"""Kernel regression from a few graphs to all: its error for every exchange of one graph, and the best labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

_BETTER = 1e-9  # an exchange must lower the error by more than rounding does


@dataclass(frozen=True, eq=False)
class View:
    """One kernel, and what is asked of regressions with it.

    A regression from the graphs S says ``K[:, S] a`` with ``(K[S, S] + penalty I) a = target[S]``; its error is the
    weighted square of what it says minus ``aim``, over all graphs, as a share of the aim's own.

    Args:
        kernel: ``G x G``, float64.
        target: labels of the graphs, ``G x C``.
        weights: of the graphs in the error, ``G``.
        penalty: on the diagonal of the system.
        aim: what should be said of all graphs, ``G x C``.
        products: ``K W K``, ``G x G``: with it, no error needs more than the rows of the chosen graphs.
    """

    kernel: Tensor
    target: Tensor
    weights: Tensor
    penalty: float
    aim: Tensor
    products: Tensor
    aimed: Tensor = field(init=False)
    """``K W aim``, ``G x C``."""
    scale: Tensor = field(init=False)
    """The error of saying nothing."""

    def __post_init__(self) -> None:
        weighted = self.weights.unsqueeze(1) * self.aim
        object.__setattr__(self, "aimed", self.kernel @ weighted)
        scale = (weighted * self.aim).sum().clamp(min=torch.finfo(torch.float64).tiny)
        object.__setattr__(self, "scale", scale)

    @staticmethod
    def of(kernel: Tensor, target: Tensor, weights: Tensor, penalty: float, aim: Tensor | None = None) -> View:
        """A view; by default its aim is the graphs' labels."""
        return View(kernel, target, weights, penalty, target if aim is None else aim, (kernel * weights) @ kernel)

    def towards(self, aim: Tensor) -> View:
        """The same view with another aim."""
        return replace(self, aim=aim)

    def said(self, chosen: Tensor, labels: Tensor) -> Tensor:
        """What the regression from ``chosen`` with ``labels``, ``S x C``, says of all graphs."""
        said: Tensor = self.kernel[:, chosen] @ torch.linalg.solve(self.system(chosen), labels)
        return said

    def system(self, chosen: Tensor) -> Tensor:
        """``K[S, S] + penalty I``."""
        among = self.kernel[chosen][:, chosen]
        return among + self.penalty * torch.eye(len(chosen), dtype=among.dtype)

    def error(self, chosen: Tensor) -> float:
        """The error of the regression from ``chosen``."""
        slopes = torch.linalg.solve(self.system(chosen), self.target[chosen])
        return float(self._error(chosen, slopes) / self.scale)

    def errors_with_one_more(self, chosen: Tensor, candidates: Tensor) -> Tensor:
        """The error of the regression from ``chosen`` and one more graph, for each of ``candidates``.

        One more graph changes what a regression says by a multiple of that graph's own column, as far as the others
        do not explain it: the error is a parabola in that multiple.
        """
        rows, inverse = self.kernel[chosen][:, candidates], torch.linalg.inv(self.system(chosen))
        explained, slopes = inverse @ rows, inverse @ self.target[chosen]  # columns by those of the chosen graphs
        left = self.kernel.diagonal()[candidates] - (explained * rows).sum(0) + self.penalty
        step = (self.target[candidates] - rows.T @ slopes) / left.unsqueeze(1)
        products, among = self.products[chosen][:, candidates], self.products[chosen][:, chosen]
        squares = (
            self.products.diagonal()[candidates]
            - 2 * (explained * products).sum(0)
            + (explained * (among @ explained)).sum(0)
        )
        gaps = products.T @ slopes - self.aimed[candidates] - explained.T @ (among @ slopes - self.aimed[chosen])
        change = 2 * (step * gaps).sum(1) + step.square().sum(1) * squares
        errors: Tensor = (self._error(chosen, slopes) + change) / self.scale
        return errors

    def _error(self, chosen: Tensor, slopes: Tensor) -> Tensor:
        among = self.products[chosen][:, chosen]
        return (slopes * (among @ slopes - 2 * self.aimed[chosen])).sum() + self.scale


def exchange(views: Sequence[View], start: Tensor, labels: Tensor, rounds: int) -> tuple[Tensor, list[float]]:
    """Exchange each graph in turn for the one of its label with the least error, averaged over ``views``.

    Args:
        views: kernels of the same graphs.
        start: positions of the graphs that are chosen at first.
        labels: of all graphs, ``G``.
        rounds: how often each graph has its turn, at most.

    Returns:
        Positions in the order of ``start``, and the error after each round.
    """
    chosen, errors = start.clone(), []
    for _ in range(rounds):
        moved = False
        for place in range(len(chosen)):
            others = torch.cat([chosen[:place], chosen[place + 1 :]])
            free = labels == labels[chosen[place]]
            free[others] = False
            candidates = free.nonzero().flatten()
            error = torch.stack([view.errors_with_one_more(others, candidates) for view in views]).mean(0)
            own, best = error[candidates == chosen[place]], error.argmin()
            if float(error[best]) < float(own) - _BETTER:
                chosen[place], moved = candidates[best], True
        errors.append(sum(view.error(chosen) for view in views) / len(views))
        if not moved:
            break
    return chosen, errors


def best_labels(views: Sequence[View], chosen: Tensor, pull: float) -> Tensor:
    """Targets for the chosen graphs with which regressions from them have the least error over all, ``S x C``.

    Args:
        views: kernels of the same graphs, with the same target and aim.
        chosen: positions of the graphs.
        pull: how strongly they are drawn towards the graphs' own targets, as a share of what is asked of each.
    """
    target = views[0].target[chosen]
    asked = torch.zeros(len(chosen), len(chosen), dtype=target.dtype)
    wanted = torch.zeros_like(target)
    for view in views:
        inverse = torch.linalg.inv(view.system(chosen))
        asked += inverse @ view.products[chosen][:, chosen] @ inverse / len(views)
        wanted += inverse @ view.aimed[chosen] / len(views)
    pulled = pull * asked.diagonal().mean()
    drawn = asked + pulled * torch.eye(len(chosen), dtype=asked.dtype)
    labels: Tensor = torch.linalg.solve(drawn, wanted + pulled * target)
    return labels
