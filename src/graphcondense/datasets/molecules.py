"""Molecules written as SMILES, as graphs: a node an atom, an edge a bond. Needs RDKit, the extra ``mol``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from graphcondense.datasets.assembly import LooseGraphs, check_room, clean, make_task
from graphcondense.datasets.labelled_rows import LABELS, class_numbers, read_rows, splits_of
from graphcondense.datasets.splits import complete_split
from graphcondense.datasets.textfiles import short
from graphcondense.errors import InputError, MissingDataError
from graphcondense.graphs import pointers, repeat
from graphcondense.tasks import GraphTask

_SMILES = ("smiles", "mol", "molecule", "canonical_smiles")
_LONGEST = 5_000  # characters: beyond it, RDKit's time is not bounded by anything that a user would wait for


def load_smiles(path: Path, *, smiles: str | None = None, label: str | None = None, split_seed: int = 0) -> GraphTask:
    """The molecules in a CSV file with a column of SMILES and one of classes.

    Args:
        path: the file.
        smiles: column of the molecules; otherwise ``smiles``, ``mol`` or ``molecule``.
        label: column of the class; otherwise ``label``, ``class``, ``y`` or ``target``.
        split_seed: for the parts of the split that the table does not give in a column ``split``.
    """
    rows = read_rows(path)
    texts = rows.column(rows.pick(smiles, _SMILES, "smiles"))
    places = [f"{path.name}, line {line}," for line in rows.lines]
    y, names = class_numbers(rows.column(rows.pick(label, LABELS, "label")), places)
    graphs = clean(molecules(texts, y, places, names))
    split, made = complete_split(splits_of(rows, places), graphs.store.y, split_seed)
    notes = ["features: the element of each atom, one-hot; kinds of bonds are not used", *made]
    return make_task(path.stem, graphs, split, notes=notes)


def molecules(
    texts: Sequence[str], y: torch.Tensor, places: Sequence[str], label_names: tuple[str, ...] = ()
) -> LooseGraphs:
    """Molecules as graphs, with one-hot elements as features; ``feature_names`` are the elements' symbols.

    Args:
        texts: SMILES, one a molecule.
        y: a class each.
        places: where each one stands, for the messages.
        label_names: what the classes are called.
    """
    parsed = _parse(texts, places)
    symbols = [[str(atom.GetSymbol()) for atom in molecule.GetAtoms()] for molecule in parsed]
    elements = sorted({symbol for one in symbols for symbol in one})
    order = {symbol: number for number, symbol in enumerate(elements)}
    codes = torch.tensor([order[symbol] for one in symbols for symbol in one])
    check_room(len(codes), len(elements), "the atoms' elements")
    bonds = [[(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()] for molecule in parsed]
    num_nodes = torch.tensor([len(one) for one in symbols])
    pairs = torch.tensor([pair for one in bonds for pair in one], dtype=torch.long).reshape(-1, 2).t()
    pairs = pairs + repeat(pointers(num_nodes)[:-1], torch.tensor([len(one) for one in bonds]))
    return LooseGraphs(
        x=torch.nn.functional.one_hot(codes, len(elements)).float(),
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        num_nodes=num_nodes,
        y=y,
        label_names=label_names,
        feature_names=tuple(elements),
    )


def _parse(texts: Sequence[str], places: Sequence[str]) -> list[Any]:
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise MissingDataError("SMILES need RDKit: install it with pip install 'graphcondense[mol]'") from None
    found = []
    with rdBase.BlockLogs():  # it says the same at length
        for text, place in zip(texts, places, strict=True):
            if len(text) > _LONGEST:
                raise InputError(f"{place} has a SMILES of {len(text):,} characters, at most {_LONGEST:,} are read")
            try:
                molecule = Chem.MolFromSmiles(text)
            except Exception:  # of Boost.Python: whatever the parser throws
                molecule = None
            if molecule is None or molecule.GetNumAtoms() == 0:
                raise InputError(f"{place} has {short(text)}, no SMILES that RDKit can read: mend it or take it out")
            found.append(molecule)
    return found
