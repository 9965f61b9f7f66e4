from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphcondense.datasets import xmlgraphs
from graphcondense.datasets.xmlgraphs import read_network
from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, MissingDataError

HEAD = '<?xml version="1.0"?>\n'
BOMB = (
    HEAD
    + '<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>\n'
    "<graphml>&c;</graphml>"
)
OUTSIDE = HEAD + '<!DOCTYPE x [<!ENTITY own SYSTEM "file:///etc/passwd">]>\n<graphml>&own;</graphml>'


def club() -> nx.Graph:
    graph = nx.karate_club_graph()
    for _, own in graph.nodes(data=True):
        own["age"] = 3.5
    return graph


@pytest.fixture(params=[".graphml", ".gexf"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"club{request.param}"
    (nx.write_graphml if request.param == ".graphml" else nx.write_gexf)(club(), path)
    return path


def test_what_networkx_wrote_is_read(written: Path) -> None:
    graph = read_network(written)
    assert len(graph) == 34 and graph.number_of_edges() == 78 and not graph.is_directed()
    assert {own["club"] for _, own in graph.nodes(data=True)} == {"Mr. Hi", "Officer"}
    assert {own["age"] for _, own in graph.nodes(data=True)} == {3.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, r"own\.graphml declares a document type or an entity \(DOCTYPE\), which is not safe: remove it"),
        (OUTSIDE, "declares a document type or an entity"),
        (HEAD + "<!DOCTYPE graphml><graphml/>", "declares a document type or an entity"),
        (BOMB.encode("utf-16"), "declares a document type or an entity"),
        ("<a>" * 100_000, "is nested more than 50 levels deep: write it anew"),
        ("<graphml><graph></graphml>", r"is not XML \(ExpatError: mismatched tag.*\): write it anew"),
        ("", "is not XML"),
        ("\0\1\2", "is not XML"),
        ("<graphml/>", "is not graphml that NetworkX can read"),
        (HEAD.replace("1.0", '1.0" encoding="no-such') + "<graphml/>", "is not XML"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_hostile_and_broken_files_get_one_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "own.graphml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError, match=message) as caught:
        read_network(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_or_too_large_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingDataError, match=r"absent\.gexf is not there or not a file"):
        read_network(tmp_path / "absent.gexf")
    path = tmp_path / "large.graphml"
    path.write_text("<graphml/>" * 100)
    monkeypatch.setattr(xmlgraphs, "physical_memory", lambda: 1_000)
    with pytest.raises(InputError, match=r"large\.graphml takes about .* GB of memory to read, this machine has 0"):
        read_network(path)


def test_no_file_beside_the_named_one_is_opened(tmp_path: Path) -> None:
    (tmp_path / "own.graphml.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"own\.graphml\.gz is neither \.graphml nor \.gexf"):
        read_network(tmp_path / "own.graphml.gz")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("xml")


def mutated(content: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    """``content`` with some runs of bytes replaced by others."""
    for where, new, length in edits:
        start = where % (len(content) + 1)
        content = content[:start] + new + content[start + length :]
    return content


EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=8), st.integers(0, 30)), min_size=1, max_size=4)
SMALL = {
    ".graphml": "\n".join(nx.generate_graphml(nx.path_graph(4))).encode(),
    ".gexf": "\n".join(nx.generate_gexf(nx.path_graph(4))).encode(),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(suffix=st.sampled_from([".graphml", ".gexf"]), edits=EDITS, junk=st.none() | st.binary(max_size=200))
def test_any_file_is_a_graph_or_one_line(
    place: Path, suffix: str, edits: list[tuple[int, bytes, int]], junk: bytes | None
) -> None:
    path = place / f"any{suffix}"
    path.write_bytes(mutated(SMALL[suffix], edits) if junk is None else junk)
    try:
        graph = read_network(path)
    except GraphcondenseError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(graph, nx.Graph)
