"""``graphcondense condense``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from graphcondense.cli.console import app, command, out, print_json
from graphcondense.cli.options import (
    AsJson,
    DataRoot,
    DatasetArgument,
    Force,
    PresetName,
    Settings,
    Threads,
    parse_settings,
    set_threads,
)
from graphcondense.cli.tasks import load_task, ratio_facts, size_text
from graphcondense.errors import InputError
from graphcondense.methods import METHODS, NODE_METHODS
from graphcondense.models import KINDS
from graphcondense.presets import preset as find_preset
from graphcondense.report.tables import bytes_text, facts_table, seconds_text
from graphcondense.runs.condense import check_folder, condense_with, make_folder, trained_networks, write_run
from graphcondense.runs.progress import ProgressCallback, progress_bar
from graphcondense.synthetic import check_categories
from graphcondense.synthetic import snap as snap_features
from graphcondense.tasks import GraphTask, NodeTask


def budget_of(
    task: GraphTask | NodeTask, graphs_per_class: int | None, nodes: int | None, ratio: float | None, room: int | None
) -> dict[str, Any]:
    """The budget by name, as far as it was given and fits the task."""
    if isinstance(task, NodeTask):
        if graphs_per_class is not None or room is not None:
            raise InputError(
                f"{task.name} is one graph: give its budget by --nodes or --ratio, not -n or --graph-nodes"
            )
        if nodes is None and ratio is None:
            raise InputError(f"{task.name} is one graph: give --nodes 70 or --ratio 0.026")
        return {"nodes": nodes, "ratio": ratio}
    if nodes is not None or ratio is not None:
        raise InputError(f"{task.name} has many graphs: give the budget by -n, not --nodes or --ratio")
    return {"graphs_per_class": 10 if graphs_per_class is None else graphs_per_class, "nodes": room}


@app.command("condense")
@command
def condense(
    dataset: DatasetArgument = "digits",
    graphs_per_class: Annotated[
        int | None, typer.Option("-n", "--graphs-per-class", help="Graphs each class gets; else 10.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Node tasks: nodes of the small graph.")] = None,
    ratio: Annotated[float | None, typer.Option(help="Node tasks: the same as a share of the graph's.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join({**METHODS, **NODE_METHODS})}.")] = "doscond",
    preset: PresetName = "default",
    seed: Annotated[int, typer.Option(help="Decides everything that is drawn.")] = 0,
    iterations: Annotated[int | None, typer.Option(help="Iterations (fresh networks); else the preset's.")] = None,
    real_batch: Annotated[str | None, typer.Option(help="Real graphs of a class an iteration, or 'all'.")] = None,
    model: Annotated[str | None, typer.Option(help=f"Network to match with: {', '.join(KINDS)}.")] = None,
    graph_nodes: Annotated[int | None, typer.Option(help="Nodes of a synthetic graph; else the preset's.")] = None,
    settings: Settings = None,
    snap: Annotated[
        bool, typer.Option("--snap", help="Also a file whose features are the nearest categories, e.g. atoms.")
    ] = False,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Run folder to write.")] = None,
    force: Force = False,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Condense a dataset into a run folder with one small file."""
    set_threads(threads)
    task = load_task(dataset, data_root)
    chosen = find_preset(preset, task)
    if model is not None:
        chosen = chosen.with_model(model)
    extra = parse_settings(settings)
    if real_batch is not None:
        if real_batch != "all" and not real_batch.isdigit():
            raise InputError(f"--real-batch {real_batch!r} must be a whole number or 'all'")
        extra["real_batch"] = real_batch if real_batch == "all" else int(real_batch)
    named: dict[str, Any] = {"seed": seed, "iterations": iterations}
    named |= budget_of(task, graphs_per_class, nodes, ratio, graph_nodes)
    condenser = chosen.method(method, **(named | extra))
    size = condenser.size if ratio is None else ratio
    folder = out_folder or Path("runs") / f"{task.name}-{method}-{size}-{seed}"
    condenser.check(task)
    if snap:
        check_categories(task)
    check_folder(folder, force=force)
    make_folder(folder)
    with progress_bar(f"condensing {task.name}") as advance:
        condensed, seconds = condense_with(condenser, task, chosen, [ProgressCallback(advance)], trained_networks())
    result = write_run(folder, condensed, seconds, snap_features(condensed, task) if snap else None)
    if as_json:
        print_json(result)
        return
    share = result["bytes"] / result["original_bytes"]
    facts = [
        ("condensed", f"{task.name}, {size_text(task)}, {bytes_text(result['original_bytes'])}"),
        ("into", f"{result['graphs']} graphs, {result['nodes']} nodes, {result['edges']} edges"),
        ("file", result["file"]),
        ("bytes", f"{bytes_text(result['bytes'])} ({share:.1%} of the original)"),
        *([("snapped", f"{result['snapped']['file']}, {bytes_text(result['snapped']['bytes'])}")] if snap else []),
        *ratio_facts(condensed),
        ("time", seconds_text(seconds)),
        ("next", f"graphcondense evaluate {shlex.quote(str(folder))}"),
    ]
    out().print(facts_table(facts))
