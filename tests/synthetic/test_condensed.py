from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from graphcondense.graphs import GraphStore
from graphcondense.synthetic import CondensedDataset, density, json_safe, summary
from tests.made_up import random_store


def path_and_point(directed: bool = False) -> GraphStore:
    """A path of 3 nodes of class 1 (2 edges) and a single node of class 0."""
    edges = [[0, 1], [1, 2]] if directed else [[0, 1, 1, 2], [1, 0, 2, 1]]
    graphs = [
        Data(x=torch.ones(3, 2), edge_index=torch.tensor(edges), y=1),
        Data(x=torch.zeros(1, 2), edge_index=torch.zeros(2, 0, dtype=torch.long), y=0),
    ]
    return GraphStore.from_data_list(graphs)


def test_the_graphs_go_through_pygs_loader() -> None:
    graphs = random_store(9)
    loader = DataLoader(CondensedDataset(graphs, 2).to_pyg(), batch_size=4)
    batches = list(loader)
    assert [batch.num_graphs for batch in batches] == [4, 4, 1]
    assert torch.equal(torch.cat([batch.x for batch in batches]), graphs.x)
    assert torch.equal(torch.cat([batch.y for batch in batches]), graphs.y)
    assert sum(batch.num_edges for batch in batches) == graphs.edge_index.shape[1]


def test_soft_labels_go_through_pygs_loader_as_rows() -> None:
    graphs = random_store(3)
    soft = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    condensed = CondensedDataset(GraphStore(**{**vars(graphs), "y": soft}), 2)
    (batch,) = DataLoader(condensed.to_pyg(), batch_size=3)
    assert torch.equal(batch.y, soft)
    assert condensed.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("directed", [False, True])
def test_num_bytes_is_the_size_of_the_file(tmp_path: Path, directed: bool) -> None:
    condensed = CondensedDataset(random_store(6, directed=directed), 2, info={"dataset": "ünï", "n": list(range(50))})
    assert condensed.num_bytes == condensed.save(tmp_path / "a.safetensors").stat().st_size


def test_summary_by_hand() -> None:
    condensed = CondensedDataset(path_and_point(), 3)
    facts = summary(condensed)
    assert facts.pop("bytes") == condensed.num_bytes
    assert facts == {
        "graphs": 2,
        "graphs_per_class": [1, 1, 0],
        "nodes": 4,
        "edges": 2,
        "features": 2,
        "labels": "classes",
        "directed": False,
        "density": 0.4,  # 4 entries of 9 + 1
    }
    directed = summary(CondensedDataset(path_and_point(directed=True), 2))
    assert (directed["edges"], directed["directed"], directed["density"]) == (2, True, 0.2)


def test_density_of_graphs_without_edges_and_of_complete_ones() -> None:
    lonely = Data(x=torch.ones(4, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), y=0)
    assert density(GraphStore.from_data_list([lonely])) == 0
    full = (1 - torch.eye(4)).nonzero().T
    assert density(GraphStore.from_data_list([Data(x=torch.ones(4, 1), edge_index=full, y=0)])) == 12 / 16


def test_repr_says_what_it_is() -> None:
    condensed = CondensedDataset(path_and_point(), 2, info={"dataset": "MUTAG"})
    assert repr(condensed) == f"CondensedDataset(MUTAG, 2 graphs, 4 nodes, 2 edges, {condensed.num_bytes:,} bytes)"
    assert repr(CondensedDataset(path_and_point(), 2)).startswith("CondensedDataset(?, 2 graphs")
    assert len(condensed) == 2


def test_history_is_not_in_the_file(tmp_path: Path) -> None:
    condensed = CondensedDataset(path_and_point(), 2, history=[{"loss": 1.0}])
    path = condensed.save(tmp_path / "a.safetensors")
    assert b"loss" not in path.read_bytes()
    assert CondensedDataset.load(path).history == []


def test_json_safe_gives_what_a_file_would_give_back() -> None:
    assert json_safe({"a": (1, 2), "b": None, "c": {"d": (0.5,)}}) == {"a": [1, 2], "b": None, "c": {"d": [0.5]}}
