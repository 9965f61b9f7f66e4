"""``graphcondense compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphcondense import datasets
from graphcondense.cli.console import app, command, print_json, print_sheet, tell
from graphcondense.cli.grids import run_with_bars
from graphcondense.cli.options import (
    AsJson,
    DataRoot,
    DatasetArgument,
    Deterministic,
    Force,
    InProportion,
    PresetName,
    Resume,
    Settings,
    Threads,
    parse_counts,
    parse_list,
    parse_settings,
    set_threads,
)
from graphcondense.cli.tasks import check_proportion, load_task, usual_size
from graphcondense.errors import InputError, check_choice
from graphcondense.evaluation import NODE_KINDS
from graphcondense.methods import METHODS, NODE_METHODS, versions
from graphcondense.models import KINDS
from graphcondense.presets import preset as find_preset
from graphcondense.presets import preset_of
from graphcondense.report.comparison import comparison_sheet, write_comparison
from graphcondense.runs.grid import plan
from graphcondense.tasks import GraphTask


@app.command("compare")
@command
def compare(
    dataset: DatasetArgument = "digits",
    sizes: Annotated[
        str | None, typer.Option("-n", "--graphs-per-class", help="Graphs per class, e.g. 1,10,50; else 1,10.")
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Node tasks: nodes of the small graph, e.g. 35,70.")] = None,
    in_proportion: InProportion = False,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Methods, of {', '.join({**METHODS, **NODE_METHODS})}; else whole, random and the preset's best."
        ),
    ] = None,
    preset: PresetName = "default",
    condense_seeds: Annotated[int, typer.Option(help="Condensations for each method and size.")] = 5,
    eval_seeds: Annotated[int, typer.Option(help="Trainings for each condensation.")] = 10,
    model: Annotated[str | None, typer.Option(help="Network to judge with instead of the preset's.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations (fresh networks); else the preset's.")] = None,
    settings: Settings = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    backend: Annotated[str, typer.Option(help="Whose processes: local, dask or ray (extras).")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask or Ray cluster; else one is started here with --jobs workers.")
    ] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for every cell; else runs/compare-DATASET-PRESET.")
    ] = None,
    resume: Resume = False,
    force: Force = False,
    threads: Threads = None,
    deterministic: Deterministic = False,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Methods against each other: condense, train, score; mean and standard deviation over all trainings."""
    set_threads(threads, deterministic)
    if deterministic and backend != "local":
        raise InputError(f"--deterministic with --backend {backend}: other machines may compute other bits; run here")
    one_graph = datasets.has_one_graph(dataset)
    check_proportion(dataset, one_graph, in_proportion)
    if one_graph and (sizes is not None or nodes is None):
        raise InputError(f"{dataset} is one graph: give --nodes, e.g. --nodes 35,70")
    if not one_graph and nodes is not None:
        raise InputError(f"{dataset} has many graphs: give -n, e.g. -n 1,10, not --nodes")
    counts = parse_counts("--nodes" if one_graph else "-n", (nodes if one_graph else sizes) or "1")
    if model is not None:
        check_choice("model", model, NODE_KINDS if one_graph else KINDS)
    extra = parse_settings(settings) | ({} if iterations is None else {"iterations": iterations})
    extra |= {"in_proportion": True} if in_proportion else {}
    known = preset_of(preset, dataset, one_graph)
    names = parse_list("--methods", methods) if methods is not None else ["whole", "random", known.usual_method(extra)]
    plan(known, names, counts, condense_seeds, eval_seeds, model, extra)
    task = load_task(dataset, data_root)  # after all that can be wrong without it
    chosen = find_preset(preset, task)
    if isinstance(task, GraphTask) and sizes is None:
        counts = sorted({1, usual_size(task, in_proportion)})
    cells = plan(chosen, names, counts, condense_seeds, eval_seeds, model, extra)
    folder = out_folder or Path("runs") / f"compare-{task.name}-{preset}"
    rows = run_with_bars(cells, task, chosen, folder, resume, force, jobs, backend, scheduler)
    result = {"dataset": task.name, "preset": preset, "folder": str(folder), "rows": rows, "versions": versions()}
    write_comparison(folder, result)
    if as_json:
        print_json(result)
        return
    print_sheet(comparison_sheet(rows))
    tell(f"{folder}: table.md, table.csv, table.json, and every cell")
