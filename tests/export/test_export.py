from __future__ import annotations

import csv
import importlib.util
import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_networkx

from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, MissingDataError, WouldOverwriteError
from graphcondense.export import FORMATS, export, import_graphs, to_dgl, to_networkx
from graphcondense.graphs import GraphStore
from graphcondense.synthetic import Categories, CondensedDataset, CondensedGraph, CondensedInMemory
from tests.made_up import random_nodes, random_store

HAS_DGL = importlib.util.find_spec("dgl") is not None
READ_BACK = [name for name in FORMATS if name != "dgl"]
ENDINGS = {"pyg": "out.pt", "networkx": "out.json", "graphml": "out", "csv": "out", "dgl": "out.bin"}


def graphs(directed: bool = False, soft: bool = False) -> CondensedDataset:
    store = random_store(7, seed=3, directed=directed)
    values = {**vars(store), "x": store.x + torch.randn(store.x.shape, generator=torch.Generator().manual_seed(1))}
    if soft:
        values["y"] = torch.rand(7, 2, generator=torch.Generator().manual_seed(2))
    return CondensedDataset(GraphStore(**values), 2, "accuracy", {"dataset": "toy", "classes": ["ä", "b"]})


def nodes(weighted: bool) -> CondensedGraph:
    store = random_nodes(12, density=0.3)
    adjacency = torch.zeros(12, 12)
    adjacency[store.edge_index[1], store.edge_index[0]] = 1
    half = torch.rand(12, 12, generator=torch.Generator().manual_seed(4)).triu(1) + 0.1
    made = CondensedGraph.from_adjacency(adjacency * (half + half.T), store.x.float(), store.y, 3, weighted)
    return CondensedGraph(**{**vars(made), "info": {"dataset": "toy nodes"}})


def snapped() -> CondensedDataset:
    categories = Categories(3, True, ((0, 1, 2),))
    made = graphs()
    return replace(made, graphs=replace(made.graphs, x=categories.snap(made.graphs.x)), categories=categories)


CASES = {
    "snapped": snapped,
    "plain": lambda: graphs(),
    "directed": lambda: graphs(directed=True),
    "soft": lambda: graphs(soft=True),
    "nodes": lambda: nodes(weighted=False),
    "weighted nodes": lambda: nodes(weighted=True),
}


@pytest.mark.parametrize("form", READ_BACK)
@pytest.mark.parametrize("case", CASES)
def test_what_is_exported_comes_back_bit_for_bit(form: str, case: str, tmp_path: Path) -> None:
    condensed = CASES[case]()
    path = tmp_path / ENDINGS[form]
    files = export(condensed, path, form)
    assert all(file.is_file() for file in files)
    back = import_graphs(path)
    first, second = (one.save(tmp_path / f"{i}.safetensors") for i, one in enumerate((condensed, back)))
    assert first.read_bytes() == second.read_bytes()


def test_one_graph_alone_comes_back(tmp_path: Path) -> None:
    alone = CondensedDataset(graphs().graphs.subset(torch.tensor([2])), 2)
    for form in READ_BACK:
        (tmp_path / form).mkdir()
        export(alone, tmp_path / form / ENDINGS[form], form)
        assert torch.equal(import_graphs(tmp_path / form / ENDINGS[form]).graphs.x, alone.graphs.x)  # type: ignore[union-attr]


# --- PyG -------------------------------------------------------------------------------------------------------------


def test_pytorch_reads_the_tensors_without_running_anything(tmp_path: Path) -> None:
    condensed = graphs()
    export(condensed, tmp_path / "a.pt")
    stored = torch.load(tmp_path / "a.pt", weights_only=True)
    data = Data.from_dict(stored["data"])
    assert torch.equal(data.x, condensed.graphs.x) and torch.equal(data.y, condensed.graphs.y)
    assert torch.equal(stored["slices"]["x"], condensed.graphs.node_ptr)


def test_the_dataset_is_one_of_pygs(tmp_path: Path) -> None:
    condensed = graphs()
    dataset = condensed.to_pyg_dataset()
    assert isinstance(dataset, InMemoryDataset) and isinstance(dataset, CondensedInMemory)
    assert (len(dataset), dataset.num_classes, dataset.num_features) == (7, 2, 3)
    for mine, theirs in zip(condensed.to_pyg(), dataset, strict=True):
        assert all(torch.equal(mine[key], theirs[key]) for key in ("x", "edge_index", "y"))
    assert torch.equal(next(iter(DataLoader(dataset, batch_size=7))).x, condensed.graphs.x)
    assert [int(graph.y) for graph in dataset[torch.tensor([1, 3])]] == condensed.labels[[1, 3]].tolist()
    doubled = condensed.to_pyg_dataset(transform=lambda graph: graph.update({"x": graph.x * 2}))
    assert torch.equal(doubled[0].x, 2 * dataset[0].x)
    assert repr(dataset) == "CondensedInMemory(toy, 7)"


def test_a_node_task_is_a_dataset_of_one() -> None:
    condensed = nodes(weighted=True)
    (only,) = condensed.to_pyg_dataset()
    assert torch.equal(only.edge_weight, condensed.weights) and bool(only.train_mask.all())
    assert condensed.to_pyg_dataset().num_classes == 3


# --- NetworkX --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_and_pyg_agree_about_the_graphs(directed: bool) -> None:
    condensed = graphs(directed)
    for graph, network in zip(condensed.to_pyg(), to_networkx(condensed), strict=True):
        assert network.is_directed() == directed
        assert network.number_of_edges() == graph.num_edges // (1 if directed else 2)
        assert network.graph["y"] == int(graph.y)
        back = from_networkx(network)
        assert torch.equal(back.x, graph.x)
        assert {tuple(e) for e in back.edge_index.T.tolist()} == {tuple(e) for e in graph.edge_index.T.tolist()}


