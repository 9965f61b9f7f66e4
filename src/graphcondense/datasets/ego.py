"""Graph classification out of one large graph: the surroundings of single nodes, each with its centre's label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.errors import InputError, check_count


def ego_graphs(
    data: Data,
    *,
    num_graphs: int | None = None,
    classes: Sequence[int] | None = None,
    hops: int = 1,
    least_nodes: int = 2,
    most_nodes: int | None = None,
    seed: int = 0,
) -> list[Data]:
    """Ego networks of randomly chosen nodes: the node, all within ``hops`` steps of it, and all edges among them.

    Node 0 of each graph is its centre; ``n_id`` says which nodes of ``data`` its nodes are. The same arguments always
    give the same graphs.

    Args:
        data: a graph for node classification, with ``edge_index``, ``y`` (a whole number a node) and, if it has
            features, ``x``. Edges are followed in both directions.
        num_graphs: how many centres to choose, none twice; all that there are by default.
        classes: labels that a centre may have; any by default. Nodes around it may have any.
        hops: steps from the centre.
        least_nodes: centres with a smaller surrounding are left out.
        most_nodes: a larger surrounding keeps its centre and this many nodes in all: the nearest ones, and at equal
            distance random ones.
        seed: decides everything that is drawn.

    >>> path = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    >>> graphs = ego_graphs(Data(x=torch.eye(4), edge_index=path, y=torch.tensor([0, 1, 0, 1])), classes=[1])
    >>> [graph.n_id.tolist() for graph in graphs], [int(graph.y) for graph in graphs]
    ([[1, 0, 2], [3, 2]], [1, 1])
    """
    for argument, value in (("hops", hops), ("least_nodes", least_nodes)):
        check_count(argument, value)
    check_count("seed", seed, minimum=0)
    if classes is not None and not isinstance(classes, Sequence):
        raise InputError(f"classes={classes!r} must be a list of labels, e.g. [0, 1]")
    for argument, count in (("num_graphs", num_graphs), ("most_nodes", most_nodes)):
        if count is not None:
            check_count(argument, count)
    if most_nodes is not None and most_nodes < least_nodes:
        raise InputError(f"most_nodes={most_nodes} is less than least_nodes={least_nodes}: raise it")
    y, adjacency = _checked(data)
    random = np.random.default_rng(seed)
    reach = _within(adjacency, hops)
    centres = _centres(y, np.diff(reach.indptr), classes, least_nodes)
    if num_graphs is not None:
        if num_graphs > len(centres):
            raise InputError(
                f"num_graphs={num_graphs} is more than the {len(centres)} nodes that can be a centre: ask for fewer, "
                "or for more classes"
            )
        centres = np.sort(random.choice(centres, num_graphs, replace=False))
    graphs = []
    for centre in centres.tolist():
        nodes = _nearest_first(reach, centre, most_nodes, random)
        graphs.append(_induced(data, adjacency, y, nodes))
    return graphs


def _checked(data: Data) -> tuple[NDArray[np.int64], sparse.csr_matrix]:
    """Labels, and the 0/1 adjacency of both directions without loops."""
    if not isinstance(data, Data):
        raise InputError(f"data={type(data).__name__} must be one PyG Data: take dataset[0] of a PyG dataset")
    y, edges = data.y, data.edge_index
    if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise InputError("data.edge_index must be a 2 x edges tensor of whole numbers")
    if not isinstance(y, Tensor) or y.is_floating_point() or y.numel() != len(y):
        raise InputError("data.y must be a tensor of whole numbers, one label a node")
    labels = y.reshape(-1).cpu().numpy()
    nodes = len(labels)
    if data.x is not None and len(data.x) != nodes:
        raise InputError(f"data.y has {nodes} labels for the {len(data.x)} nodes of data.x: give one a node")
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= nodes):
        raise InputError(f"data.edge_index names a node outside of 0 to {nodes - 1}")
    source, target = edges.cpu().numpy()
    proper = source != target
    ones = np.ones(int(proper.sum()), dtype=np.float32)
    one_way = sparse.csr_matrix((ones, (source[proper], target[proper])), shape=(nodes, nodes))
    both = (one_way + one_way.T).tocsr()
    both.data[:] = 1
    return labels, both


def _within(adjacency: sparse.csr_matrix, hops: int) -> sparse.csr_matrix:
    """Entry ``[i, j]`` is the distance plus one of nodes that are at most ``hops`` steps apart."""
    reach = sparse.identity(adjacency.shape[0], dtype=np.float32, format="csr")
    last = reach
    for hop in range(1, hops + 1):
        last = (last @ adjacency).tocsr()
        last.data[:] = 1
        new = (last - last.multiply(reach > 0)).tocsr()
        new.eliminate_zeros()
        reach = (reach + (hop + 1) * new).tocsr()
    return reach


def _centres(
    y: NDArray[np.int64], sizes: NDArray[np.int32], classes: Sequence[int] | None, least_nodes: int
) -> NDArray[np.int64]:
    allowed = sizes >= least_nodes
    if classes is not None:
        absent = sorted(set(classes) - set(np.unique(y).tolist()))
        if absent or len(classes) == 0:
            raise InputError(f"classes={list(classes)!r} must be labels of data.y, which has {np.unique(y).tolist()}")
        allowed &= np.isin(y, list(classes))
    centres: NDArray[np.int64] = np.flatnonzero(allowed)
    if not len(centres):
        raise InputError(f"no node has a surrounding of least_nodes={least_nodes} or more: lower it, or raise hops")
    return centres


def _nearest_first(
    reach: sparse.csr_matrix, centre: int, most: int | None, random: np.random.Generator
) -> NDArray[np.int64]:
    """The nodes around ``centre``, itself first, then by distance; random ones of the last distance that fits."""
    row = slice(reach.indptr[centre], reach.indptr[centre + 1])
    nodes, distance = reach.indices[row], reach.data[row]
    if most is not None and len(nodes) > most:
        order = np.lexsort((random.random(len(nodes)), distance))[:most]
        nodes, distance = nodes[order], distance[order]
    chosen: NDArray[np.int64] = nodes[np.lexsort((nodes, distance))].astype(np.int64)
    return chosen


def _induced(data: Data, adjacency: sparse.csr_matrix, y: NDArray[np.int64], nodes: NDArray[np.int64]) -> Data:
    edges = adjacency[nodes][:, nodes].tocoo()
    index = torch.from_numpy(nodes)
    graph = Data(
        edge_index=torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)),
        y=torch.tensor([int(y[nodes[0]])]),
        n_id=index,
        num_nodes=len(nodes),
    )
    if data.x is not None:
        graph.x = data.x[index.to(data.x.device)].cpu()
    return graph
