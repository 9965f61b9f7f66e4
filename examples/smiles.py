"""From a file of SMILES to condensed molecules and a page to look at them. Needs RDKit: the extra ``mol``.

    python examples/smiles.py my_molecules.csv --smiles smiles --label label --out molecules

Without a file, a made-up one is used: chains with and without an acid group.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import torch
from rdkit import Chem
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.presets import preset
from graphcondense.report.page import run_page
from graphcondense.report.page.folder import RunFolder
from graphcondense.runs.condense import condense_with, write_run


def molecules(rows: list[tuple[str, int]]) -> tuple[list[Data], list[str]]:
    """A graph a molecule, with one-hot elements as features, and the elements' symbols in their order."""
    parsed = [(Chem.MolFromSmiles(text), label) for text, label in rows]
    for (text, _), (molecule, _) in zip(rows, parsed, strict=True):
        if molecule is None:
            raise SystemExit(f"{text!r} is no SMILES that RDKit can read: mend it or take it out")
    symbols = sorted({atom.GetSymbol() for molecule, _ in parsed for atom in molecule.GetAtoms()})
    graphs = []
    for molecule, label in parsed:
        kinds = torch.tensor([symbols.index(atom.GetSymbol()) for atom in molecule.GetAtoms()])
        pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
        edges = torch.tensor([*pairs, *((b, a) for a, b in pairs)], dtype=torch.long).reshape(-1, 2).t()
        graphs.append(Data(x=torch.eye(len(symbols))[kinds], edge_index=edges, y=torch.tensor([label])))
    return graphs, symbols


def made_up() -> list[tuple[str, int]]:
    """Chains of carbon with a branch: amines and alcohols (0), and acids (1)."""
    ends = {0: ("O", "N", "OC", "CN"), 1: ("C(=O)O", "CC(=O)O", "C(C(=O)O)N", "C(=O)OC(=O)O")}
    return [
        ("C" * length + f"({'C' * branch})" + "C" + end, label)
        for length in range(2, 8)
        for branch in range(1, 4)
        for label, group in ends.items()
        for end in group
    ]


def main(arguments: list[str] | None = None) -> Path:
    """Condense the molecules, snap atoms to elements, write the run folder and its page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--smiles", default="smiles")
    parser.add_argument("--label", default="label")
    parser.add_argument("--per-class", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("molecules"))
    options = parser.parse_args(arguments)
    rows = made_up()
    if options.file is not None:
        with options.file.open(newline="", encoding="utf-8") as stream:
            rows = [(row[options.smiles], int(row[options.label])) for row in csv.DictReader(stream)]
    graphs, symbols = molecules(rows)
    task = gc.graph_task(graphs, name="molecules")
    settings = preset("default", task)
    method = settings.method("doscond", graphs_per_class=options.per_class, iterations=options.iterations)
    condensed, seconds = condense_with(method, task, settings)
    condensed = replace(condensed, info=condensed.info | {"feature_names": symbols})
    write_run(options.out, condensed, seconds, snapped=gc.snap(condensed, task))
    page = options.out / "report.html"
    page.write_text(run_page(RunFolder.read(options.out), task, seeds=3).html, encoding="utf-8")
    print(f"{len(rows)} molecules became {len(condensed)}: look at {page}")
    return page


if __name__ == "__main__":
    main()
