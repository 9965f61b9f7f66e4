"""NetworkX graphs as arrays: their edges, and the features that their nodes' attributes make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.datasets.assembly import check_room
from graphcondense.datasets.labelled_rows import LABELS, SPLIT, class_numbers, split_numbers
from graphcondense.datasets.textfiles import short
from graphcondense.errors import InputError, suggestion

MOST_CATEGORIES = 100
"""A text attribute with more values than this is taken for a name, not for a category."""
_MASKS = ("train_mask", "val_mask", "test_mask")
_ABSENT = "(none)"
Attributes = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Features made of attributes: ``x`` (``None`` without any), a name a column, and what is to be said."""

    x: Tensor | None
    names: tuple[str, ...]
    notes: tuple[str, ...]


def edges_of(network: Any) -> Tensor:
    """``2 x num_edges`` by the nodes' positions; an undirected edge goes both ways."""
    place = {node: number for number, node in enumerate(network)}
    pairs = torch.tensor([(place[a], place[b]) for a, b in network.edges()], dtype=torch.long).reshape(-1, 2).t()
    return pairs if network.is_directed() else torch.cat([pairs, pairs.flip(0)], dim=1)


def attributes_of(network: Any) -> list[dict[str, Any]]:
    """The attributes of each node; one that is missing has the graph's default, if it has one."""
    default = network.graph.get("node_default")
    usual = dict(default) if isinstance(default, Mapping) else {}
    return [{**usual, **{str(name): value for name, value in own.items()}} for _, own in network.nodes(data=True)]


def edge_notes(networks: Sequence[Any]) -> list[str]:
    """What edges have that no network looks at."""
    names = {str(name) for network in networks for *_, own in network.edges(data=True) for name in own} - {"id"}
    shown = ", ".join(sorted(names)[:6]) + (", ..." if len(names) > 6 else "")
    return [f"attributes of edges are not used: {shown}"] if names else []


def node_features(nodes: Sequence[Attributes], places: Sequence[str], leave_out: Sequence[str] = ()) -> NodeFeatures:
    """Numbers as they are, text one-hot, rows of numbers side by side; what is neither is left out and said.

    Args:
        nodes: the attributes of each node.
        places: what each node is called, for the messages.
        leave_out: attributes that are no features, as the label.

    >>> made = node_features([{"mass": 1.5, "kind": "a"}, {"mass": 2, "kind": "b"}], ["node 0", "node 1"])
    >>> made.x.tolist(), made.names
    ([[1.0, 0.0, 1.5], [0.0, 1.0, 2.0]], ('kind=a', 'kind=b', 'mass'))
    """
    known = sorted({name for own in nodes for name in own} - set(leave_out), key=_by_number)
    blocks: list[Tensor] = []
    names: list[str] = []
    notes: list[str] = []
    for name in known:
        values = [own.get(name) for own in nodes]
        given = [value for value in values if value is not None]
        if all(_is_number(value) for value in given):
            blocks.append(_numbers([[value] for value in values], name, places))
            names.append(name)
        elif all(isinstance(value, str) for value in given):
            kinds = sorted({_ABSENT if value is None else value for value in values})
            if len(kinds) > MOST_CATEGORIES or 2 * len(kinds) > max(4, len(values)):
                notes.append(f"attribute {name} is not used: {len(kinds):,} texts are names rather than categories")
                continue
            check_room(len(nodes), len(kinds), f"attribute {name}")
            order = {kind: number for number, kind in enumerate(kinds)}
            codes = torch.tensor([order[_ABSENT if value is None else value] for value in values])
            blocks.append(torch.nn.functional.one_hot(codes, len(kinds)).float())
            names += [f"{name}={kind}" for kind in kinds]
        elif all(_is_row(value) for value in given):
            check_room(len(nodes), len(given[0]), f"attribute {name}")
            block = _numbers(values, name, places)
            blocks.append(block)
            names += [f"{name}{column}" for column in range(block.shape[1])]
        else:
            notes.append(f"attribute {name} is not used: it is neither a number nor text")
    if not blocks:
        return NodeFeatures(None, (), tuple(notes))
    check_room(len(nodes), len(names), "the nodes' attributes")
    return NodeFeatures(torch.cat(blocks, dim=1), tuple(names), tuple(notes))


