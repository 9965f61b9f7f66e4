from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from graphcondense.training import graph_losses, residual_change, residuals

OUTPUTS = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([0, 3, 2, 1, 0, 2, 3])


def test_is_torchs_cross_entropy_for_every_replica() -> None:
    expected = torch.stack([F.cross_entropy(outputs, LABELS, reduction="none") for outputs in OUTPUTS])
    torch.testing.assert_close(graph_losses(OUTPUTS, LABELS), expected)


def test_soft_labels_are_torchs_too_and_agree_with_hard_ones() -> None:
    soft = torch.softmax(torch.randn(7, 4, generator=torch.Generator().manual_seed(1)), 1)
    torch.testing.assert_close(graph_losses(OUTPUTS[0], soft), F.cross_entropy(OUTPUTS[0], soft, reduction="none"))
    torch.testing.assert_close(graph_losses(OUTPUTS, F.one_hot(LABELS, 4).float()), graph_losses(OUTPUTS, LABELS))


def test_one_logit_is_two_with_the_other_at_zero() -> None:
    logit, y = OUTPUTS[..., :1], LABELS % 2
    both = torch.cat([torch.zeros_like(logit), logit], dim=-1)
    torch.testing.assert_close(graph_losses(logit, y), graph_losses(both, y))
    soft = torch.stack([1 - y * 0.8, y * 0.8], dim=1).float()
    torch.testing.assert_close(graph_losses(logit, soft), graph_losses(both, soft))


@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize("soft", [False, True])
def test_residuals_and_their_change_are_the_slopes_of_the_loss(outputs: int, soft: bool) -> None:
    source = torch.Generator().manual_seed(0)
    logits = torch.randn(6, outputs, generator=source, dtype=torch.float64).requires_grad_()
    change = torch.randn(6, outputs, generator=source, dtype=torch.float64)
    classes = max(outputs, 2)
    y = torch.arange(6) % classes
    if soft:
        y = torch.softmax(torch.randn(6, classes, generator=source, dtype=torch.float64), -1)
    (slope,) = torch.autograd.grad(graph_losses(logits, y).sum(), [logits], create_graph=True)
    (expected,) = torch.autograd.grad((slope * change).sum(), [logits])
    torch.testing.assert_close(residuals(logits.detach(), y), slope.detach())
    torch.testing.assert_close(residual_change(logits.detach(), change), expected)
