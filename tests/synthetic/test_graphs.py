from __future__ import annotations

import pytest
import torch

from graphcondense.errors import InputError
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import SyntheticGraphs
from graphcondense.synthetic.graphs import pad_graphs, unpad_graphs
from tests.made_up import random_store


def by_class(directed: bool = False) -> tuple[SyntheticGraphs, SyntheticGraphs]:
    store = random_store(8, seed=5, directed=directed)
    start = store.subset(torch.argsort(store.y, stable=True))
    return SyntheticGraphs(start, 2, 10, pad=True), SyntheticGraphs(start, 2, 10, pad=False)


@pytest.mark.parametrize("directed", [False, True])
def test_unpad_undoes_pad(directed: bool) -> None:
    store = random_store(9, seed=6, directed=directed)
    adjacency, x, _ = pad_graphs(store, 12)
    back = unpad_graphs(adjacency, x, store.num_nodes, store.y, directed)
    assert torch.equal(back.x, store.x) and torch.equal(back.node_ptr, store.node_ptr)
    for ours, theirs in zip(back, store, strict=True):
        assert set(map(tuple, ours.edge_index.T.tolist())) == set(map(tuple, theirs.edge_index.T.tolist()))


def test_result_of_untouched_graphs_is_the_start() -> None:
    padded, sized = by_class()
    assert padded.result().num_nodes.tolist() == [10] * 8
    assert sorted(sized.result().num_nodes.tolist()) == sorted(random_store(8, seed=5).num_nodes.tolist())
    assert torch.equal(padded.result().num_edges, sized.result().num_edges)
    assert padded.result().y.tolist() == [0] * 4 + [1] * 4


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("joint", [True, False])
def test_the_file_holds_what_was_learned_on(pad: bool, joint: bool) -> None:
    """A network sees the discrete result (sparse) as it saw the learned graphs (dense): padding counts in both."""
    synthetic = by_class()[0 if pad else 1]
    network = Network(NetworkConfig(hidden=8), 3, 2)
    theta = network.draw(torch.Generator().manual_seed(0))
    tied = {n: w.expand(1 if joint else 2, *w.shape[1:]) for n, w in theta.items()}
    dense = network(tied, synthetic.batch(synthetic.structure.discrete(), network.propagation, joint))
    sparse = network(theta, network.prepare(synthetic.result()).batch())
    torch.testing.assert_close(dense.reshape(8, 2), sparse[0], rtol=1e-4, atol=1e-6)


def test_nodes_that_do_not_exist_get_no_gradient() -> None:
    _, sized = by_class()
    network = Network(NetworkConfig(hidden=8), 3, 2)
    theta = {n: w.expand(2, *w.shape[1:]) for n, w in network.draw(torch.Generator().manual_seed(0)).items()}
    outputs = network(theta, sized.batch(sized.structure.probabilities(), network.propagation))
    (gradient,) = torch.autograd.grad(outputs.square().sum(), [sized.x])
    assert sized.node_mask is not None
    assert float(gradient[~sized.node_mask].abs().sum()) == 0
    assert float(gradient[sized.node_mask].abs().sum()) > 0


def test_a_graph_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(InputError, match="does not fit into nodes=3: raise nodes to"):
        pad_graphs(random_store(8), 3)


def test_directed_graphs_stay_directed() -> None:
    padded, _ = by_class(directed=True)
    result = padded.result()
    assert result.directed and result.has_one_way_edges()
