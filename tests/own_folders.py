"""Made-up datasets in the TU format of kinds that nobody tuned for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

KINDS = ("unbalanced", "real", "bare")


def write_own(folder: Path, kind: str, graphs: int = 120, seed: int = 0) -> Path:
    """Write a TU folder.

    ``unbalanced``: node labels with a gap, one class in eight; ``real``: two columns of large real attributes and kinds
    of edges; ``bare``: no features, edges that go one way, five classes that differ in size and shape.
    """
    source = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    parts: dict[str, list[str]] = {"A": [], "graph_indicator": [], "graph_labels": []}
    first = 1
    for graph in range(graphs):
        label, nodes = _class_and_size(kind, graph, source)
        edges = {(i, (i + 1) % nodes) for i in range(nodes)}
        edges |= {(i, j) for i, j in source.integers(nodes, size=(label * nodes // 3, 2)).tolist() if i != j}
        if kind != "bare":
            edges |= {(j, i) for i, j in edges}
        parts["A"] += [f"{first + i}, {first + j}" for i, j in sorted(edges)]
        parts["graph_indicator"] += [str(graph + 1)] * nodes
        parts["graph_labels"].append(str({"unbalanced": label * 10 - 5}.get(kind, label)))
        if kind == "unbalanced":
            kinds = source.choice([3, 4, 9], size=nodes, p=[0.6, 0.3, 0.1] if label else [0.1, 0.3, 0.6])
            parts.setdefault("node_labels", []).extend(map(str, kinds))
        if kind == "real":
            values = source.normal(loc=[300 * label, 0], scale=200, size=(nodes, 2))
            parts.setdefault("node_attributes", []).extend(f"{a:.3f}, {b:.3f}" for a, b in values)
            parts.setdefault("edge_attributes", []).extend("1.5" for _ in edges)
        first += nodes
    for part, lines in parts.items():
        (folder / f"{kind.upper()}_{part}.txt").write_text("\n".join(lines) + "\n")
    return folder


def _class_and_size(kind: str, graph: int, source: np.random.Generator) -> tuple[int, int]:
    if kind == "unbalanced":
        return int(graph % 8 == 0), int(source.integers(5, 16))
    if kind == "real":
        return graph % 2, int(source.integers(4, 10))
    return graph % 5, int(3 + 4 * (graph % 5) + source.integers(3))
