"""One graph from a GraphML or GEXF file, by NetworkX, after a look that nothing hostile gets past.

The file is parsed once before NetworkX sees it, by the very parser that NetworkX's reader uses, only to look at it: a
document type (which is where entity bombs and references to other files are declared) and deep nesting are refused.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import networkx as nx

from graphcondense.errors import FileFormatError, InputError, MissingDataError
from graphcondense.files import check_xml
from graphcondense.machine import physical_memory

SUFFIXES = (".graphml", ".gexf")
_MEMORY_A_BYTE = 40  # of the file, while it is read: 22 to 30 measured on files of 20,000 nodes and 60,000 edges


def read_network(path: Path) -> Any:
    """The graph of a ``.graphml`` or ``.gexf`` file as a NetworkX graph."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} is neither {' nor '.join(SUFFIXES)}: convert it, or read it in Python")
    content = _read(path)
    try:
        check_xml(content)
    except ValueError as error:
        raise FileFormatError(f"{path} {error}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on parts of the format that are not read, as colours
            if path.suffix.lower() == ".gexf":
                graph = _without_names(nx.read_gexf(io.BytesIO(content)))
            else:
                graph = nx.read_graphml(io.BytesIO(content))
    except Exception as error:  # the readers trust the file: anything from KeyError to TypeError means it is wrong
        raise FileFormatError(
            f"{path} is not {path.suffix[1:].lower()} that NetworkX can read ({_one_line(error)}): write it anew"
        ) from None
    return graph


def _without_names(graph: Any) -> Any:
    """GEXF gives every node a label, which is its name where nobody chose another: that is no attribute."""
    if all(str(own.get("label")) == str(node) for node, own in graph.nodes(data=True)):
        for _, own in graph.nodes(data=True):
            own.pop("label", None)
    return graph


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise MissingDataError(f"{path} is not there or not a file: name the file that has the graph")
    try:
        needed, available = _MEMORY_A_BYTE * path.stat().st_size, physical_memory()
        if needed > available:
            raise InputError(
                f"{path} takes about {needed / 1e9:.0f} GB of memory to read, this machine has {available / 1e9:.0f}: "
                "give the graph as PyG tensors in Python"
            )
        return path.read_bytes()
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read ({error.strerror}): check its permissions") from None


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:100]
