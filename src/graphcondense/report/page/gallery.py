"""The condensed graphs as pictures, each beside the real training graph that is nearest to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.graphs import GraphStore
from graphcondense.report.colours import PALETTE
from graphcondense.report.drawing import TILE, drawn, node_colours, node_places
from graphcondense.report.page.atoms import atom_names, is_numbered
from graphcondense.synthetic import CondensedDataset, CondensedGraph

MOST_PIECES = 30_000
"""Nodes and edges that a page draws at most, so that it stays small; what is left out is said."""


@dataclass(frozen=True)
class Picture:
    """One graph, drawn."""

    svg: str
    facts: str


@dataclass(frozen=True)
class Tile:
    """A condensed graph, and the real one nearest to it where real graphs are at hand."""

    label: int
    made: Picture
    real: Picture | None


@dataclass(frozen=True)
class Group:
    """The tiles of one class: those that are shown at once, and more behind a word."""

    label: int
    first: list[Tile]
    more: list[Tile]


@dataclass(frozen=True)
class Gallery:
    """All tiles, class after class.

    Args:
        groups: the pictures by class.
        left_out: graphs that were not drawn.
        kinds: colour and name of the node kinds that are to be seen, the most frequent first.
        shaded: whether nodes stand where their features say, in shades of grey.
        pairs: whether each has a real graph beside it.
    """

    groups: list[Group]
    left_out: int
    kinds: list[tuple[str, str]]
    shaded: bool
    pairs: bool


def gallery(condensed: CondensedDataset, real: GraphStore | None, nearest: Tensor | None) -> Gallery:
    """Pictures of the graphs, as many of each class as find room.

    Args:
        condensed: the graphs.
        real: the training graphs, where they are at hand.
        nearest: for each condensed graph the place of the real one nearest to it.
    """
    pairs = real is not None and nearest is not None
    per_class = _room(condensed, 2 if pairs else 1)
    chosen = [
        (condensed.labels == label).nonzero().flatten().tolist()[:per_class] for label in range(condensed.num_classes)
    ]
    graphs = {index: condensed.graphs[index] for indices in chosen for index in indices}
    others = {}
    if real is not None and nearest is not None:
        others = {index: real[int(nearest[index])] for index in graphs}
    pen = _Pen(condensed.info, [*graphs.values(), *others.values()])
    at_once = 8 if condensed.num_classes <= 4 else 4
    groups = []
    for label, indices in enumerate(chosen):
        tiles = [
            Tile(label, pen.picture(graphs[index]), pen.picture(others[index]) if index in others else None)
            for index in indices
        ]
        groups.append(Group(label, tiles[:at_once], tiles[at_once:]))
    return Gallery(groups, len(condensed) - len(graphs), pen.kinds, pen.position is not None, pairs)


def _room(condensed: CondensedDataset, copies: int) -> int:
    graphs = condensed.graphs
    pieces = float((graphs.num_nodes + graphs.num_edges).double().mean()) * copies
    return max(1, int(MOST_PIECES / pieces / condensed.num_classes))


class _Pen:
    """Draws all graphs of a page alike: the most frequent kinds of nodes get a colour each, the others share one."""

    def __init__(self, info: dict[str, Any], graphs: Sequence[Data]) -> None:
        self.info, self.position = info, info.get("position_features")
        self.kinds: list[tuple[str, str]] = []
        self._colours: dict[int, str] = {}
        if self.position is not None:
            return
        names: dict[int, str] = {}
        seen = Counter[int]()
        for graph in graphs:
            x = graph.x.numpy()
            own = self._kinds(x)
            seen.update(own)
            names |= dict(zip(own, atom_names(info, x), strict=False))
        for place, (kind, _) in enumerate(seen.most_common(len(PALETTE) - 1)):
            self._colours[kind] = PALETTE[place]
            self.kinds.append((PALETTE[place], names.get(kind) or f"feature {kind}"))
        if len(seen) >= len(PALETTE):
            self.kinds.append((PALETTE[-1], f"{len(seen) - len(self.kinds)} others"))

    def _kinds(self, x: NDArray[np.float32]) -> list[int]:
        """The kind of each node: its strongest feature, or the atom where the first feature is its number."""
        if is_numbered(self.info):
            return [round(float(number)) for number in x[:, 0]]
        return [int(kind) for kind in x.argmax(axis=1)]

    def picture(self, graph: Data) -> Picture:
        x = graph.x.numpy()
        names = atom_names(self.info, x)
        if self.position is not None:
            colours = node_colours(x, shaded=True)
        else:
            colours = [self._colours.get(kind, PALETTE[-1]) for kind in self._kinds(x)]
        radius = 4 if self.position is not None else min(4.0, max(1.5, 14 / math.sqrt(len(x))))
        shown = ["" if name == "C" else name for name in names]
        picture = drawn(graph, node_places(graph, x, self.position), colours, shown, radius)
        facts = f"{graph.num_nodes} nodes, {graph.num_edges // (2 if graph.is_undirected() else 1)} edges"
        if names:
            facts += ": " + ", ".join(f"{count} {name}" for name, count in Counter(names).most_common())
        side = f"{TILE:.0f}"
        svg = f'<svg viewBox="0 0 {side} {side}" role="img" aria-label={quoteattr(facts)}>{picture}</svg>'
        return Picture(svg, facts)


def one_graph(condensed: CondensedGraph, names: Sequence[str]) -> Picture:
    """The graph of a node task, its nodes coloured by class."""
    graph, side = condensed.to_pyg(), 4 * TILE
    colours = [PALETTE[label % len(PALETTE)] for label in condensed.labels.tolist()]
    picture = drawn(graph, node_places(graph, graph.x.numpy(), None, side), colours, radius=6)
    counts = torch.bincount(condensed.labels, minlength=condensed.num_classes).tolist()
    each = ", ".join(f"{count} of {name}" for name, count in zip(names, counts, strict=True))
    facts = f"{len(condensed)} nodes ({each}), {int(condensed.graph.num_edges.sum())} edges"
    size = f"{side:.0f}"
    return Picture(f'<svg viewBox="0 0 {size} {size}" role="img" aria-label={quoteattr(facts)}>{picture}</svg>', facts)
