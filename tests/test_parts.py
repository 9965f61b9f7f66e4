from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphcondense.parts import deal


@given(st.integers(1, 5), st.integers(8, 60), st.integers(0, 1000), st.booleans())
def test_every_graph_is_in_one_part(parts: int, count: int, seed: int, weighed: bool) -> None:
    source = torch.Generator().manual_seed(seed)
    y = torch.randint(3, (count,), generator=source)
    sizes = torch.randint(1, 100, (count,), generator=source) if weighed else None
    dealt = deal(y, 3, parts, sizes)
    assert len(dealt) == parts
    assert sorted(torch.cat(dealt).tolist()) == list(range(count))


def test_parts_of_graphs_of_different_sizes_weigh_the_same() -> None:
    y = torch.arange(400) % 2
    sizes = torch.arange(400) + 1  # the last ones are by far the largest
    weights = [int(sizes[part].sum()) for part in deal(y, 2, 4, sizes)]
    assert max(weights) - min(weights) <= 4 * 400
    counted = [int(sizes[part].sum()) for part in deal(y, 2, 4)]
    assert max(counted) > 5 * min(counted)


def test_a_graph_that_outweighs_all_others_leaves_no_part_empty() -> None:
    y, sizes = torch.zeros(8, dtype=torch.long), torch.tensor([1000, 1, 1, 1, 1, 1, 1, 1])
    assert [len(part) for part in deal(y, 1, 4, sizes)] == [2, 2, 2, 2]
