from __future__ import annotations

import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from graphcondense.methods.regression import Fit, View, best_labels, exchange

LABELS = torch.arange(30) % 3


def made_view(seed: int = 0, penalty: float = 0.01) -> View:
    source = torch.Generator().manual_seed(seed)
    rows = torch.randn(30, 12, generator=source, dtype=torch.double)
    target = torch.randn(30, 3, generator=torch.Generator().manual_seed(9), dtype=torch.double)
    weights = torch.rand(30, generator=torch.Generator().manual_seed(8), dtype=torch.double)
    return View.of(rows @ rows.T / 12, target, weights / weights.sum(), penalty)


def plain_error(view: View, chosen: torch.Tensor, labels: torch.Tensor | None = None) -> float:
    """The error by scikit-learn's kernel regression."""
    labels = view.target[chosen] if labels is None else labels
    fitted = KernelRidge(alpha=view.penalty, kernel="precomputed")
    fitted.fit(view.kernel[chosen][:, chosen].numpy(), labels.numpy())
    gap = torch.from_numpy(fitted.predict(view.kernel[:, chosen].numpy())) - view.target
    return float((view.weights @ gap.square()).sum() / (view.weights @ view.target.square()).sum())


@pytest.mark.parametrize("chosen", [[4], [0, 7, 20], list(range(11))])
def test_the_error_is_that_of_scikit_learn(chosen: list[int]) -> None:
    view = made_view()
    assert view.error(torch.tensor(chosen)) == pytest.approx(plain_error(view, torch.tensor(chosen)))


@pytest.mark.parametrize("chosen", [[4], [0, 7, 20], list(range(11))])
def test_another_graph_in_a_place_gives_the_error_of_that_choice(chosen: list[int]) -> None:
    view = made_view()
    for place in range(len(chosen)):
        fit, others = Fit(view, torch.tensor(chosen)), [*chosen[:place], *chosen[place + 1 :]]
        fit.leave_out(place)
        candidates = torch.tensor([graph for graph in range(0, 30, 2) if graph not in others])
        errors = fit.errors_with(candidates)
        assert len(errors) == len(candidates)
        for graph, error in zip(candidates.tolist(), errors.tolist(), strict=True):
            assert error == pytest.approx(plain_error(view, torch.tensor([*others, graph])), rel=1e-5)


def test_a_fit_that_was_changed_is_one_that_is_made_anew() -> None:
    view = made_view()
    fit = Fit(view, torch.tensor([0, 7, 20, 5]))
    for place, graph in ((2, 3), (0, 4), (3, 5), (2, 20), (1, 29)):  # one comes back to its own place, one later
        fit.leave_out(place)
        fit.put_in(place, graph)
    anew = Fit(view, torch.tensor([4, 29, 20, 5]))
    for name in ("chosen", "rows", "products", "inverse", "explained", "slopes", "said", "left", "squares", "gaps"):
        torch.testing.assert_close(getattr(fit, name), getattr(anew, name))
    torch.testing.assert_close(fit.square, anew.square)


def test_exchanges_lower_the_error_until_none_does() -> None:
    views = [made_view(0), made_view(1)]
    start = torch.tensor([0, 3, 1, 4, 2, 5])
    chosen, errors = exchange(views, start, LABELS, rounds=50)
    assert torch.equal(LABELS[chosen], LABELS[start]) and len(chosen.unique()) == 6
    assert len(errors) < 50 and errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(sum(plain_error(view, chosen) for view in views) / 2)
    for place in range(6):
        for other in (LABELS[chosen[place]] == LABELS).nonzero().flatten().tolist():
            if other not in chosen.tolist():
                moved = chosen.clone()
                moved[place] = other
                assert sum(plain_error(view, moved) for view in views) / 2 >= errors[-1] - 1e-9


def test_one_graph_of_each_label_is_the_best_triple_or_cannot_be_bettered_by_one_exchange() -> None:
    view = made_view()
    chosen, errors = exchange([view], torch.tensor([0, 1, 2]), LABELS, rounds=1)
    assert len(errors) == 1 and errors[0] < plain_error(view, torch.tensor([0, 1, 2]))
    assert LABELS[chosen].tolist() == [0, 1, 2]


def test_labels_without_a_pull_have_the_least_error() -> None:
    view, chosen = made_view(), torch.tensor([0, 7, 20, 5])
    labels = best_labels([view], chosen, 0.0)
    least = plain_error(view, chosen, labels)
    assert least < plain_error(view, chosen)
    for row in range(4):
        for column in range(3):
            for step in (-0.01, 0.01):
                moved = labels.clone()
                moved[row, column] += step
                assert plain_error(view, chosen, moved) > least


def test_a_strong_pull_leaves_the_targets() -> None:
    view, chosen = made_view(), torch.tensor([0, 7, 20, 5])
    torch.testing.assert_close(best_labels([view], chosen, 1e9), view.target[chosen], rtol=1e-5, atol=1e-6)
    gaps = [float((best_labels([view], chosen, pull) - view.target[chosen]).norm()) for pull in (0, 0.1, 10)]
    assert gaps == sorted(gaps, reverse=True)


def test_labels_of_several_kernels_are_the_best_for_their_mean_error() -> None:
    views, chosen = [made_view(0), made_view(1)], torch.tensor([0, 7, 20, 5])
    shared = best_labels(views, chosen, 0.0)
    own = [best_labels([view], chosen, 0.0) for view in views]

    def mean(labels: torch.Tensor) -> float:
        return sum(plain_error(view, chosen, labels) for view in views) / 2

    assert mean(shared) < min(mean(labels) for labels in own)


def test_what_is_said_is_what_scikit_learn_says() -> None:
    view, chosen = made_view(), torch.tensor([0, 7, 20, 5])
    labels = torch.randn(4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    fitted = KernelRidge(alpha=view.penalty, kernel="precomputed")
    fitted.fit(view.kernel[chosen][:, chosen].numpy(), labels.numpy())
    torch.testing.assert_close(view.said(chosen, labels), torch.from_numpy(fitted.predict(view.kernel[:, chosen])))


def test_the_error_is_of_the_aim_and_the_labels_are_the_target() -> None:
    aim = torch.randn(30, 3, generator=torch.Generator().manual_seed(4), dtype=torch.double)
    view, chosen = made_view().towards(aim), torch.tensor([0, 7, 20, 5])
    gap = view.said(chosen, view.target[chosen]) - aim
    expected = float((view.weights @ gap.square()).sum() / (view.weights @ aim.square()).sum())
    assert view.error(chosen) == pytest.approx(expected)
    fit = Fit(view, chosen)
    fit.leave_out(3)
    assert float(fit.errors_with(chosen[3:])[0]) == pytest.approx(expected)
    whole = View.of(view.kernel, view.target, view.weights, view.penalty, aim)
    assert whole.error(chosen) == pytest.approx(expected)
