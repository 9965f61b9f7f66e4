"""CIFAR10 images as graphs of superpixels, joined as in the benchmark of Dwivedi et al. (2020).

The files hold the superpixels (mean colour and centroid); the edges are computed here, once, and the neighbours of
all nodes are kept in the cache, one byte each.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphcondense.datasets.arrays import read_npz
from graphcondense.datasets.assembly import CleanGraphs, make_task
from graphcondense.datasets.places import cache_root, read_array, write_array
from graphcondense.errors import FileFormatError, MissingDataError
from graphcondense.graphs import GraphStore, pointers
from graphcondense.tasks import GraphTask, Split

NUM_NEIGHBOURS = 8
VALIDATION_IMAGES = 5_000
"""The last images of the training file are for validation."""

_WIDTH = 32.0
_CHUNK = 64
"""Images worked on at once: 64 of some 120 x 120 pairs each stay within a processor's cache."""
_MOST_NODES = 256
_FORMAT = 1
_NOTE = "these superpixels follow the published procedure but are not the published file: compare figures with care"


@dataclass(frozen=True, eq=False)
class Superpixels:
    """The superpixels of many images end to end.

    Args:
        color: mean red, green and blue, 0 to 1, ``num_nodes x 3``.
        pos: row and column of the centroid as a fraction of the image's width, ``num_nodes x 2``.
        num_nodes: superpixels of each image, ``num_images``.
        y: labels, ``num_images``.
    """

    color: Tensor
    pos: Tensor
    num_nodes: Tensor
    y: Tensor


def load_superpixels(name: str, folder: Path, *, progress: Callable[[float], None] | None = None) -> GraphTask:
    """The superpixel set in ``folder``, directed, each node with edges to its 8 nearest nodes.

    Args:
        name: what the dataset is called.
        folder: with ``train.npz`` and ``test.npz``.
        progress: called with the share that is done, now and then; the first time takes about a minute.
    """
    files = [folder / "train.npz", folder / "test.npz"]
    train, test = (read_superpixels(file) for file in files)
    images = len(train.num_nodes)
    if images <= VALIDATION_IMAGES:
        raise FileFormatError(
            f"{files[0]} has {images:,} images, but the last {VALIDATION_IMAGES:,} are for validation: "
            "fetch the file anew"
        )
    pixels = Superpixels(*(torch.cat([getattr(part, key) for part in (train, test)]) for key in vars(train)))
    store = join(pixels, cached_neighbours(pixels, files, progress))
    position = torch.arange(store.num_graphs)
    split = Split(
        train=position[: images - VALIDATION_IMAGES],
        val=position[images - VALIDATION_IMAGES : images],
        test=position[images:],
    )
    names = tuple(str(c) for c in range(int(store.y.max()) + 1))
    task = make_task(name, CleanGraphs(store, names, ()), split, notes=[_NOTE])
    return replace(task, position_features=(3, 4))


def read_superpixels(file: Path) -> Superpixels:
    """The superpixels in an ``.npz`` file, checked."""
    try:
        content = read_npz(file, ("num_nodes", "label", "color", "pos"))
        num_nodes, y = (torch.from_numpy(content[key].astype(np.int64)) for key in ("num_nodes", "label"))
        color, pos = (torch.from_numpy(content[key].astype(np.float32)) for key in ("color", "pos"))
    except FileNotFoundError:
        raise MissingDataError(f"{file} is missing: put it there, or name the folder that has it") from None
    except KeyError as error:
        raise FileFormatError(f"{file} lacks an array ({error.args[0]}): fetch the file anew") from None
    except Exception as error:
        # A damaged zip raises any of half a dozen types from zipfile, zlib, struct and numpy, and so does text instead
        # of numbers.
        raise FileFormatError(f"{file} is not a readable .npz file ({error}): fetch the file anew") from None
    total = int(num_nodes.sum())
    problem = ""
    if num_nodes.dim() != 1 or not len(num_nodes) or int(num_nodes.min()) < 1 or int(num_nodes.max()) > _MOST_NODES:
        problem = f"num_nodes must be numbers from 1 to {_MOST_NODES}"
    elif y.shape != num_nodes.shape or int(y.min()) < 0:
        problem = f"label has shape {list(y.shape)} for {len(num_nodes):,} images, and may not be negative"
    elif color.shape != (total, 3) or pos.shape != (total, 2):
        problem = f"color has shape {list(color.shape)} and pos {list(pos.shape)} for {total:,} superpixels"
    elif not (color.isfinite().all() and pos.isfinite().all()):
        problem = "color or pos is not finite"
    if problem:
        raise FileFormatError(f"{file}: {problem}: fetch the file anew")
    return Superpixels(color=color, pos=pos / _WIDTH, num_nodes=num_nodes, y=y)


