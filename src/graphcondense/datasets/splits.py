"""Which graphs are for training, validation and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_count
from graphcondense.tasks import GraphTask, Split

_WORDS = {"val": "validation", "test": "test"}
HELD_OUT_SHARE = 10
"""A validation or test set that we make is one in this many graphs."""


def permutation_split(num_graphs: int, seed: int) -> Split:
    """The split of the authors' released code for TU sets: a tenth for test, a tenth for validation.

    A generator of its own gives the permutation that ``torch.manual_seed(seed)`` would, and leaves the global one be.

    >>> split = permutation_split(188, seed=0)
    >>> len(split.train), len(split.val), len(split.test)
    (150, 19, 19)
    """
    order = torch.randperm(num_graphs, generator=torch.Generator().manual_seed(seed))
    held_out = (num_graphs + HELD_OUT_SHARE - 1) // HELD_OUT_SHARE
    return Split(train=order[2 * held_out :], val=order[held_out : 2 * held_out], test=order[:held_out])


def stratified_parts(y: Tensor, parts: int, seed: int) -> list[Tensor]:
    """Positions of the graphs, split into a training set and ``parts`` held-out sets of a tenth each, class by class.

    A class gives at least one graph to each held-out set if it has one left over for training; a smaller class stays
    in training altogether, for a class that was never trained on cannot be predicted.

    Args:
        y: labels, ``num_graphs`` whole numbers from 0 on.
        parts: how many held-out sets.
        seed: of the shuffle.

    Returns:
        ``parts + 1`` ascending tensors of positions, the training set last.

    >>> val, test, train = stratified_parts(torch.tensor([0] * 10 + [1] * 20), parts=2, seed=0)
    >>> len(val), len(test), len(train)
    (3, 3, 24)
    """
    generator = torch.Generator().manual_seed(seed)
    chosen: list[list[Tensor]] = [[] for _ in range(parts + 1)]
    for label in y.bincount().nonzero().view(-1):
        members = (y == label).nonzero().view(-1)
        members = members[torch.randperm(len(members), generator=generator)]
        share = max(1, (len(members) + HELD_OUT_SHARE // 2) // HELD_OUT_SHARE) if len(members) > parts else 0
        for part in range(parts):
            chosen[part].append(members[part * share : (part + 1) * share])
        chosen[parts].append(members[parts * share :])
    result = [torch.cat(pieces).sort().values for pieces in chosen]
    if any(len(part) == 0 for part in result):
        largest = int(y.bincount().max())
        raise InputError(
            f"too few graphs to hold some out: the largest class has {largest}, {parts + 1} are needed: "
            "give more graphs, or give val and test yourself"
        )
    return result


def complete_split(given: Mapping[str, Tensor], y: Tensor, seed: int) -> tuple[Split, list[str]]:
    """The split of the sets that are given; a validation or test set that is not is taken from the training set.

    Args:
        given: positions of the members of ``"train"``, and of ``"val"`` and ``"test"`` if there are any.
        y: labels of all, from 0 on.
        seed: for the sets that are made.

    Returns:
        The split, and a note on what was made.
    """
    places = dict(given)
    absent = [part for part in _WORDS if part not in places]
    if not absent:
        return Split(**places), []
    train = places["train"]
    *held_out, rest = stratified_parts(y[train], parts=len(absent), seed=seed)
    places.update(zip(absent, (train[part] for part in held_out), strict=True), train=train[rest])
    split = Split(**places)
    words = " and ".join(_WORDS[part] for part in absent)
    return split, [f"{words} set taken from train by class, seed {seed}: {sizes(split)}"]


def stratified_split(y: Tensor, seed: int) -> Split:
    """A split of 80/10/10 percent, class by class."""
    val, test, train = stratified_parts(y, parts=2, seed=seed)
    return Split(train=train, val=val, test=test)


def resplit(task: GraphTask, seed: int) -> GraphTask:
    """The same graphs with another split: 80/10/10 percent, class by class.

    The result has no ``source``: by its name alone the dataset would come back with its own split.

    Args:
        task: the dataset.
        seed: of the split.
    """
    check_count("seed", seed, minimum=0)
    if not isinstance(task, GraphTask):
        raise InputError(f"task={type(task).__name__} must be a task: make one with gc.graph_task(your graphs)")
    split = stratified_split(task.graphs.y, seed)
    note = f"split made here (by class, seed {seed}): {sizes(split)}"
    return replace(task, split=split, source="", notes=(note,))


def sizes(split: Split) -> str:
    """The sizes of a split in words.

    >>> sizes(permutation_split(188, seed=0))
    '150 training, 19 validation and 19 test graphs'
    """
    return f"{len(split.train):,} training, {len(split.val):,} validation and {len(split.test):,} test graphs"
