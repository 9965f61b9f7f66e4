"""What a page says with the real data at hand: nearest graphs, distributions, embeddings, what is taken for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.metrics import confusion_matrix
from torch import Tensor

from graphcondense.evaluation import Look
from graphcondense.graphs import GraphStore
from graphcondense.report.charts import Cloud
from graphcondense.report.page.figures import Figure, cloud, confusion, histogram
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask, NodeTask

MOST_POINTS = 500
"""Test graphs or nodes in the plane; more take long and hide each other."""
_LARGEST_DEGREE = 12


def nearest_real(condensed: CondensedDataset, task: GraphTask, seen: Look) -> Tensor:
    """For each condensed graph the place of the training graph of its class that the network puts nearest to it."""
    assert seen.embed is not None
    made, real = seen.embed(condensed.graphs).double(), seen.embed(task.train).double()
    distances = torch.cdist(made, real)
    distances[condensed.labels.unsqueeze(1) != task.train.y] = float("inf")
    return distances.argmin(1)


def distributions(condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask) -> list[Figure]:
    """Degrees, and for graph tasks nodes a graph, of real and of condensed graphs."""
    made = condensed.graphs if isinstance(condensed, CondensedDataset) else condensed.graph
    real = task.train if isinstance(task, GraphTask) else task.train[0]
    legend = ["real", "condensed"]
    degrees = [_degrees(store) for store in (real, made)]
    names = [str(degree) for degree in range(_LARGEST_DEGREE)] + [f"{_LARGEST_DEGREE}+"]
    while len(names) > 4 and all(int(d.max(initial=0)) < len(names) - 1 for d in degrees):
        names.pop()
    shares = [_shares(np.bincount(d.clip(max=len(names) - 1), minlength=len(names))) for d in degrees]
    means = [float(d.mean()) for d in degrees]
    text = f"Degrees of nodes: real ones have {means[0]:.1f} neighbours on average, condensed ones {means[1]:.1f}."
    figures = [histogram("Degrees", names, shares, legend, "neighbours of a node", text)]
    if isinstance(task, GraphTask):
        sizes = [store.num_nodes.numpy() for store in (real, made)]
        edges = np.unique(np.histogram_bin_edges(np.concatenate(sizes), bins=12).round().astype(int))
        edges = np.append(edges, edges[-1] + 1) if len(edges) > 1 else np.array([edges[0], edges[0] + 1])
        shares = [_shares(np.histogram(size, bins=edges)[0]) for size in sizes]
        names = [str(low) for low in edges[:-1]]
        text = f"Nodes of a graph: {sizes[0].mean():.1f} on average for real graphs, {sizes[1].mean():.1f} condensed."
        figures.append(histogram("Sizes", names, shares, legend, "nodes of a graph, from", text))
    return figures


def _degrees(store: GraphStore) -> NDArray[np.int64]:
    return torch.bincount(store.edge_index[1], minlength=len(store.x)).numpy()


def _shares(counts: NDArray[Any]) -> list[float]:
    return [float(value) for value in 100 * counts / max(int(counts.sum()), 1)]


def plane(seen: Look, names: Sequence[str], kind: str) -> Figure:
    """Test graphs (or nodes) where the network puts them, brought to the plane by t-SNE."""
    chosen = torch.randperm(len(seen.truth), generator=generator(0, "report"))[:MOST_POINTS].sort().values
    points, truth = seen.embeddings[chosen].double().numpy(), seen.truth[chosen].numpy()
    points = points / max(float(np.abs(points).max()), 1e-12)
    if len(np.unique(points, axis=0)) > 3:
        perplexity = min(30.0, (len(points) - 1) / 3)
        flat = TSNE(perplexity=perplexity, init="pca", random_state=0, max_iter=500).fit_transform(points)
    else:  # a network that sees no difference: nothing to lay out
        flat = np.pad(points, ((0, 0), (0, 2)))[:, :2]
    clouds = [
        Cloud(name, flat[truth == label, 0].tolist(), flat[truth == label, 1].tolist())
        for label, name in enumerate(names)
    ]
    whole = f"{len(points):,} of {len(seen.truth):,}" if len(points) < len(seen.truth) else f"all {len(points):,}"
    where = "before its last layer" if seen.embed is not None else "its outputs"
    text = f"t-SNE of {whole} test {kind} as a network trained on the condensed set sees them, coloured by true class."
    return cloud("Test set, as the network sees it", clouds, text, f"{whole} test {kind}, {where}; t-SNE, seed 0.")


def taken_for(seen: Look, names: Sequence[str], kind: str) -> Figure:
    """The confusion matrix of the first network."""
    counts = confusion_matrix(seen.truth.numpy(), seen.guesses.numpy(), labels=range(len(names)))
    right = int(counts.trace())
    text = f"Confusion matrix: {right} of {int(counts.sum())} test {kind} are taken for what they are."
    note = f"Rows are true classes. The network of seed 0: {right} of {int(counts.sum())} right."
    return confusion("What is taken for what", counts.tolist(), names, text, note)
