from __future__ import annotations

from collections import Counter

import pytest
import torch

from graphcondense.colours import distinct_rows, refine, start_colours
from graphcondense.graphs import GraphStore
from graphcondense.real.operators import propagation_matrix
from tests.made_up import random_store


def plain_refinement(store: GraphStore, rounds: int) -> list[list[object]]:
    """Colour refinement written down as it is defined, with Python tuples."""
    nodes = range(store.x.shape[0])
    incoming = {v: [] for v in nodes}  # type: dict[int, list[int]]
    for source, target in store.edge_index.t().tolist():
        incoming[target].append(source)
    colour: list[object] = [(tuple(store.x[v].tolist()), len(incoming[v])) for v in nodes]
    levels = [colour]
    for _ in range(rounds):
        colour = [(colour[v], frozenset(Counter(colour[u] for u in incoming[v]).items())) for v in nodes]
        levels.append(colour)
    return levels


@pytest.mark.parametrize("directed", [False, True])
def test_same_partition_as_the_definition(directed: bool) -> None:
    store = random_store(60, seed=2, directed=directed)
    matrix = propagation_matrix(store, "gcn")
    colours = start_colours(store)
    for level in plain_refinement(store, 3):
        pairs = set(zip(colours.tolist(), level, strict=True))
        assert len(pairs) == len(set(level)) == int(colours.max()) + 1
        colours = refine(colours, matrix.ptr, matrix.col)


@pytest.mark.parametrize("directed", [False, True])
def test_distinct_rows_share_a_row_among_the_nodes_of_a_colour(directed: bool) -> None:
    store = random_store(60, seed=2, directed=directed)
    labelled = list(zip(store.y[store.graph_of_node].tolist(), plain_refinement(store, 2)[-1], strict=True))
    often = Counter(labelled)
    expected = torch.zeros(len(store), dtype=torch.double)
    for graph, key in zip(store.graph_of_node.tolist(), labelled, strict=True):
        expected[graph] += 1 / often[key]
    found = distinct_rows(store)
    torch.testing.assert_close(found, expected)
    assert found.sum() == pytest.approx(len(often)) and found.sum() < len(store.x)


def test_negative_zero_is_zero() -> None:
    edge = torch.tensor([[0, 1], [1, 0]])
    store = GraphStore(
        torch.tensor([[0.0], [-0.0]]), edge, torch.tensor([0, 2]), torch.tensor([0, 2]), torch.tensor([0])
    )
    assert start_colours(store).tolist() == [0, 0]


@pytest.mark.parametrize(("name", "expected"), [("MUTAG", [86, 377, 1028]), ("NCI1", [994, 12392, 36099])])
def test_number_of_colours_on_molecules(name: str, expected: list[int], needs_data) -> None:  # type: ignore[no-untyped-def]
    from graphcondense.datasets import load

    graphs = load(name, data_root=needs_data(name)).graphs
    matrix = propagation_matrix(graphs, "gcn")
    colours, counts = start_colours(graphs), []
    for _ in range(3):
        colours = refine(colours, matrix.ptr, matrix.col)
        counts.append(int(colours.max()) + 1)
    assert counts == expected
