"""Own data by its path: every usual form, what is said about it, and hostile files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data, InMemoryDataset

from graphcondense.datasets import has_one_graph, load
from graphcondense.datasets.paths import load_path
from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, MissingDataError
from graphcondense.tasks import GraphTask, NodeTask
from tests.datasets.conftest import tiny_tu
from tests.datasets.test_xmlgraphs import EDITS, mutated
from tests.made_up import node_data

WriteTU = Callable[..., Path]
SMILES = "smiles,active\n" + "".join(
    f"{'C' * (i + 1)}{'O' if i % 2 else 'N'},{'yes' if i % 2 else 'no'}\n" for i in range(20)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty rings (GraphML) and stars (GEXF) with a table of their classes."""
    place = tmp_path / "shapes"
    place.mkdir()
    rows = ["file,label"]
    for number in range(30):
        ring = number % 2 == 0
        graph = nx.cycle_graph(4 + number % 3) if ring else nx.star_graph(4 + number % 3)
        nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "kind")
        nx.set_edge_attributes(graph, 2.0, "weight")
        name = f"g{number}.graphml" if ring else f"g{number}.gexf"
        (nx.write_graphml if ring else nx.write_gexf)(graph, place / name)
        rows.append(f"{name if number else 'g0'},{'ring' if ring else 'star'}")
    (place / "labels.csv").write_text("\n".join(rows))
    return place


def test_a_folder_of_graph_files_is_read(folder: Path) -> None:
    task = load(folder)
    assert isinstance(task, GraphTask)
    assert task.name == "shapes" and task.class_names == ("ring", "star") and task.source == str(folder)
    assert len(task.graphs) == 30 and not task.graphs.directed
    assert task.feature_names == ("kind=a", "kind=b")
    assert task.graphs[0].edge_index.shape == (2, 8) and task.graphs[0].x.tolist() == [[1, 0], [0, 1]] * 2
    assert "attributes of edges are not used: weight" in task.notes
    assert any("validation and test set taken from train by class, seed 0" in note for note in task.notes)
    again = load(task.source)
    assert torch.equal(again.graphs.x, task.graphs.x) and torch.equal(again.split.test, task.split.test)


def test_rows_may_not_lead_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    nx.write_graphml(nx.path_graph(3), tmp_path / "secret.graphml")
    (folder / "link.graphml").symlink_to(tmp_path / "secret.graphml")
    for name in ("../secret.graphml", str(tmp_path / "secret.graphml"), "../secret", "link", "../../etc/passwd"):
        (folder / "labels.csv").write_text(f"file,label\n{name},1\ng2.graphml,0\n")
        with pytest.raises(InputError, match=r"labels\.csv, line 2: file .* is outside of .*shapes: put it there"):
            load(folder)


def test_what_a_folder_lacks_is_said(folder: Path) -> None:
    (folder / "labels.csv").write_text("file,label\nabsent,1\n")
    with pytest.raises(
        MissingDataError, match=r"line 2: file 'absent' is not in .*shapes: put it there, or take the row"
    ):
        load(folder)
    (folder / "labels.csv").write_text("file,label\n" + "".join(f"g{i},{i % 4 // 2}\n" for i in range(20)))
    assert "10 files not in labels.csv: left out" in load(folder).notes
    (folder / "labels.csv").unlink()
    with pytest.raises(MissingDataError, match=r"has graphs and no CSV file: put a labels\.csv there with the columns"):
        load(folder)