def cached_neighbours(pixels: Superpixels, files: list[Path], progress: Callable[[float], None] | None) -> Tensor:
    """:func:`nearest_neighbours`, from the cache if it was computed before for the same content."""
    digest = hashlib.sha256(repr([_FORMAT, NUM_NEIGHBOURS]).encode())
    for file in files:
        # The checksums that the zip file holds anyway tell the content without reading it, wherever it was copied to.
        with zipfile.ZipFile(file) as content:
            digest.update(repr([(i.filename, i.file_size, i.CRC) for i in content.infolist()]).encode())
    cache = cache_root() / "derived" / f"superpixels-{digest.hexdigest()[:16]}.npz"
    stored = read_array(cache)
    if stored is not None and stored.dtype == np.uint8 and stored.shape == (len(pixels.pos), NUM_NEIGHBOURS):
        return torch.from_numpy(stored)
    neighbours = nearest_neighbours(pixels, progress)
    write_array(cache, neighbours.numpy())
    return neighbours


def nearest_neighbours(pixels: Superpixels, progress: Callable[[float], None] | None = None) -> Tensor:
    """The 8 nodes of largest affinity to each node, ascending, as positions in its image: ``num_nodes x 8``, uint8.

    In an image of 9 nodes or fewer all others are neighbours; what then remains of a row is 255.
    """
    result = torch.full((len(pixels.pos), NUM_NEIGHBOURS), 255, dtype=torch.uint8)
    node_ptr = pointers(pixels.num_nodes)
    # Images of like size together, so that little of a chunk is padding.
    order = pixels.num_nodes.argsort(stable=True)
    for start in range(0, len(order), _CHUNK):
        images = order[start : start + _CHUNK]
        counts = pixels.num_nodes[images]
        slot = torch.arange(int(counts.max()))
        real = slot < counts[:, None]
        rows = (node_ptr[images][:, None] + slot)[real]
        score = _log_affinity(pixels.pos[rows], pixels.color[rows], real)
        width = min(NUM_NEIGHBOURS, score.shape[2])
        best = score.topk(width, sorted=False)
        # Padding and the node itself score -inf; sorted to the end of the row, they stay 255.
        nearest = best.indices.masked_fill(best.values.isneginf(), 255).sort(dim=2).values
        result[rows, :width] = nearest[real].to(torch.uint8)
        if progress is not None:
            progress(min(1.0, (start + _CHUNK) / len(order)))
    return result


def _log_affinity(pos: Tensor, color: Tensor, real: Tensor) -> Tensor:
    """Logarithm of the symmetrised Gaussian affinity (up to a constant) between all nodes of each image.

    The logarithm orders as the affinity does, and does not underflow where superpixels of the very same colour make
    the scale of the colours tiny.

    Args:
        pos: positions of the real nodes.
        color: colours of the real nodes.
        real: which slots hold a node, ``num_images x slots``.

    Returns:
        ``num_images x slots x slots``, -inf for a node with itself and for slots without a node.
    """
    exponent = -(_scaled_squares(pos, real) + _scaled_squares(color, real))
    score = torch.logaddexp(exponent, exponent.transpose(1, 2))
    score.masked_fill_(~(real[:, :, None] & real[:, None, :]), -torch.inf)
    score.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
    return score


def _scaled_squares(values: Tensor, real: Tensor) -> Tensor:
    """Squared distances over the squared scale of the row's node: its mean distance to the 8 nearest nodes."""
    padded = values.new_zeros(*real.shape, values.shape[1])
    padded[real] = values
    squares = torch.zeros(*real.shape, real.shape[1])
    for column in padded.unbind(2):
        squares += (column[:, :, None] - column[:, None, :]).square_()
    distance = squares.sqrt_()
    kth = min(NUM_NEIGHBOURS + 1, real.shape[1])
    # The node itself is among the nearest, at distance 0.
    nearest = distance.masked_fill(~real[:, None, :], torch.inf).topk(kth, largest=False, sorted=False).values
    sigma = nearest.sum(2, keepdim=True) / NUM_NEIGHBOURS + 1e-8
    # Fewer than 9 nodes have no 8 nearest, but then all are joined whatever their affinity.
    sigma.masked_fill_(sigma.isinf(), 1.0)
    return distance.div_(sigma).square_()


def join(pixels: Superpixels, neighbours: Tensor) -> GraphStore:
    """The graphs with an edge from each node to each of its ``neighbours``."""
    node_ptr = pointers(pixels.num_nodes)
    degree = (pixels.num_nodes - 1).clamp_(max=NUM_NEIGHBOURS)
    first = torch.repeat_interleave(node_ptr[:-1], pixels.num_nodes)
    nodes = torch.arange(len(first))
    # Millions of edges: one array filled in place, without a copy of it on the way.
    edge_index = torch.empty(2, int((degree * pixels.num_nodes).sum()), dtype=torch.long)
    used = torch.arange(NUM_NEIGHBOURS) < torch.repeat_interleave(degree, pixels.num_nodes)[:, None]
    torch.masked_select(nodes[:, None], used, out=edge_index[0])
    torch.masked_select(neighbours + first[:, None], used, out=edge_index[1])
    return GraphStore(
        x=torch.cat([pixels.color, pixels.pos], dim=1),
        edge_index=edge_index,
        node_ptr=node_ptr,
        edge_ptr=pointers(degree * pixels.num_nodes),
        y=pixels.y,
        directed=True,
    )
