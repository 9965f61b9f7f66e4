"""The command line. Results go to standard output, progress and messages to standard error."""

from __future__ import annotations

import functools
import json
import shlex
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import torch
import typer
from joblib.externals.loky.process_executor import TerminatedWorkerError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphcondense import __version__, datasets
from graphcondense.errors import GraphcondenseError, InputError, check_choice
from graphcondense.evaluation import NODE_KINDS, own_protocol
from graphcondense.evaluation import evaluate_any as judge
from graphcondense.methods import METHODS, NODE_METHODS, versions
from graphcondense.metrics import METRIC_TITLES
from graphcondense.models import KINDS
from graphcondense.presets import Preset
from graphcondense.presets import preset as find_preset
from graphcondense.report.comparison import comparison_sheet, write_comparison
from graphcondense.report.drawing import draw_svg
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import bytes_text, facts_table, score_text, seconds_text
from graphcondense.reproduce import EXPERIMENTS, FULL, Bench
from graphcondense.runs.condense import (
    CONDENSED,
    check_folder,
    condense_with,
    find_condensed,
    make_folder,
    trained_networks,
    write_run,
)
from graphcondense.runs.grid import Cell, plan, run_grid, table_rows
from graphcondense.runs.progress import ProgressCallback, progress_bar
from graphcondense.synthetic import CondensedDataset, CondensedGraph, load_condensed, summary
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Recipe

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Turn a large graph dataset into a few small graphs that train a GNN nearly as well.",
)
P = ParamSpec("P")
QUICK_RECIPE = Recipe(epochs=200, rate=0.01)
QUICK_SETTINGS = {"iterations": 300, "real_batch": 32}

DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="Name of a dataset (see `datasets`), or a folder in TU format.")
]
DataRoot = Annotated[Path | None, typer.Option(help="Where the datasets are; else $GRAPHCONDENSE_DATA.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
PresetName = Annotated[str, typer.Option("--preset", help="Settings: default, or paper (faithful to the paper).")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; else all cores.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method, e.g. feature_rate=0.005. Repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]


def out() -> Console:
    """Standard output."""
    return Console(highlight=False)


def tell(message: str) -> None:
    """A line of the result, on standard output."""
    out().print(message, markup=False, emoji=False, soft_wrap=True)


def say(message: str) -> None:
    """A line for the user, on standard error."""
    console = Console(file=sys.stderr, highlight=False)
    console.print(message, markup=False, emoji=False, soft_wrap=not console.is_terminal)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn errors that the user can mend into one line and exit code 2, an interrupt into 130."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except GraphcondenseError as error:
            say(f"error: {error}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None

    return wrapped


def print_sheet(sheet: Sheet) -> None:
    """A table with its notes on standard output."""
    out().print(sheet.rich())
    for note in sheet.notes:
        out().print(note, markup=False)


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def load_task(dataset: str, data_root: Path | None) -> GraphTask | NodeTask:
    """The dataset, with what was assumed about it said on standard error."""
    with progress_bar(f"loading {dataset}") as advance:
        task = datasets.load(dataset, data_root=data_root, progress=lambda share: advance(round(share * 100), 100))
    for note in task.notes:
        say(f"{task.name}: {note}")
    return task


def size_text(task: GraphTask | NodeTask) -> str:
    """What training sees of a task, in words."""
    if isinstance(task, GraphTask):
        return f"{len(task.train):,} training graphs"
    graph = task.train[0]
    edges = int(graph.num_edges.sum())
    return f"{len(task.split.train):,} training nodes in a graph of {len(graph.y):,} nodes and {edges:,} edges"


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """``["feature_rate=0.005"]`` becomes ``{"feature_rate": 0.005}``; values are written as in TOML."""
    settings = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set {pair!r} is not NAME=VALUE, e.g. --set feature_rate=0.005")
        try:
            settings[name.strip().replace("-", "_")] = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            settings[name.strip().replace("-", "_")] = text
    return settings


def parse_list(option: str, text: str) -> list[str]:
    """``"a,b"`` becomes ``["a", "b"]``."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"{option} {text!r} is empty: give one or more, separated by commas")
    return list(dict.fromkeys(parts))


def parse_counts(option: str, text: str) -> list[int]:
    """``"1,10,50"`` becomes ``[1, 10, 50]``."""
    try:
        return list(dict.fromkeys(int(part) for part in parse_list(option, text)))
    except ValueError:
        raise InputError(f"{option} {text!r} must be whole numbers separated by commas, e.g. 1,10,50") from None


def set_threads(threads: int | None) -> None:
    """Use ``threads`` threads."""
    if threads is not None:
        if threads < 1:
            raise InputError(f"--threads {threads} must be at least 1")
        torch.set_num_threads(threads)


@app.command("datasets")
@command
def list_datasets(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """What is known, its size, and whether it is at hand offline."""
    rows: list[dict[str, Any]] = [
        {
            "name": info.name,
            "kind": info.kind,
            "graphs": info.graphs,
            "classes": info.classes,
            "nodes": info.avg_nodes,
            "edges": info.avg_edges,
            "metric": info.metric,
            "available": info.available(data_root),
            "missing": [str(path) for path in info.missing_files(data_root)],
        }
        for info in datasets.known()
    ]
    if as_json:
        print_json({"data_root": str(datasets.data_root(data_root)), "datasets": rows})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("name", "graphs", "classes", "nodes", "edges", "metric", "at hand"):
        table.add_column(name, justify="left" if name in ("name", "metric", "at hand") else "right")
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['graphs']:,}",
            str(row["classes"]),
            f"{row['nodes']:.1f}",
            f"{row['edges']:.1f}",
            row["metric"],
            "yes" if row["available"] else "no",
        )
    out().print(table)
    tell(f"\nnodes and edges: average of a graph. Data root: {datasets.data_root(data_root)}")
    tell("Your own: a folder in TU format, or PyG graphs in Python (gc.graph_task).")


def ratio_facts(condensed: CondensedDataset | CondensedGraph) -> list[tuple[str, str]]:
    """What the ratio is of, and what a dense float adjacency would take; for node tasks."""
    if isinstance(condensed, CondensedDataset):
        return []
    seen = condensed.info["original_nodes"]
    kind = (
        "training nodes, which is all that training sees" if condensed.info["inductive"] else "nodes of the whole graph"
    )
    dense = condensed.num_bytes + 4 * len(condensed) ** 2 - (len(condensed) * (len(condensed) - 1) // 2 + 7) // 8
    return [
        ("ratio", f"{len(condensed) / seen:.2%}: {len(condensed)} of {seen:,} {kind}"),
        ("dense", f"{bytes_text(dense)} with a dense float adjacency of the same graph"),
    ]


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
    check_folder(folder, force=force)
    make_folder(folder)
    with progress_bar(f"condensing {task.name}") as advance:
        condensed, seconds = condense_with(condenser, task, chosen, [ProgressCallback(advance)], trained_networks())
    result = write_run(folder, condensed, seconds)
    if as_json:
        print_json(result)
        return
    share = result["bytes"] / result["original_bytes"]
    facts = [
        ("condensed", f"{task.name}, {size_text(task)}, {bytes_text(result['original_bytes'])}"),
        ("into", f"{result['graphs']} graphs, {result['nodes']} nodes, {result['edges']} edges"),
        ("file", result["file"]),
        ("bytes", f"{bytes_text(result['bytes'])} ({share:.1%} of the original)"),
        *ratio_facts(condensed),
        ("time", seconds_text(seconds)),
        ("next", f"graphcondense evaluate {shlex.quote(str(folder))}"),
    ]
    out().print(facts_table(facts))


@app.command("evaluate")
@command
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="Run folder or condensed file.")],
    dataset: Annotated[str | None, typer.Option(help="Dataset to judge on; else the one it was made from.")] = None,
    models: Annotated[str | None, typer.Option(help=f"Networks, e.g. gcn,gin (of {', '.join(KINDS)}).")] = None,
    seeds: Annotated[int, typer.Option(help="Trainings, each with a seed of its own.")] = 10,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Train on condensed graphs, score on the real test graphs."""
    set_threads(threads)
    condensed = load_condensed(find_condensed(run))
    names = [None] if models is None else parse_list("--models", models)
    node = isinstance(condensed, CondensedGraph)
    for name in names:
        if name is not None:
            check_choice("model", name, NODE_KINDS if node else KINDS)
    task = load_task(dataset or _origin(condensed), data_root)
    own = own_protocol(condensed).network.kind
    results = {}
    for name in names:
        with progress_bar(f"training {seeds} x {name or own} on {len(condensed)} graphs") as advance:
            results[name or own] = judge(condensed, task, seeds=seeds, model=name, progress=advance)
    first = next(iter(results.values()))
    if as_json:
        by_model = {name: scores.to_dict() for name, scores in results.items()}
        print_json({"dataset": task.name, **first.to_dict(), "models": by_model})
        return
    title = Text(f"{task.name}: {METRIC_TITLES[task.metric]}")
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in ("network", "mean ± std", "trainings", "time"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for model, scores in results.items():
        text = score_text(scores.mean, scores.std, scores.metric)
        table.add_row(model, text, str(len(scores.per_seed)), seconds_text(scores.seconds))
    out().print(table)


def _origin(condensed: CondensedDataset | CondensedGraph) -> str:
    source = condensed.info.get("source")
    if not isinstance(source, str) or not source:
        raise InputError("made from graphs in Python: give --dataset NAME or FOLDER, or use gc.evaluate in Python")
    return source


@app.command("compare")
@command
def compare(
    dataset: DatasetArgument = "digits",
    sizes: Annotated[
        str | None, typer.Option("-n", "--graphs-per-class", help="Graphs per class, e.g. 1,10,50; else 1,10.")
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Node tasks: nodes of the small graph, e.g. 35,70.")] = None,
    methods: Annotated[str, typer.Option(help=f"Methods, of {', '.join({**METHODS, **NODE_METHODS})}.")] = (
        "whole,random,doscond"
    ),
    preset: PresetName = "default",
    condense_seeds: Annotated[int, typer.Option(help="Condensations for each method and size.")] = 5,
    eval_seeds: Annotated[int, typer.Option(help="Trainings for each condensation.")] = 10,
    model: Annotated[str | None, typer.Option(help="Network to judge with instead of the preset's.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations (fresh networks); else the preset's.")] = None,
    settings: Settings = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for every cell; else runs/compare-DATASET-PRESET.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue what --out has.")] = False,
    force: Force = False,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Methods against each other: condense, train, score; mean and standard deviation over all trainings."""
    set_threads(threads)
    names = parse_list("--methods", methods)
    task = load_task(dataset, data_root)
    chosen = find_preset(preset, task)
    if isinstance(task, NodeTask):
        if sizes is not None or nodes is None:
            raise InputError(f"{task.name} is one graph: give --nodes, e.g. --nodes 35,70")
        counts = parse_counts("--nodes", nodes)
    else:
        if nodes is not None:
            raise InputError(f"{task.name} has many graphs: give -n, e.g. -n 1,10, not --nodes")
        counts = parse_counts("-n", sizes or "1,10")
    if model is not None:
        check_choice("model", model, NODE_KINDS if isinstance(task, NodeTask) else KINDS)
    extra = parse_settings(settings) | ({} if iterations is None else {"iterations": iterations})
    cells = plan(chosen, names, counts, condense_seeds, eval_seeds, model, extra)
    folder = out_folder or Path("runs") / f"compare-{task.name}-{preset}"
    rows = run_with_bars(cells, task, chosen, folder, resume, force, jobs)
    result = {"dataset": task.name, "preset": preset, "folder": str(folder), "rows": rows, "versions": versions()}
    write_comparison(folder, result)
    if as_json:
        print_json(result)
        return
    print_sheet(comparison_sheet(rows))
    tell(f"{folder}: table.md, table.csv, table.json, and every cell")


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
    given = {
        "condense_seeds": condense_seeds,
        "eval_seeds": eval_seeds,
        "iterations": iterations,
        "epochs": epochs,
        "validate_every": validate_every,
    }
    changed = {name: value for name, value in given.items() if value is not None}
    effort = replace(FULL if full else experiment.quick, **changed)
    names = parse_list("--dataset", dataset) if dataset else experiment.datasets if full else experiment.quick_datasets
    folder = out_folder or Path("runs/reproduce") / ("full" if full and not changed else "cut")
    make_folder(folder)

    def run(cells: list[Cell], task: GraphTask | NodeTask, preset: Preset, part: Path) -> list[dict[str, Any]]:
        return run_with_bars(cells, task, preset, part, resume=not force, force=force, jobs=jobs)

    bench = Bench(effort, folder, run, trained_networks(), data_root, say)
    asked = ["graphcondense", "reproduce", what, *(["--dataset", dataset] if dataset else [])]
    asked += ["--full"] if full else []
    asked += [text for name, value in changed.items() for text in (f"--{name.replace('_', '-')}", str(value))]
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


@contextmanager
def kept_cells(folder: Path, done: list[dict[str, Any]]) -> Iterator[None]:
    """Say what is kept if the work within is interrupted, or if the system ends one of its processes."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"{len(done)} finished cells are kept in {folder}: --resume goes on from there")
        raise
    except TerminatedWorkerError:
        raise GraphcondenseError(
            f"the system ended one of the worker processes, perhaps for want of memory; {len(done)} finished cells are "
            f"kept in {folder}: go on with --resume, perhaps with fewer --jobs"
        ) from None


def run_with_bars(
    cells: list[Cell], task: GraphTask | NodeTask, preset: Preset, folder: Path, resume: bool, force: bool, jobs: int
) -> list[dict[str, Any]]:
    """Run a grid with its progress shown; the rows of its table."""
    done: list[dict[str, Any]] = []

    def show(rows: list[dict[str, Any]]) -> None:
        done[:] = rows
        if rows and sys.stderr.isatty():
            advance.show(comparison_sheet(table_rows(rows)).rich())
        else:
            say(f"{task.name}: {len(rows)} of {len(cells)} cells")

    with progress_bar(f"comparing on {task.name}") as advance, kept_cells(folder, done):
        rows = run_grid(
            cells,
            task,
            preset,
            folder=folder,
            resume=resume,
            force=force,
            jobs=jobs,
            store=trained_networks(),
            advance=advance,
            advance_cell=advance.detail,
            show=show,
        )
    return table_rows(rows)


def plain_text(value: object) -> str:
    """A setting for people: short numbers, no Python punctuation."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain_text(inner)}" for key, inner in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@app.command("inspect")
@command
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE|RUN", help="Condensed file or run folder.")],
    picture: Annotated[Path | None, typer.Option(help="Draw the graphs into this SVG file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Graphs, nodes, edges, bytes, settings, and where a condensed file came from."""
    path = find_condensed(file)
    condensed = load_condensed(path)
    if picture is not None:
        say(f"picture: {draw_svg(condensed, picture, force=force)}")
    facts = {"file": str(path), **summary(condensed), "metric": condensed.metric}
    facts |= {key: value for key, value in condensed.info.items() if key not in facts}
    if as_json:
        print_json(facts)
        return
    shown = {**facts, "bytes": f"{facts['bytes']:,}"}
    if "original_bytes" in facts:
        shown["bytes"] += f" ({facts['bytes'] / facts['original_bytes']:.1%} of the original)"
    lines = []
    for name, value in shown.items():
        if isinstance(value, dict):
            lines += [(f"{name}.{key}", plain_text(inner)) for key, inner in value.items()]
        elif name != "original_bytes":
            lines.append((name, value))
    lines += ratio_facts(condensed)
    out().print(facts_table(lines))


@app.command("quickstart")
@command
def quickstart(
    out_folder: Annotated[Path | None, typer.Option("--out", help="Folder; else runs/quickstart, anew.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Condense the embedded digits, compare with random graphs and the whole set: two minutes."""
    task = load_task("digits", None)
    usual = find_preset("default", task)
    chosen = replace(usual, network=replace(usual.network, hidden=64), recipe=QUICK_RECIPE)
    cells = plan(chosen, ["whole", "random", "doscond"], [10], condense_seeds=1, eval_seeds=3, settings=QUICK_SETTINGS)
    folder = out_folder or Path("runs/quickstart")
    rows = run_with_bars(cells, task, chosen, folder, resume=False, force=force or out_folder is None, jobs=1)
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


def _version(value: bool) -> None:
    if value:
        sys.stdout.write(f"graphcondense {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn a large graph dataset into a few small graphs that train a GNN nearly as well."""


def main() -> None:
    """Entry point: a wrong option, too, gets one line and exit code 2; being told to end is an interrupt."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that worker processes do not outlive this one
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        if error.format_message():  # empty when there was no command and the help was printed
            say(f"error: {error.format_message()} (--help lists what there is)")
        code = 2
    sys.exit(code)
