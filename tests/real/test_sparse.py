from __future__ import annotations

import pytest
import torch

from graphcondense.real import sparse
from graphcondense.real.sparse import SparseMatrix


def some_matrix() -> tuple[SparseMatrix, torch.Tensor]:
    dense = torch.rand(7, 5, generator=torch.Generator().manual_seed(0))
    dense = dense * (dense > 0.5)
    row, col = dense.nonzero(as_tuple=True)
    ptr = torch.searchsorted(row, torch.arange(8))
    return SparseMatrix(ptr, col, dense[row, col], 5), dense


@pytest.mark.parametrize("side_by_side", [0, 2**20])
@pytest.mark.parametrize("networks", [1, 3])
def test_product_and_its_gradient_are_the_dense_ones(
    networks: int, side_by_side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One network, several side by side in wide rows, several one after the other."""
    monkeypatch.setattr(sparse, "_SIDE_BY_SIDE", side_by_side)
    matrix, dense = some_matrix()
    h = torch.randn(networks, 5, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    weigh = torch.randn(networks, 7, 4, generator=torch.Generator().manual_seed(2))
    (ours,) = torch.autograd.grad(((matrix @ h) * weigh).sum(), [h])
    torch.testing.assert_close(matrix @ h, dense @ h)
    torch.testing.assert_close(ours, dense.T @ weigh)
    with torch.no_grad():
        torch.testing.assert_close(matrix @ h, dense @ h)


def test_rows_can_be_taken() -> None:
    matrix, dense = some_matrix()
    rows = torch.tensor([6, 0, 0, 3])
    counts, col, weight = matrix.take(rows)
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
    torch.testing.assert_close(SparseMatrix(ptr, col, weight, 5) @ torch.eye(5), dense[rows])