def network_data(network: Any, label: str | None = None) -> tuple[Data, tuple[str, ...], list[str]]:
    """One NetworkX graph whose nodes are classified, as a PyG graph.

    Args:
        network: a graph with node attributes: a label, features, and ``split`` (train, val or test) or masks if any.
        label: which attribute is the label; otherwise ``label``, ``class``, ``y`` or ``target``.

    Returns:
        The graph, the classes' names where they were text, and what is to be said.
    """
    if not isinstance(network, nx.Graph):
        raise InputError(f"network={type(network).__name__} must be one NetworkX graph")
    if len(network) == 0:
        raise InputError("the graph has no nodes: give one with labelled nodes")
    nodes, places = attributes_of(network), [f"node {short(str(node))}" for node in network]
    chosen = _label_attribute(nodes, label)
    given = [position for position, own in enumerate(nodes) if own.get(chosen) not in (None, "")]
    raw = [_text(nodes[position][chosen], places[position], chosen) for position in given]
    y = torch.full((len(nodes),), -1, dtype=torch.long)
    numbers, names = class_numbers(raw, [places[position] for position in given])
    if not names and bool((numbers < -1).any()):
        names = tuple(str(value) for value in sorted(set(numbers.tolist())))
        numbers = torch.tensor([names.index(str(value)) for value in numbers.tolist()])
    y[given] = numbers
    masks = {name: [own.get(name) for own in nodes] for name in _MASKS if any(name in own for own in nodes)}
    made = node_features(nodes, places, [chosen, SPLIT, *_MASKS])
    data = Data(x=made.x, edge_index=edges_of(network), y=y)
    for name, values in masks.items():
        data[name] = torch.tensor([bool(value) for value in values])
    notes = [f"label of a node: its attribute {chosen}", *made.notes, *edge_notes([network])]
    with_part = [position for position, own in enumerate(nodes) if own.get(SPLIT) not in (None, "")]
    if with_part and not masks:
        parts = [str(nodes[position][SPLIT]) for position in with_part]
        for part, members in split_numbers(parts, [places[position] for position in with_part]).items():
            data[f"{part}_mask"] = torch.zeros(len(nodes), dtype=torch.bool)
            data[f"{part}_mask"][torch.tensor(with_part)[members]] = True
    if network.is_directed():
        notes.append("edges taken both ways")
    return data, names, notes


def _label_attribute(nodes: Sequence[Attributes], wanted: str | None) -> str:
    known = sorted({name for own in nodes for name in own})
    if wanted is not None:
        if wanted not in known:
            raise InputError(f"no node has an attribute {wanted!r}{suggestion(wanted, known)}")
        return wanted
    usual = [name for one in LABELS for name in known if name.lower() == one]
    fitting = [name for name in usual if _repeats([own[name] for own in nodes if own.get(name) is not None])]
    if not fitting:
        raise InputError(
            f"which attribute is the label of a node? (known: {', '.join(known) or 'none'}): name it, label='NAME' in "
            "Python or FILE::label=NAME on the command line"
        )
    return fitting[0]


def _repeats(values: Sequence[Any]) -> bool:
    """Whether values can be classes: fewer different ones than half of them. GEXF calls a node's name its label."""
    return 0 < 2 * len({str(value) for value in values}) <= max(4, len(values))


def _text(value: Any, place: str, name: str) -> str:
    if isinstance(value, str) or _is_number(value):
        return str(int(value)) if isinstance(value, bool | np.bool_) else str(value)
    raise InputError(f"{place} has {name}={short(str(value))}: one class is needed, as a number or text")


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_) and not isinstance(value, np.complexfloating)


def _is_row(value: Any) -> bool:
    if isinstance(value, np.ndarray | Tensor):
        return value.ndim == 1 and len(value) > 0
    return isinstance(value, list | tuple) and bool(value) and all(_is_number(one) for one in value)


def _numbers(rows: Sequence[Any], name: str, places: Sequence[str]) -> Tensor:
    """Rows of numbers as float32; every node must have one, of the same length, and finite."""
    width = next(len(row) for row in rows if row is not None)
    for row, place in zip(rows, places, strict=True):
        if row is None or len(row) != width or any(value is None for value in row):
            raise InputError(f"{place} has no attribute {name} like the others': give it to all nodes, or to none")
    try:
        block = torch.from_numpy(np.array([[float(value) for value in row] for row in rows], dtype=np.float64)).float()
    except OverflowError:
        block = torch.full((len(rows), 1), torch.inf)
    wrong = (~block.isfinite()).any(1).nonzero().flatten()
    if len(wrong):
        raise InputError(f"{places[int(wrong[0])]}: attribute {name} is not finite in float32: mend it")
    return block


def _by_number(name: str) -> tuple[Any, ...]:
    """``x2`` before ``x10``."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,9})", name))
