from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from graphcondense.errors import GraphcondenseError, WouldOverwriteError
from graphcondense.graphs import GraphStore
from graphcondense.report.drawing import draw_svg
from graphcondense.synthetic import CondensedDataset
from tests.made_up import random_store

SVG = "{http://www.w3.org/2000/svg}"


def drawn(condensed: CondensedDataset, path: Path, **options: Any) -> ET.Element:
    return ET.parse(draw_svg(condensed, path, **options)).getroot()


def texts(root: ET.Element) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("directed", [False, True])
def test_every_node_is_a_circle_and_every_edge_a_line(tmp_path: Path, directed: bool) -> None:
    graphs = random_store(10, directed=directed)
    root = drawn(CondensedDataset(graphs, 2), tmp_path / "a.svg")
    assert root.tag == f"{SVG}svg"
    assert len(list(root.iter(f"{SVG}circle"))) == int(graphs.num_nodes.sum())
    strokes = "".join(path.get("d", "") for path in root.iter(f"{SVG}path"))
    assert strokes.count("L") == int(graphs.num_edges.sum())
    assert texts(root) == ["0", "1"]


def test_no_more_than_so_many_graphs_of_a_class_are_drawn(tmp_path: Path) -> None:
    graphs = random_store(10)
    root = drawn(CondensedDataset(graphs, 2), tmp_path / "a.svg", per_class=2)
    shown = graphs.subset(torch.tensor([0, 2, 1, 3]))
    assert len(list(root.iter(f"{SVG}circle"))) == int(shown.num_nodes.sum())


def test_everything_is_within_the_picture(tmp_path: Path) -> None:
    root = drawn(CondensedDataset(random_store(6, classes=3), 3), tmp_path / "a.svg")
    tile = 110.0
    assert float(root.attrib["height"]) == 3 * tile
    for circle in root.iter(f"{SVG}circle"):
        assert 0 < float(circle.attrib["cx"]) < tile and 0 < float(circle.attrib["cy"]) < tile


def test_a_class_without_a_graph_has_its_caption_only(tmp_path: Path) -> None:
    root = drawn(CondensedDataset(random_store(4), 3), tmp_path / "a.svg")
    assert texts(root) == ["0", "1", "2"]


def test_names_are_escaped(tmp_path: Path) -> None:
    info = {"dataset": "<script>alert('&')</script>", "classes": ["a<b", '"x" & y']}
    root = drawn(CondensedDataset(random_store(4), 2, info=info), tmp_path / "a.svg")
    assert texts(root) == ["a<b", '"x" & y']
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "4 condensed graphs of <script>alert('&')</script>, a row a class"
    assert not list(root.iter("script")) and not list(root.iter(f"{SVG}script"))


def test_nodes_stand_where_their_features_say(tmp_path: Path) -> None:
    # Feature 0 shades, feature 1 is the row, feature 2 the column; what lies outside is brought to the rim.
    x = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1.0], [9.0, -3.0, 7.0]])
    graph = Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]), y=0)
    condensed = CondensedDataset(GraphStore.from_data_list([graph]), 1, info={"position_features": [1, 2]})
    circles = list(drawn(condensed, tmp_path / "a.svg").iter(f"{SVG}circle"))
    places = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]
    assert places == [(12, 12), (12, 98), (98, 55), (98, 12)]
    shades = [int(c.attrib["fill"].removeprefix("rgb(").split(",")[0]) for c in circles]
    assert shades[0] == shades[3] < shades[2] < shades[1]


def test_nodes_of_a_kind_have_a_colour_of_their_own(tmp_path: Path) -> None:
    graph = Data(x=torch.eye(3)[[0, 1, 0, 2]], edge_index=torch.zeros(2, 0, dtype=torch.long), y=0)
    condensed = CondensedDataset(GraphStore.from_data_list([graph]), 1)
    colours = [c.attrib["fill"] for c in drawn(condensed, tmp_path / "a.svg").iter(f"{SVG}circle")]
    assert colours[0] == colours[2] and len(set(colours)) == 3


def test_the_same_graphs_give_the_same_picture(tmp_path: Path) -> None:
    condensed = CondensedDataset(random_store(4), 2)
    first, second = (draw_svg(condensed, tmp_path / name) for name in ("a.svg", "b.svg"))
    assert first.read_bytes() == second.read_bytes()


def test_a_picture_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("mine")
    condensed = CondensedDataset(random_store(2), 2)
    with pytest.raises(WouldOverwriteError, match=r"a\.svg exists.*--force"):
        draw_svg(condensed, path)
    assert path.read_text() == "mine"
    draw_svg(condensed, path, force=True)
    assert path.read_text().startswith("<svg")


def test_a_picture_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GraphcondenseError, match=r"^cannot write"):
        draw_svg(CondensedDataset(random_store(2), 2), tmp_path / "file" / "a.svg")
