"""From a file of SMILES to condensed molecules and a page to look at them. Needs RDKit: the extra ``mol``.

    python examples/smiles.py my_molecules.csv --smiles smiles --label label --out molecules

Without a file, a made-up one is used: chains with and without an acid group. The same on the command line is
``graphcondense condense my_molecules.csv --snap --out molecules`` and ``graphcondense report molecules``.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import graphcondense as gc
from graphcondense.presets import preset
from graphcondense.report.page import run_page
from graphcondense.report.page.folder import RunFolder
from graphcondense.runs.condense import condense_with, write_run


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--smiles", default="smiles")
    parser.add_argument("--label", default="label")
    parser.add_argument("--per-class", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("molecules"))
    options = parser.parse_args(arguments)
    file = options.file
    if file is None:
        options.out.mkdir(parents=True, exist_ok=True)
        file = options.out / "molecules.csv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([("smiles", "label"), *made_up()])
    try:
        task = gc.load(file, smiles=options.smiles, label=options.label)
    except gc.GraphcondenseError as error:
        raise SystemExit(str(error)) from None
    settings = preset("default", task)
    method = settings.method("doscond", graphs_per_class=options.per_class, iterations=options.iterations)
    condensed, seconds = condense_with(method, task, settings)
    write_run(options.out, condensed, seconds, snapped=gc.snap(condensed, task))
    page = options.out / "report.html"
    page.write_text(run_page(RunFolder.read(options.out), task, seeds=3).html, encoding="utf-8")
    print(f"{len(task.graphs)} molecules became {len(condensed)}: look at {page}")
    return page


if __name__ == "__main__":
    main()