def test_a_table_of_smiles_is_read(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra mol")
    file = tmp_path / "drugs.csv"
    file.write_text(SMILES)
    task = load(f"{file}::label=active")
    assert isinstance(task, GraphTask)
    assert task.name == "drugs" and task.class_names == ("no", "yes") and task.feature_names == ("C", "N", "O")
    assert task.graphs[1].x.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert task.graphs[1].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert "features: the element of each atom, one-hot; kinds of bonds are not used" in task.notes
    assert task.source == f"{file}::label=active"
    assert torch.equal(load(task.source).graphs.x, task.graphs.x)
    assert torch.equal(load(file, label="active").split.test, task.split.test)
    with pytest.raises(
        InputError, match=r"none called label or class or y or target: name that of the label, drugs\.csv::"
    ):
        load(file)
    file.write_text(SMILES + "C1CC,no\n")
    with pytest.raises(InputError, match=r"drugs\.csv, line 22, has 'C1CC', no SMILES that RDKit can read: mend it or"):
        load(file, label="active")
    file.write_text(SMILES + "C" * 9_000 + ",no\n")
    with pytest.raises(InputError, match=r"line 22, has a SMILES of 9,000 characters, at most 5,000 are read"):
        load(file, label="active")


@pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
def test_one_file_is_a_node_task(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"club{suffix}"
    (nx.write_graphml if suffix == ".graphml" else nx.write_gexf)(nx.karate_club_graph(), file)
    task = load(f"{file}::label=club")
    assert isinstance(task, NodeTask) and task.class_names == ("Mr. Hi", "Officer") and task.source.endswith("=club")
    assert has_one_graph(str(file)) and has_one_graph("cora") and not has_one_graph("MUTAG")


def test_graphs_in_python_need_no_other_door(tmp_path: Path) -> None:
    graphs = [
        Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([i % 2])) for i in range(30)
    ]

    class Own(InMemoryDataset):
        def __init__(self, graphs: list[Data]) -> None:
            super().__init__()
            self.data, self.slices = self.collate(graphs)

    assert len(load(Own(graphs)).graphs) == len(load(graphs).graphs) == 30
    for one in (node_data(), Own([node_data()]), nx.karate_club_graph()):
        task = load(one, label="club") if isinstance(one, nx.Graph) else load(one)
        assert isinstance(task, NodeTask)


def test_pickles_and_other_files_are_never_read(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (str(tmp_path / "executed"),))

    for name in ("own.pt", "own.pkl", "own.gpickle"):
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
        with pytest.raises(
            InputError, match=r"is a pickle, which can run any code, and is never read: load it in Python"
        ):
            load(tmp_path / name)
    (tmp_path / "own.xlsx").write_bytes(b"")
    with pytest.raises(FileFormatError, match="is of no form that is read here: give a folder in TU format"):
        load(tmp_path / "own.xlsx")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("MUTAG::label=x", "label='x' does not apply to MUTAG: leave it out"),
        ("{tu}::label=x", "label='x' does not apply to .*tiny: leave it out"),
        ("own.csv::lable=x", r"unknown option in 'own\.csv::lable=x', 'lable': did you mean 'label'\?"),
        ("own.csv::label", "'label' in 'own.csv::label' is not NAME=VALUE"),
        ("./absent", "there is no folder or file .*absent: name a known dataset, a folder in TU format"),
        ("a\0b", "has a NUL character"),
    ],
)
def test_wrong_paths_and_options_get_one_line(write_tu: WriteTU, source: str, message: str) -> None:
    with pytest.raises(GraphcondenseError, match=message):
        load(source.replace("{tu}", str(write_tu())))


def test_quantities_are_no_classes(write_tu: WriteTU) -> None:
    with pytest.raises(
        InputError, match="30 graphs have 30 different labels: that is a quantity or a name, not a class"
    ):
        load(write_tu(graph_labels="".join(f"{i}\n" for i in range(30))))
    with pytest.raises(FileFormatError, match=r"neither several \(multi-label\) nor quantities \(regression\)"):
        load(write_tu(graph_labels="0.5\n" * 30))
    folder = write_tu(graph_attributes="0.5\n" * 30)
    (folder / "TINY_graph_labels.txt").unlink()
    with pytest.raises(InputError, match=r"has TINY_graph_attributes\.txt, but no .*: regression is not supported"):
        load(folder)


def test_a_stray_node_label_asks_for_no_memory(write_tu: WriteTU) -> None:
    labels = ["2"] * 73 + ["9000000000000000000", "-9000000000000000000"]
    task = load(write_tu(node_labels="\n".join(labels) + "\n"))
    assert task.num_features == 3


def one_line_or_task(path: Path) -> None:
    try:
        task = load_path(path, {}, 0, lambda folder: False)
    except GraphcondenseError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert torch.isfinite((task.graphs if isinstance(task, GraphTask) else task.graph).x).all()


ANY = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY
@given(part=st.sampled_from(sorted(tiny_tu())), edits=EDITS, digits=st.text(alphabet="0123456789-.,e\n ", max_size=30))
def test_any_tu_folder_is_a_task_or_one_line(
    write_tu: WriteTU, part: str, edits: list[tuple[int, bytes, int]], digits: str
) -> None:
    folder = write_tu()
    edits.append((edits[0][0] // 2, digits.encode(), 3))
    (folder / f"TINY_{part}.txt").write_bytes(mutated(str(tiny_tu()[part]).encode(), edits))
    one_line_or_task(folder)


@ANY
@given(table=st.booleans(), edits=EDITS)
def test_any_folder_of_graph_files_is_a_task_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, table: bool, edits: list[tuple[int, bytes, int]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1.5, 1: 2.5, 2: 3.5}, "mass")
    content = "\n".join(nx.generate_graphml(graph)).encode()
    for number in range(8):
        (folder / f"g{number}.graphml").write_bytes(mutated(content, edits) if not table and number == 3 else content)
    rows = ("file,label\n" + "".join(f"g{i},{i % 2}\n" for i in range(8))).encode()
    (folder / "labels.csv").write_bytes(mutated(rows, edits) if table else rows)
    one_line_or_task(folder)


@ANY
@given(edits=EDITS, smiles=st.text(alphabet="CNO()=#123[]+-@/\\.cn%*&", max_size=20))
def test_any_table_of_smiles_is_a_task_or_one_line(
    tmp_path: Path, edits: list[tuple[int, bytes, int]], smiles: str
) -> None:
    pytest.importorskip("rdkit", reason="needs the extra mol")
    file = tmp_path / "own.csv"
    file.write_bytes(mutated(SMILES.replace("active", "label").encode(), edits) + f'"{smiles}",yes\n'.encode())
    one_line_or_task(file)
