"""``graphcondense condense``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from graphcondense import datasets
from graphcondense.cli.console import app, command, out, print_json, say
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
    parse_settings,
    set_threads,
)
from graphcondense.cli.tasks import check_proportion, load_task, ratio_facts, size_text, usual_size
from graphcondense.datasets.assembly import counted
from graphcondense.distributed import world
from graphcondense.errors import InputError, check_at_least, check_choice
from graphcondense.methods import METHODS, NODE_METHODS, Condenser
from graphcondense.models import KINDS
from graphcondense.presets import Preset, preset_of
from graphcondense.presets import preset as find_preset
from graphcondense.report.tables import bytes_text, facts_table, seconds_text
from graphcondense.runs.callbacks import EarlyStop, Every, TensorBoard
from graphcondense.runs.condense import Interrupted, condense_into, trained_networks
from graphcondense.runs.progress import ProgressCallback, progress_bar
from graphcondense.synthetic import CondensedDataset, CondensedGraph, check_categories
from graphcondense.synthetic import snap as snap_features
from graphcondense.tasks import GraphTask


def budget_of(
    dataset: str,
    one_graph: bool,
    graphs_per_class: int | None,
    nodes: int | None,
    ratio: float | None,
    room: int | None,
) -> dict[str, Any]:
    """The budget by name, as far as it was given and fits the dataset."""
    if one_graph:
        if graphs_per_class is not None or room is not None:
            raise InputError(f"{dataset} is one graph: give its budget by --nodes or --ratio, not -n or --graph-nodes")
        if nodes is None and ratio is None:
            raise InputError(f"{dataset} is one graph: give --nodes 70 or --ratio 0.026")
        return {"nodes": nodes, "ratio": ratio}
    if nodes is not None or ratio is not None:
        raise InputError(f"{dataset} has many graphs: give the budget by -n, not --nodes or --ratio")
    return {"graphs_per_class": graphs_per_class, "nodes": room}


def soft_labels(condensed: CondensedDataset | CondensedGraph) -> bool:
    """Whether labels are probabilities instead of classes."""
    return isinstance(condensed, CondensedDataset) and condensed.graphs.y.is_floating_point()


@contextmanager
def ways_to_go_on(folder: Path) -> Iterator[None]:
    """Say how to go on if the work within is interrupted."""
    try:
        yield
    except Interrupted as error:
        words = [word for word in sys.argv[1:] if word not in ("--resume", "--force")]
        start = ["graphcondense"]
        if "LOCAL_WORLD_SIZE" in os.environ:  # torchrun's
            start = ["torchrun", "--nproc-per-node", os.environ["LOCAL_WORLD_SIZE"], "-m", "graphcondense"]
        again = shlex.join([*start, *words, "--resume"])
        kept = "nothing was done yet" if error.saved is None else f"iteration {error.saved} is kept in {folder}"
        say(f"{kept}; go on with: {again}")
        raise


@app.command("condense")
@command
def condense(
    dataset: DatasetArgument = "digits",
    graphs_per_class: Annotated[
        int | None, typer.Option("-n", "--graphs-per-class", help="Graphs each class gets; else 10 or all it has.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Node tasks: nodes of the small graph.")] = None,
    ratio: Annotated[float | None, typer.Option(help="Node tasks: the same as a share of the graph's.")] = None,
    in_proportion: InProportion = False,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join({**METHODS, **NODE_METHODS})}; else the preset's best that has the options."
        ),
    ] = None,
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
    resume: Resume = False,
    force: Force = False,
    checkpoint_every: Annotated[
        str, typer.Option(help="Save after so many iterations, e.g. 100, or seconds, e.g. 60s.")
    ] = "60s",
    early_stop: Annotated[
        int | None, typer.Option(help="Judge on the validation graphs every so many iterations; keep the best.")
    ] = None,
    patience: Annotated[int, typer.Option(help="With --early-stop: looks without a better score before it ends.")] = 5,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard (an extra).")] = None,
    shard_batch: Annotated[
        str,
        typer.Option(help="With torchrun: --real-batch is of all ranks together (global), or of each rank (each)."),
    ] = "global",
    timeout: Annotated[float, typer.Option(help="With torchrun: seconds until a silent rank counts as lost.")] = 600,
    threads: Threads = None,
    deterministic: Deterministic = False,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Condense a dataset into a run folder with one small file.

    Started by torchrun, the processes condense together.
    """
    set_threads(threads, deterministic)
    check_choice("--shard-batch", shard_batch, ("global", "each"))
    check_at_least("--timeout", timeout, 1)
    if resume and force:
        raise InputError("--resume goes on and --force begins anew: give one of the two")
    every = Every.parse(checkpoint_every)
    if early_stop is not None:
        EarlyStop(early_stop, patience)
    extra = parse_settings(settings)
    if real_batch is not None:
        if real_batch != "all" and not real_batch.isdigit():
            raise InputError(f"--real-batch {real_batch!r} must be a whole number or 'all'")
        extra["real_batch"] = real_batch if real_batch == "all" else int(real_batch)
    one_graph = datasets.has_one_graph(dataset)
    check_proportion(dataset, one_graph, in_proportion)
    named = {"seed": seed, "iterations": iterations, "in_proportion": in_proportion or None}
    named |= budget_of(dataset, one_graph, graphs_per_class, nodes, ratio, graph_nodes)

    known = preset_of(preset, dataset, one_graph)
    if method is None:
        given = {key for key, value in (named | extra).items() if value is not None}
        given |= {"iterations"} if early_stop is not None or tensorboard is not None else set()
        method = known.usual_method(given, in_parts=int(os.environ.get("WORLD_SIZE", "1")) > 1)  # torchrun's
        if method != (best := known.usual[0]):
            lacking = sorted(given - {one.name for one in fields(known.methods[best])}) or [
                "way to work in several processes"
            ]
            say(f"condensing with {method}: {best}, which is usually better, has no {', '.join(lacking)}")

    def method_of(settings: Preset, **more: Any) -> Condenser:
        chosen = settings if model is None else settings.with_model(model)
        return chosen.method(method, **(named | more | extra))

    method_of(known)  # what is wrong is said before anything is loaded
    if early_stop is not None and "iterations" not in {one.name for one in fields(known.methods[method])}:
        raise InputError(f"--early-stop does not apply: {method} has no iterations to stop")
    with world(timeout) as ranks:
        if deterministic and ranks.size > 1:
            raise InputError(
                f"--deterministic with {ranks.size} ranks: sums over ranks depend on their number; run without torchrun"
            )
        task = load_task(dataset, data_root, ranks, shard_batch == "global")
        chosen = find_preset(preset, task)
        if model is not None:
            chosen = chosen.with_model(model)
        more = {}
        if isinstance(task, GraphTask) and graphs_per_class is None:
            more = {"graphs_per_class": usual_size(task, in_proportion)}
        condenser = method_of(chosen, **more)
        size = condenser.size if ratio is None else ratio
        folder = out_folder or Path("runs") / f"{task.name}-{method}-{size}-{seed}"
        condenser.check(task)
        if snap:
            if ranks.size > 1:
                raise InputError(f"--snap needs all real graphs: run graphcondense snap {folder} when this is done")
            check_categories(task)
        stop = None if early_stop is None else EarlyStop(early_stop, patience, protocol=chosen.protocol)
        hooks = [*([stop] if stop else []), *([TensorBoard(tensorboard)] if tensorboard and ranks.first else [])]
        decided: dict[str, Any] = {"early_stop": stop.settings} if stop else {}
        if ranks.size > 1 and shard_batch == "each":
            decided |= {"shard_batch": "each", "ranks": ranks.size}
        with progress_bar(f"condensing {task.name}") as advance, ways_to_go_on(folder):
            condensed, result = condense_into(
                folder,
                condenser,
                task,
                chosen,
                [ProgressCallback(advance), *hooks],
                trained_networks(),
                resume=resume,
                force=force,
                every=every,
                tell=say,
                decided=decided,
                snapped=(lambda made: snap_features(made, task)) if snap else None,
            )
        if stop is not None and stop.best_iteration:
            say(f"kept iteration {stop.best_iteration}, the best of {result['iterations']} on the validation graphs")
    if not ranks.first:
        return
    if as_json:
        print_json(result)
        return
    share = result["bytes"] / result["original_bytes"]
    bare = "" if result["edges"] else " (no edge was learned: the features alone stand for the real graphs)"
    facts = [
        ("condensed", f"{task.name}, {size_text(task)}, {bytes_text(result['original_bytes'])}"),
        ("method", method),
        ("into", f"{counted(result['graphs'], 'graph')}, {result['nodes']} nodes, {result['edges']} edges{bare}"),
        ("file", result["file"]),
        ("bytes", f"{bytes_text(result['bytes'])} ({share:.1%} of the original)"),
        *([("snapped", f"{result['snapped']['file']}, {bytes_text(result['snapped']['bytes'])}")] if snap else []),
        *ratio_facts(condensed),
        *([("made of", result["made_of"])] if "made_of" in result else []),
        *([("labels", "soft: probabilities of the classes")] if soft_labels(condensed) else []),
        ("time", seconds_text(result["seconds"])),
        ("next", f"graphcondense evaluate {shlex.quote(str(folder))}"),
    ]
    out().print(facts_table(facts))
