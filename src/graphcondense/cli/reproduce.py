"""``graphcondense reproduce``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from graphcondense.cli.console import app, command, print_json, print_sheet, say, tell
from graphcondense.cli.grids import run_with_bars
from graphcondense.cli.options import AsJson, DataRoot, Threads, parse_counts, parse_list, set_threads
from graphcondense.errors import check_choice
from graphcondense.presets import Preset
from graphcondense.reproduce import EXPERIMENTS, FULL, Bench
from graphcondense.runs.condense import trained_networks
from graphcondense.runs.folder import make_folder
from graphcondense.runs.grid import Cell
from graphcondense.tasks import GraphTask, NodeTask


@app.command("reproduce")
@command
def reproduce(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(EXPERIMENTS)}.")],
    dataset: Annotated[str | None, typer.Option(help="Datasets, e.g. MUTAG,NCI1; else see WHAT's own.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's protocol; else minutes, and it says the cuts.")] = (
        False
    ),
    condense_seeds: Annotated[int | None, typer.Option(help="Condensations for each method and size.")] = None,
    eval_seeds: Annotated[int | None, typer.Option(help="Trainings for each condensation.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations of a condensation.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of a training.")] = None,
    validate_every: Annotated[int | None, typer.Option(help="Epochs between two looks at validation.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these of WHAT's methods, e.g. random,doscond.")] = None,
    sizes: Annotated[
        str | None, typer.Option("-n", "--graphs-per-class", help="Only these graphs per class, e.g. 1,10.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Folder; what it has is continued.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew instead of continuing.")] = False,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """The paper's tables and figures, ours beside the paper's: table1, fig-size and others."""
    set_threads(threads)
    experiment = EXPERIMENTS[check_choice("experiment", what, EXPERIMENTS)]
    given: dict[str, Any] = {
        "condense_seeds": condense_seeds,
        "eval_seeds": eval_seeds,
        "iterations": iterations,
        "epochs": epochs,
        "validate_every": validate_every,
        "methods": None if methods is None else tuple(parse_list("--methods", methods)),
        "sizes": None if sizes is None else tuple(parse_counts("-n", sizes)),
    }
    changed = {name: value for name, value in given.items() if value is not None}
    effort = replace(FULL if full else experiment.quick, **changed)
    names = parse_list("--dataset", dataset) if dataset else experiment.datasets if full else experiment.quick_datasets
    folder = out_folder or Path("runs/reproduce") / ("full" if full and not changed else "cut")
    make_folder(folder)

    def run(cells: list[Cell], task: GraphTask | NodeTask, preset: Preset, part: Path) -> list[dict[str, Any]]:
        go_on = "the same command, without --force, goes on from there"
        return run_with_bars(cells, task, preset, part, resume=not force, force=force, jobs=jobs, go_on=go_on)

    bench = Bench(effort, folder, run, trained_networks(), data_root, say)
    asked = ["graphcondense", "reproduce", what, *(["--dataset", dataset] if dataset else [])]
    asked += ["--full"] if full else []
    lists = {"methods": ("--methods", methods), "sizes": ("-n", sizes)}
    for name, value in changed.items():
        option, text = lists.get(name, (f"--{name.replace('_', '-')}", str(value)))
        asked += [option, str(text)]
    results = [experiment.run(bench, name, asked) for name in names]
    pictures = experiment.draw(results, folder)
    if as_json:
        print_json({"results": results, "pictures": [str(path) for path in pictures]})
        return
    tell(experiment.title)
    for sheet in experiment.sheets(results):
        print_sheet(sheet)
    for result in results:
        tell(f"{result['dataset']}: {'; '.join(result['cuts']) or 'the full protocol'}")
    left = [name for name in experiment.datasets if name not in names]
    if left and not dataset:
        tell(f"left out: {', '.join(left)} (--dataset, or --full for all)")
    for result in results:
        name = f"{what}-{result['dataset']}.json"
        tell(f"data: {folder / name}")
    for path in pictures:
        tell(f"picture: {path}")
