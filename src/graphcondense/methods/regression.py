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

    def _error(self, chosen: Tensor, slopes: Tensor) -> Tensor:
        among = self.products[chosen][:, chosen]
        return (slopes * (among @ slopes - 2 * self.aimed[chosen])).sum() + self.scale


class Fit:
    """The regression of a view from chosen graphs, which can be left out and put in one at a time.

    What all errors with one graph more come from is kept: of each graph's column of the kernel, what the chosen graphs'
    columns leave unexplained (``K[:, g] - K[:, S] E[:, g]`` with ``E = (K[S, S] + penalty I)^-1 K[S, :]``), by its
    products with itself and with the gap between what is said and the aim. Leaving a graph out, or putting one in,
    changes all of these along one direction: a few products of a matrix with a row, instead of a system to be solved.

    Args:
        view: the kernel and what is asked.
        chosen: positions of the graphs, ``S``.
    """

    def __init__(self, view: View, chosen: Tensor) -> None:
        self.view, self.chosen = view, chosen.clone()
        self.rows, self.products = view.kernel[chosen], view.products[chosen]  # K[S, :] and (K W K)[S, :]
        self.inverse = torch.linalg.inv(view.system(chosen))
        self.explained = self.inverse @ self.rows  # E, S x G
        self.slopes = self.inverse @ view.target[chosen]  # S x C
        self.said = self.rows.T @ self.slopes  # G x C
        self.left = view.kernel.diagonal() - (self.explained * self.rows).sum(0) + view.penalty  # unexplained
        twice = (self.explained * (2 * self.products - self.products[:, chosen] @ self.explained)).sum(0)
        self.squares = view.products.diagonal() - twice  # of the unexplained columns
        in_gap = self.products.T @ self.slopes - view.aimed  # K W gap
        self.gaps = in_gap - self.explained.T @ in_gap[chosen]  # unexplained columns' products with the gap, G x C
        self.square = view.error(chosen) * view.scale  # of the gap

    def leave_out(self, place: int) -> None:
        """Without the graph at ``place``: its row stays, and counts for nothing until one is put there."""
        weight = float(self.inverse[place, place])
        column, share = self.inverse[:, place] / weight, self.explained[place].clone()
        slope = self.slopes[place].clone()
        products = column @ self.products  # of the column that goes, at its own graph what the others leave of it
        own = float(column @ products[self.chosen])
        with_left = products - products[self.chosen] @ self.explained
        with_gap = column @ (self.products[:, self.chosen] @ self.slopes - self.view.aimed[self.chosen])
        self.gaps += share.unsqueeze(1) * with_gap - (with_left + share * own).unsqueeze(1) * slope
        self.squares += share * (2 * with_left + share * own)
        self.left += share.square() / weight
        self.square = self.square - 2 * slope @ with_gap + slope @ slope * own
        self.said.addr_(column @ self.rows, slope, alpha=-1)
        self.explained.addr_(column, share, alpha=-1)
        self.slopes.addr_(column, slope, alpha=-1)
        self.inverse.addr_(column, column, alpha=-weight)

    def errors_with(self, candidates: Tensor) -> Tensor:
        """The error with one graph more, for each of ``candidates``: a parabola in the multiple of its column."""
        step = (self.view.target[candidates] - self.said[candidates]) / self.left[candidates].unsqueeze(1)
        change = 2 * (step * self.gaps[candidates]).sum(1) + step.square().sum(1) * self.squares[candidates]
        errors: Tensor = (self.square + change) / self.view.scale
        return errors

    def put_in(self, place: int, graph: int) -> None:
        """With ``graph`` at ``place``, which was left out."""
        column, left = self.explained[:, graph].clone(), float(self.left[graph])
        step = (self.view.target[graph] - self.said[graph]) / left
        covered = self.view.kernel[graph] - column @ self.rows  # what the others leave of the graph's column
        products = self.view.products[graph] - column @ self.products
        with_left = products - products[self.chosen] @ self.explained
        share, own, in_gap = covered / left, float(self.squares[graph]), self.gaps[graph].clone()
        self.square = self.square + 2 * step @ in_gap + step @ step * own
        self.gaps += with_left.unsqueeze(1) * step - share.unsqueeze(1) * (in_gap + step * own)
        self.squares += share * (share * own - 2 * with_left)
        self.left -= covered * share
        self.said.addr_(covered, step)
        column[place] = -1
        self.explained.addr_(column, share, alpha=-1)
        self.slopes.addr_(column, step, alpha=-1)
        self.inverse.addr_(column, column, alpha=1 / left)
        self.chosen[place] = graph
        self.rows[place], self.products[place] = self.view.kernel[graph], self.view.products[graph]


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
        fits = [Fit(view, chosen) for view in views]  # anew in each round: rounding does not add up
        for place in range(len(chosen)):
            own = int(chosen[place])
            free = labels == labels[own]
            free[chosen] = False
            free[own] = True
            candidates = free.nonzero().flatten()
            for fit in fits:
                fit.leave_out(place)
            error = torch.stack([fit.errors_with(candidates) for fit in fits]).mean(0)
            best = error.argmin()
            if float(error[best]) < float(error[candidates == own]) - _BETTER:
                chosen[place], moved = candidates[best], True
            for fit in fits:
                fit.put_in(place, int(chosen[place]))
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
