from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge as PlainRidge

from graphcondense import load
from graphcondense.models import Network, NetworkConfig
from graphcondense.training import Ridge, Teacher
from tests.made_up import toy_task

TASK = toy_task()
SMALL = Network(NetworkConfig(hidden=16, layers=2), TASK.num_features, TASK.num_outputs)


def some_rows(count: int = 40, width: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.Generator().manual_seed(3)
    rows = torch.randn(count, width, dtype=torch.float64, generator=source) * torch.tensor([1, 2, 3, 0.1, 1, 5])[:width]
    y = (rows[:, 0] + torch.randn(count, dtype=torch.float64, generator=source) > 0).long()
    return rows + 7, F.one_hot(y, 2).double()


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_that_of_scikit_learn(weighted: bool) -> None:
    rows, targets = some_rows()
    importance = (
        torch.linspace(0.5, 1.5, len(rows), dtype=torch.float64) if weighted else torch.ones(len(rows)).double()
    )
    ridge = Ridge.fit(rows, targets, importance)
    scaled = ((rows - ridge.mean) * ridge.scale).numpy()
    assert np.average(scaled**2, axis=0, weights=importance.numpy()) == pytest.approx(np.ones(rows.shape[1]))
    plain = PlainRidge(alpha=ridge.penalty * len(rows)).fit(scaled, targets.numpy(), importance.numpy())
    np.testing.assert_allclose(ridge(rows).numpy(), plain.predict(scaled), atol=1e-10)


def test_what_is_said_without_a_row_is_a_fit_without_it() -> None:
    rows, targets = some_rows(12, 3)
    ridge = Ridge.fit(rows, targets, torch.ones(12).double())
    scaled = ((rows - ridge.mean) * ridge.scale).numpy()
    for row in range(12):
        others = np.arange(12) != row
        plain = PlainRidge(alpha=ridge.penalty * 12).fit(scaled[others], targets.numpy()[others])
        np.testing.assert_allclose(ridge.left_out[row], plain.predict(scaled[row : row + 1])[0], atol=1e-10)


def test_the_penalty_grows_with_noise() -> None:
    rows, targets = some_rows()
    noise = F.one_hot(torch.randint(2, (40,), generator=torch.Generator().manual_seed(0)), 2).double()
    ones = torch.ones(40).double()
    assert Ridge.fit(rows, noise, ones).penalty > Ridge.fit(rows, targets, ones).penalty


def test_a_column_that_never_changes_says_nothing() -> None:
    rows, targets = some_rows()
    still = torch.cat([rows, torch.full((40, 1), 3.0, dtype=torch.float64)], dim=1)
    ones = torch.ones(40).double()
    torch.testing.assert_close(Ridge.fit(still, targets, ones)(still), Ridge.fit(rows, targets, ones)(rows))


def test_probabilities() -> None:
    teacher = Teacher.fit(SMALL, TASK.train, TASK.num_classes, networks=2)
    said = teacher.probabilities(TASK.test)
    assert said.shape == (len(TASK.test), TASK.num_classes) and said.dtype == torch.float32
    assert bool((said >= 0).all()) and said.sum(1).tolist() == pytest.approx([1.0] * len(said))
    again = Teacher.fit(SMALL, TASK.train, TASK.num_classes, networks=2).probabilities(TASK.test)
    assert torch.equal(said, again)
    other = Teacher.fit(SMALL, TASK.train, TASK.num_classes, networks=2, seed=1).probabilities(TASK.test)
    assert not torch.equal(said, other)


def test_balanced_classes_count_the_same() -> None:
    many = (TASK.train.y == 0).nonzero().flatten()
    few = (TASK.train.y == 1).nonzero().flatten()[:4]
    graphs = TASK.train.subset(torch.cat([many, few]))
    plain, even = (
        Teacher.fit(SMALL, graphs, 2, networks=1, balanced=balanced).ridges[0].bias for balanced in (False, True)
    )
    assert plain[1].item() == pytest.approx(4 / len(graphs)) and even.tolist() == pytest.approx([0.5, 0.5])


def test_it_knows_digits() -> None:
    task = load("digits")
    network = Network(NetworkConfig(hidden=256), task.num_features, task.num_outputs)
    said = Teacher.fit(network, task.train, task.num_classes).probabilities(task.val)
    assert (said.argmax(1) == task.val.y).double().mean() > 0.75