def test_networkx_itself_reads_the_files(tmp_path: Path) -> None:
    condensed = nodes(weighted=True)
    export(condensed, tmp_path / "a.json", "networkx")
    (stored,) = json.loads((tmp_path / "a.json").read_text())["graphs"]
    linked = nx.node_link_graph(stored, edges="edges")
    export(condensed, tmp_path / "ml", "graphml")
    read = nx.read_graphml(tmp_path / "ml" / "graph-000.graphml", node_type=int)
    for network in (linked, read):
        assert network.number_of_nodes() == 12 and network.number_of_edges() == condensed.graph.edge_index.shape[1] // 2
        assert [network.nodes[i]["y"] for i in range(12)] == condensed.labels.tolist()
        a, b = condensed.graph.edge_index[:, 0].tolist()
        assert network.edges[a, b]["weight"] == pytest.approx(float(condensed.weights[0]))  # type: ignore[index]
    assert read.nodes[3]["x2"] == pytest.approx(float(condensed.graph.x[3, 2]))


def test_labels_stand_beside_the_graphml_files_and_old_ones_go(tmp_path: Path) -> None:
    export(graphs(), tmp_path / "ml", "graphml")
    few = CondensedDataset(graphs().graphs.subset(torch.tensor([1, 2])), 2)
    with pytest.raises(WouldOverwriteError, match="--force"):
        export(few, tmp_path / "ml", "graphml")
    export(few, tmp_path / "ml", "graphml", force=True)
    with (tmp_path / "ml" / "labels.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["label"]) for row in rows] == few.labels.tolist()
    assert {path.name for path in (tmp_path / "ml").glob("*.graphml")} == {row["file"] for row in rows}


# --- tables ----------------------------------------------------------------------------------------------------------


def test_the_tables_say_what_the_graphs_are(tmp_path: Path) -> None:
    condensed = graphs()
    export(condensed, tmp_path / "t", "csv")
    tables = {}
    for name in ("graphs", "nodes", "edges"):
        with (tmp_path / "t" / f"{name}.csv").open(newline="") as stream:
            tables[name] = list(csv.DictReader(stream))
    assert [int(row["label"]) for row in tables["graphs"]] == condensed.labels.tolist()
    assert [int(row["edges"]) for row in tables["graphs"]] == condensed.graphs.num_edges.tolist()
    assert len(tables["nodes"]) == len(condensed.graphs.x)
    assert all(int(row["source"]) < int(row["target"]) for row in tables["edges"])


# --- DGL -------------------------------------------------------------------------------------------------------------


def test_without_dgl_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dgl", None)  # so that it cannot be imported
    with pytest.raises(MissingDataError, match=r"DGL is not installed .*graphcondense\[dgl\]"):
        export(graphs(), tmp_path / "a.bin", "dgl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not HAS_DGL, reason="needs DGL: pip install 'graphcondense[dgl]'")
@pytest.mark.parametrize("case", CASES)
def test_dgl_reads_what_is_written(case: str, tmp_path: Path) -> None:
    import dgl

    condensed: Any = CASES[case]()
    export(condensed, tmp_path / "a.bin", "dgl")
    read, labels = dgl.load_graphs(str(tmp_path / "a.bin"))
    made, expected = to_dgl(condensed)
    assert torch.equal(labels["label"], expected) and len(read) == len(made)
    data = condensed.to_pyg()
    for graph, mine in zip(read, data if isinstance(data, list) else [data], strict=True):
        assert torch.equal(graph.ndata["feat"], mine.x)
        assert torch.equal(torch.stack(graph.edges()), mine.edge_index)
        if "edge_weight" in mine:
            assert torch.equal(graph.edata["weight"], mine.edge_weight)


# --- what can go wrong -----------------------------------------------------------------------------------------------


def test_wrong_words_and_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown format 'graphmll': did you mean 'graphml'"):
        export(graphs(), tmp_path / "a", "graphmll")
    with pytest.raises(GraphcondenseError, match=r"must end in \.pt"):
        export(graphs(), tmp_path / "a.bin")
    (tmp_path / "a.pt").write_text("mine")
    with pytest.raises(WouldOverwriteError, match="--force"):
        export(graphs(), tmp_path / "a.pt")
    assert (tmp_path / "a.pt").read_text() == "mine"
    with pytest.raises(MissingDataError, match="is not there"):
        import_graphs(tmp_path / "nowhere.pt")
    with pytest.raises(InputError, match="none of"):
        import_graphs(Path(__file__))
    with pytest.raises(InputError, match="must be a condensed dataset"):
        export([], tmp_path / "b.pt")  # type: ignore[arg-type]


def test_damaged_exports_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(pickle.dumps({"data": Path}))
    (tmp_path / "b.json").write_text('{"graphs": []}')
    export(graphs(), tmp_path / "c", "csv")
    lines = (tmp_path / "c" / "edges.csv").read_text().splitlines()
    (tmp_path / "c" / "edges.csv").write_text("\n".join([*lines[:-1], "6,0,99"]))
    export(graphs(), tmp_path / "d", "csv")
    facts = json.loads((tmp_path / "d" / "facts.json").read_text())
    (tmp_path / "d" / "facts.json").write_text(json.dumps(facts | {"num_classes": 1}))
    for name in ("a.pt", "b.json", "c", "d"):
        with pytest.raises(FileFormatError) as caught:
            import_graphs(tmp_path / name)
        assert name in str(caught.value) and "\n" not in str(caught.value)
