"""One large graph whose nodes are classified, as a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.datasets.assembly import (
    NO_FEATURES,
    UNUSED,
    check_classes,
    counted,
    degree_features,
    number_labels,
    one_class_notes,
    unique_edges,
)
from graphcondense.datasets.splits import stratified_parts
from graphcondense.errors import InputError, check_count
from graphcondense.graphs import GraphStore
from graphcondense.tasks import NodeTask, Split

_MASKS = ("train_mask", "val_mask", "test_mask")


def node_task(
    data: Data,
    *,
    name: str = "custom",
    inductive: bool = False,
    split_seed: int = 0,
) -> NodeTask:
    """A task from one PyG graph, checked and cleaned; the graph itself is not changed.

    Args:
        data: with ``edge_index``, ``y`` (a whole number a node, -1 for none), ``x`` (else degrees become the features)
            and ``train_mask``, ``val_mask`` and ``test_mask``; a mask that is missing is made, class by class: a
            tenth each for validation and test.
        name: what the dataset is called.
        inductive: whether nodes that are not for training are hidden from it.
        split_seed: for the masks that are made; of several splits in two-dimensional masks, which one.

    >>> path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> data = Data(x=torch.eye(4), edge_index=path, y=torch.tensor([0, 0, 1, 1]))
    >>> data.train_mask = data.val_mask = data.test_mask = torch.ones(4, dtype=torch.bool)
    >>> task = node_task(data)
    >>> task.num_nodes, task.num_classes, int(task.graph.num_edges.sum())
    (4, 2, 4)
    """
    if not isinstance(data, Data):
        raise InputError(f"data={type(data).__name__} must be one PyG Data: take dataset[0] of a PyG dataset")
    check_count("split_seed", split_seed, minimum=0)
    x, edges, y = _checked(data)
    check_classes(len(y[y >= 0].unique()), int((y >= 0).sum()), "node")
    split, notes = _split(data, y, split_seed)
    notes += [f"{key} is not used" for key in UNUSED if data.get(key) is not None]
    return assemble(name, x, edges, y, split, inductive=inductive, notes=notes)


def assemble(
    name: str,
    x: Tensor | None,
    edge_index: Tensor,
    y: Tensor,
    split: Split,
    *,
    inductive: bool = False,
    notes: Sequence[str] = (),
    class_names: Sequence[str] = (),
) -> NodeTask:
    """The task of checked arrays: edges made both ways and unique, labels numbered."""
    said = list(notes)
    nodes = len(y)
    edges, loops, _ = unique_edges(torch.cat([edge_index, edge_index.flip(0)], dim=1), nodes)
    if loops:
        said.append(f"{counted(loops // 2, 'loop')} dropped")
    if x is None:
        x = degree_features(edges, nodes)
        said.append(f"{NO_FEATURES}: one-hot degree taken instead, {counted(x.shape[1], 'column')}")
    labelled = y >= 0
    numbered = torch.full_like(y, -1)
    numbered[labelled], names, changed = number_labels(y[labelled])
    said += changed
    for part in ("train", "val", "test"):
        if bool((numbered[getattr(split, part)] < 0).any()):
            raise InputError(f"a node of the {part} split has no label (-1): leave it out of the split")
    if len(names) < 2:
        raise InputError(f"all nodes of {name} are of class {names[0]}: at least two classes are needed")
    graph = GraphStore(x.float(), edges, torch.tensor([0, nodes]), torch.tensor([0, edges.shape[1]]), numbered)
    task = NodeTask(
        name, graph, split, len(names), inductive, class_names=tuple(class_names) or names, notes=tuple(said)
    )
    absent = [task.class_names[i] for i in (task.train_class_counts == 0).nonzero().flatten().tolist()]
    if absent:
        said.append(f"no training node of class {', '.join(absent)}: it cannot be learned")
    said += one_class_notes(numbered, split, task.class_names, "node")
    return replace(task, notes=tuple(said))


def _checked(data: Data) -> tuple[Tensor | None, Tensor, Tensor]:
    y, edges, x = data.y, data.edge_index, data.x
    if isinstance(y, Tensor) and y.is_floating_point() and y.dim() > 0 and bool((y == y.round()).all()):
        y = y.long()
    if not isinstance(y, Tensor) or y.is_floating_point() or y.dim() == 0 or y.numel() != len(y):
        raise InputError(_why_no_labels(y))
    y = y.reshape(-1).long().cpu()
    if isinstance(x, Tensor) and x.dim() == 2 and len(x) != len(y):
        raise InputError(f"data.y has {len(y)} labels, data.x is {tuple(x.shape)}: give a label and a row a node")
    if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise InputError("data.edge_index must be a 2 x edges tensor of whole numbers")
    if edges.numel() == 0:
        raise InputError("data.edge_index has no edge: classify the features without a graph")
    if int(edges.min()) < 0 or int(edges.max()) >= len(y):
        raise InputError(f"data.edge_index names a node outside of 0 to {len(y) - 1}")
    if x is not None:
        if not isinstance(x, Tensor) or x.dim() != 2 or len(x) != len(y):
            shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise InputError(f"data.x is {shape}: give {len(y)} rows of features, one a node")
        x = x.float().cpu()
        bad = (~torch.isfinite(x)).any(1).nonzero().flatten()
        if len(bad):
            raise InputError(f"data.x has a number that is not finite at node {int(bad[0])}: mend or drop it")
    return x, edges.long().cpu(), y


def _why_no_labels(y: object) -> str:
    """What is wrong with labels that are not one whole number a node."""
    wanted = "data.y must be a tensor of whole numbers, one label a node (-1 for none)"
    if isinstance(y, Tensor) and y.dim() > 1 and y.numel() != len(y):
        return f"{wanted}: it has shape {list(y.shape)}, and multi-label tasks are not supported"
    if isinstance(y, Tensor) and y.is_floating_point() and y.dim() > 0:
        return f"{wanted}: it has fractions, and regression is not supported"
    return wanted


def _split(data: Data, y: Tensor, seed: int) -> tuple[Split, list[str]]:
    """The split of the masks; what is missing is made of labelled nodes that no mask has."""
    found: dict[str, Tensor] = {}
    notes: list[str] = []
    for name in _MASKS:
        mask = whole = data.get(name)
        if mask is None:
            continue
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape[:1] != y.shape:
            raise InputError(f"data.{name} must be {len(y)} booleans, one a node")
        if mask.dim() == 2:
            if seed >= mask.shape[1]:
                raise InputError(f"split_seed={seed}: data.{name} has {mask.shape[1]} splits, 0 to {mask.shape[1] - 1}")
            mask = mask[:, seed]
        found[name] = mask.nonzero().flatten().cpu()
        if whole.dim() == 2:
            notes.append(f"split {seed} of the {whole.shape[1]} that data.{name} has")
    if len(found) == len(_MASKS):
        return Split(*(found[name] for name in _MASKS)), notes + _overlaps(found)
    labelled = (y >= 0).nonzero().flatten()
    if not len(labelled):
        raise InputError("data.y has no label: every node has -1")
    values = y.clamp(min=0)
    values[labelled] = y[labelled].unique(return_inverse=True)[1]
    if found:
        return _completed(found, labelled, values, seed, notes)
    val, test, train = stratified_parts(values[labelled], parts=2, seed=seed)
    split = Split(labelled[train], labelled[val], labelled[test])
    return split, [f"split made here (by class, seed {seed}): {node_sizes(split)}"]


def _completed(
    found: dict[str, Tensor], labelled: Tensor, values: Tensor, seed: int, notes: list[str]
) -> tuple[Split, list[str]]:
    """The split with what is missing made, by class: of the labelled nodes that no mask has, else of the training set.

    Of two missing sets, a tenth becomes the smaller one: the rest is for training, or else for the test.
    """
    absent = [name for name in _MASKS if name not in found]
    free = labelled[~torch.isin(labelled, torch.cat(list(found.values())))]
    taken = "nodes that no mask has"
    if not len(free):
        if "train_mask" in absent:
            raise InputError("data has no train_mask, and its other masks have all labelled nodes: give train_mask")
        free, taken = found.pop("train_mask"), "train_mask"
        absent.append("train_mask")
    rest = "train_mask" if "train_mask" in absent else "test_mask" if "test_mask" in absent else absent[0]
    *parts, remainder = stratified_parts(values[free], parts=len(absent) - 1, seed=seed)
    made = dict(zip([name for name in absent if name != rest], parts, strict=True)) | {rest: remainder}
    places = found | {name: free[index] for name, index in made.items()}
    split = Split(*(places[name] for name in _MASKS))
    words = " and ".join(name.removesuffix("_mask") for name in _MASKS if name in absent)
    return split, [*notes, f"{words} set made here of {taken} (by class, seed {seed}): {node_sizes(split)}"]


def per_class_split(y: Tensor, seed: int, train: int = 20, val: int = 30) -> Split:
    """The usual split of graphs without one: so many nodes of each class for training and validation, the rest test."""
    source = torch.Generator().manual_seed(seed)
    parts: list[list[Tensor]] = [[], [], []]
    for label in y[y >= 0].unique():
        members = (y == label).nonzero().flatten()
        members = members[torch.randperm(len(members), generator=source)]
        for part, chosen in zip(parts, members.tensor_split([train, train + val]), strict=True):
            part.append(chosen)
    return Split(*(torch.cat(part).sort().values for part in parts))


def node_sizes(split: Split) -> str:
    """The sizes of a split in words."""
    return f"{len(split.train):,} training, {len(split.val):,} validation and {len(split.test):,} test nodes"


def _overlaps(found: dict[str, Tensor]) -> list[str]:
    """What is to be said of nodes that are in two parts of the split."""
    notes = []
    for part in ("val_mask", "test_mask"):
        both = int(torch.isin(found[part], found["train_mask"]).sum())
        if both:
            notes.append(f"{part} shares {counted(both, 'node')} with train_mask: scores there are too good")
    return notes
