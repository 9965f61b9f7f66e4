from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, roc_auc_score

from graphcondense.errors import InputError
from graphcondense.metrics import AGREEMENTS, METRIC_TITLES, METRICS, accuracy, agreement, order_agreement, roc_auc


def outputs_and_labels(seed: int, *shape: int, classes: int, levels: int | None = None) -> tuple[torch.Tensor, ...]:
    """Random outputs, with many ties where ``levels`` is given; labels of every class."""
    source = torch.Generator().manual_seed(seed)
    outputs = torch.randn(*shape, generator=source)
    if levels is not None:
        outputs = torch.randint(levels, shape, generator=source).float()
    y = torch.randint(classes, shape[-2:-1], generator=source)
    y[:classes] = torch.arange(classes)
    return outputs, y


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_sklearns_for_every_replica(seed: int) -> None:
    outputs, y = outputs_and_labels(seed, 4, 31, 5, classes=5)
    expected = [accuracy_score(y, replica.argmax(-1)) for replica in outputs]
    assert accuracy(outputs, y).tolist() == pytest.approx(expected, abs=1e-12)
    assert accuracy(outputs[2], y).item() == pytest.approx(expected[2], abs=1e-12)


def test_accuracy_of_one_logit_goes_by_its_sign() -> None:
    outputs, y = outputs_and_labels(0, 3, 40, 1, classes=2)
    expected = [accuracy_score(y, (replica[:, 0] > 0).long()) for replica in outputs]
    assert accuracy(outputs, y).tolist() == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.sampled_from([None, 1, 2, 4]))
def test_roc_auc_is_sklearns_with_and_without_ties(seed: int, graphs: int, levels: int | None) -> None:
    outputs, y = outputs_and_labels(seed, 3, graphs, 1, classes=2, levels=levels)
    expected = [roc_auc_score(y, replica[:, 0]) for replica in outputs]
    assert roc_auc(outputs, y).tolist() == pytest.approx(expected, abs=1e-12)
    assert roc_auc(outputs[0], y).item() == pytest.approx(expected[0], abs=1e-12)


def test_roc_auc_of_two_columns_is_that_of_the_second_class() -> None:
    outputs, y = outputs_and_labels(1, 3, 25, 2, classes=2)
    expected = [roc_auc_score(y, replica.softmax(-1)[:, 1].double()) for replica in outputs.double()]
    assert roc_auc(outputs, y).tolist() == pytest.approx(expected, abs=1e-6)


def test_roc_auc_by_hand() -> None:
    y = torch.tensor([0, 1, 1])
    assert roc_auc(torch.tensor([[0.0], [1.0], [2.0]]), y).item() == 1
    assert roc_auc(torch.tensor([[2.0], [1.0], [0.0]]), y).item() == 0
    assert roc_auc(torch.zeros(3, 1), y).item() == 0.5


@pytest.mark.parametrize("label", [0, 1])
def test_roc_auc_of_one_class_is_an_error_that_says_what_to_do(label: int) -> None:
    with pytest.raises(InputError, match=rf"of 4 graphs {4 * label} are of class 1: use .*metric='accuracy'"):
        roc_auc(torch.randn(4, 1), torch.full((4,), label))


def test_every_metric_has_a_title() -> None:
    assert set(METRICS) == set(METRIC_TITLES) == {"accuracy", "roc_auc"}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["accuracy", "roc_auc"]), st.sampled_from([1, 2]))
def test_agreement_with_certain_labels_is_the_metric(seed: int, metric: str, columns: int) -> None:
    outputs, y = outputs_and_labels(seed, 3, 20, columns, classes=2, levels=5)
    certain = torch.nn.functional.one_hot(y, 2).double()
    assert AGREEMENTS[metric](outputs, certain).tolist() == pytest.approx(METRICS[metric](outputs, y).tolist())
    one = AGREEMENTS[metric](outputs[1], certain)
    assert one.ndim == 0 and one.item() == pytest.approx(METRICS[metric](outputs[1], y).item())


def test_agreement_is_what_is_to_be_expected_of_drawn_labels() -> None:
    outputs, _ = outputs_and_labels(4, 2, 9, 4, classes=4)
    said = torch.rand(9, 4, generator=torch.Generator().manual_seed(1)).softmax(1)
    drawn = torch.multinomial(said, 20000, replacement=True, generator=torch.Generator().manual_seed(2))
    mean = torch.stack([accuracy(outputs, labels) for labels in drawn.T[:20000]]).mean(0)
    torch.testing.assert_close(agreement(outputs, said), mean, atol=0.01, rtol=0)


def test_agreement_of_orders_is_over_pairs() -> None:
    outputs, _ = outputs_and_labels(3, 2, 12, 1, classes=2, levels=6)
    one = torch.rand(12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weights = one.unsqueeze(1) * (1 - one) * (1 - torch.eye(12))
    for row, found in zip(outputs[..., 0], order_agreement(outputs, torch.stack([1 - one, one], 1)), strict=True):
        right = (row.unsqueeze(1) > row).double() + 0.5 * (row.unsqueeze(1) == row)
        assert found.item() == pytest.approx(float((weights * right).sum() / weights.sum()))


def test_agreement_of_orders_needs_both_classes() -> None:
    with pytest.raises(InputError, match="all of these graphs are of one"):
        order_agreement(torch.zeros(3, 1), torch.tensor([[0.0, 1.0]] * 3))
