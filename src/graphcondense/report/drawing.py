"""Condensed graphs drawn as one SVG picture: a row a class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from graphcondense.errors import InputError, WouldOverwriteError
from graphcondense.files import write_aside
from graphcondense.report.colours import PALETTE
from graphcondense.synthetic import CondensedDataset, CondensedGraph

TILE = 110.0
_MARGIN, _LABEL = 12.0, 34.0
_MOST_EXACT = 60  # nodes; the exact layout of more takes too long


def draw_svg(
    condensed: CondensedDataset | CondensedGraph, path: Path, *, per_class: int = 6, force: bool = False
) -> Path:
    """Draw up to ``per_class`` graphs of each class; of a node task the one graph, its nodes coloured by class.

    Where the dataset says which features are a node's position (digits, superpixels), nodes stand there and the first
    feature shades them; elsewhere a spring layout places them and the strongest feature colours them.

    Args:
        condensed: the graphs.
        path: the SVG file to write.
        per_class: graphs of each class to draw.
        force: whether an existing file may be replaced.
    """
    if path.suffix != ".svg":
        raise InputError(f"picture={str(path)!r} must end in .svg: it is drawn as SVG")
    if path.exists() and not force:
        raise WouldOverwriteError(f"{path} exists: choose another name, or overwrite it with --force")
    if isinstance(condensed, CondensedGraph):
        return write_aside(path, _one_graph(condensed).encode())
    position = condensed.info.get("position_features")
    rows = []
    columns = 0
    for label in range(condensed.num_classes):
        chosen = (condensed.labels == label).nonzero().flatten().tolist()[:per_class]
        columns = max(columns, len(chosen))
        names = condensed.info.get("classes") or []
        name = names[label] if label < len(names) else str(label)
        tiles = [_tile(condensed.graphs[index], position, column) for column, index in enumerate(chosen)]
        rows.append(f'<g transform="translate(0 {label * TILE:.0f})">{_caption(str(name))}{"".join(tiles)}</g>')
    width, height = _LABEL + columns * TILE, condensed.num_classes * TILE
    title = f"{len(condensed)} condensed graphs of {condensed.info.get('dataset', 'a dataset')}, a row a class"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(rows)}</svg>\n'
    )
    return write_aside(path, svg.encode())


def _one_graph(condensed: CondensedGraph) -> str:
    graph, side = condensed.to_pyg(), 5 * TILE
    places = node_places(graph, graph.x.numpy(), None, side)
    colours = [PALETTE[label % len(PALETTE)] for label in condensed.labels.tolist()]
    names = condensed.info.get("classes") or [str(label) for label in range(condensed.num_classes)]
    legend = "".join(
        f'<circle cx="{side + 14:.0f}" cy="{20 + 18 * label}" r="5" fill="{PALETTE[label % len(PALETTE)]}"/>'
        f'<text x="{side + 26:.0f}" y="{24 + 18 * label}" font-family="sans-serif" font-size="12">'
        f"{escape(str(name))}</text>"
        for label, name in enumerate(names)
    )
    title = f"{len(condensed)} condensed nodes of {condensed.info.get('dataset', 'a dataset')}, coloured by class"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 180:.0f} {side:.0f}" width="{side + 180:.0f}" '
        f'height="{side:.0f}" role="img"><title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/>'
        f"{drawn(graph, places, colours)}{legend}</svg>\n"
    )


def _caption(text: str) -> str:
    return (
        f'<text x="{_LABEL / 2:.0f}" y="{TILE / 2:.0f}" text-anchor="middle" dominant-baseline="central" '
        f'font-family="sans-serif" font-size="15" fill="#444">{escape(text)}</text>'
    )


def _tile(graph: Data, position: list[int] | None, column: int) -> str:
    x = graph.x.numpy()
    places = node_places(graph, x, position)
    colours = node_colours(x, shaded=position is not None)
    picture = drawn(graph, places, colours)
    return f'<g transform="translate({_LABEL + column * TILE:.0f} 0)">{picture}</g>'


def drawn(
    graph: Data, places: NDArray[np.float64], colours: Sequence[str], names: Sequence[str] = (), radius: float = 4
) -> str:
    """Edges, and nodes above them, with their names in them where there are any, as a piece of SVG.

    Args:
        graph: the graph.
        places: where its nodes stand, ``n x 2``.
        colours: of the nodes.
        names: of the nodes; an empty one is not written.
        radius: of a node; one with a name is larger.
    """
    one_way = not graph.is_undirected()
    edges = "".join(
        f"M{places[a, 0]:.0f} {places[a, 1]:.0f}L{places[b, 0]:.0f} {places[b, 1]:.0f}"
        for a, b in graph.edge_index.t().tolist()
        if a < b or one_way
    )
    dots, words = [], []
    for place, ((px, py), colour) in enumerate(zip(places, colours, strict=True)):
        name = names[place] if names else ""
        dots.append(f'<circle cx="{px:.0f}" cy="{py:.0f}" r="{radius + 1.5 if name else radius:g}" fill="{colour}"/>')
        if name:
            words.append(f'<text x="{px:.0f}" y="{py + 2.5:.1f}">{escape(name)}</text>')
    text = f'<g class="names">{"".join(words)}</g>' if words else ""
    return (
        f'<path d="{edges}" stroke="#b5b5b5" fill="none"/><g stroke="#333" stroke-width="0.6">{"".join(dots)}</g>{text}'
    )


def node_places(
    graph: Data, x: NDArray[np.float32], position: list[int] | None, side: float = TILE
) -> NDArray[np.float64]:
    """Where each node stands within a square of ``side``, ``n x 2``: by its features, or by who its neighbours are."""
    if position is not None:
        row, column = position
        places = np.stack([x[:, column], x[:, row]], axis=1).astype(np.float64).clip(0, 1)
    else:
        places = _laid_out(graph, len(x))
        # The same scale for both directions, so that rings stay round; the narrow one is centred.
        spread = np.ptp(places, axis=0)
        scale = max(float(spread.max()), 1e-9)
        places = (places - places.min(axis=0) + (scale - spread) / 2) / scale
    return _MARGIN + places * (side - 2 * _MARGIN)


def _laid_out(graph: Data, nodes: int) -> NDArray[np.float64]:
    """Kamada and Kawai's layout where it is fast enough, else springs; parts that hang apart stand side by side."""
    network = nx.Graph()
    network.add_nodes_from(range(nodes))
    network.add_edges_from(graph.edge_index.t().tolist())
    if 1 < nodes <= _MOST_EXACT and network.number_of_edges():
        steps = shortest_path(nx.to_scipy_sparse_array(network), unweighted=True)
        steps[np.isinf(steps)] = steps[np.isfinite(steps)].max() + 1
        laid = nx.kamada_kawai_layout(network, dist=dict(enumerate(dict(enumerate(row)) for row in steps.tolist())))
    else:
        laid = nx.spring_layout(network, seed=0)
    return np.array([laid[node] for node in range(nodes)])


def node_colours(x: NDArray[np.float32], shaded: bool) -> list[str]:
    """Shades of grey by the first feature, or a colour for the strongest feature."""
    if not shaded:
        return [PALETTE[int(kind) % len(PALETTE)] for kind in x.argmax(axis=1)]
    shades = (235 - 215 * x[:, 0].clip(0, 1)).astype(int)
    return [f"rgb({shade},{shade},{shade})" for shade in shades]
