"""``graphcondense quickstart``."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, print_json, print_sheet, tell
from graphcondense.cli.grids import run_with_bars
from graphcondense.cli.options import AsJson, Force, set_threads
from graphcondense.cli.tasks import load_task
from graphcondense.presets import preset as find_preset
from graphcondense.report.comparison import comparison_sheet
from graphcondense.runs.folder import CONDENSED
from graphcondense.runs.grid import plan
from graphcondense.synthetic import CondensedDataset
from graphcondense.training import Recipe

QUICK_RECIPE = Recipe(epochs=200, rate=0.01)
QUICK_SETTINGS = {"iterations": 300, "real_batch": 32}


@app.command("quickstart")
@command
def quickstart(
    out_folder: Annotated[Path | None, typer.Option("--out", help="Folder; else runs/quickstart, anew.")] = None,
    force: Force = False,
    threads: Annotated[int, typer.Option(help="Threads to compute with: graphs this small gain little by more.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Condense the embedded digits, compare with random graphs and the whole set: two minutes."""
    set_threads(threads)
    task = load_task("digits", None)
    usual = find_preset("default", task)
    chosen = replace(usual, network=replace(usual.network, hidden=64), recipe=QUICK_RECIPE)
    cells = plan(chosen, ["whole", "random", "doscond"], [10], condense_seeds=1, eval_seeds=3, settings=QUICK_SETTINGS)
    folder = out_folder or Path("runs/quickstart")
    anew = force or out_folder is None
    rows = run_with_bars(
        cells, task, chosen, folder, resume=False, force=anew, jobs=1, go_on="the quickstart always begins anew"
    )
    if as_json:
        print_json({"rows": rows})
        return
    CondensedDataset.load(folder / "doscond-10-0.safetensors").save(folder / CONDENSED, force=True)
    print_sheet(comparison_sheet(rows))
    tell("A small run: 64 units of 128, 300 iterations of 1,000, 200 epochs of 500.\n")
    tell("What to try next")
    tell(f"  graphcondense inspect {shlex.quote(str(folder))} --picture digits.svg")
    tell(f"  graphcondense evaluate {shlex.quote(str(folder))} --models gcn,gin,sage")
    tell("  graphcondense compare digits -n 1,10,50 --condense-seeds 3 --jobs 2")
    tell("  graphcondense datasets")
    tell("Your own graphs: README.md, 'Your own data in ten lines'.")
