"""What the nodes of known molecule datasets are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The order of MUTAG's node labels, from the README that comes with its files.
_ONE_HOT = {"MUTAG": ("C", "N", "O", "F", "I", "Cl", "Br")}
# These have the atomic number, counted from 0, as the first feature.
_NUMBERED = ("ogbg-mol",)


def is_numbered(info: dict[str, Any]) -> bool:
    """Whether the first feature of a node is its atomic number, counted from 0."""
    return str(info.get("dataset", "")).startswith(_NUMBERED)


def atom_names(info: dict[str, Any], x: NDArray[np.float32]) -> list[str]:
    """The name of each node, empty where none is known.

    Names come from ``info["feature_names"]`` (a name a column of one-hot features), or are known for the dataset.
    Atomic numbers are named by RDKit where it is installed.
    """
    dataset = str(info.get("dataset", ""))
    names: Sequence[str] = info.get("feature_names", _ONE_HOT.get(dataset, ()))
    if names and len(names) == x.shape[1] and all(isinstance(name, str) for name in names):
        return [names[kind] for kind in x.argmax(axis=1)]
    if is_numbered(info):
        return [_symbol(round(float(number)) + 1) for number in x[:, 0]]
    return []


def _symbol(number: int) -> str:
    try:
        from rdkit import Chem
    except ImportError:
        return ""
    return str(Chem.GetPeriodicTable().GetElementSymbol(number)) if 1 <= number <= 118 else "?"
