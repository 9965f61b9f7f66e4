"""``graphcondense shard``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, out, print_json
from graphcondense.cli.options import AsJson, DataRoot, DatasetArgument, Force
from graphcondense.cli.tasks import load_task
from graphcondense.datasets import split_task, write_shards
from graphcondense.errors import InputError, check_count
from graphcondense.report.tables import bytes_text, facts_table
from graphcondense.tasks import GraphTask


@app.command("shard")
@command
def shard(
    dataset: DatasetArgument = "digits",
    shards: Annotated[int, typer.Option(help="Files to write: as many as there will be ranks, or more.")] = 2,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Folder to write; else shards/DATASET.")] = None,
    force: Force = False,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Write a dataset as a folder of shards, of which each rank of a run on several machines reads its own."""
    check_count("--shards", shards)
    task = load_task(dataset, data_root)
    if not isinstance(task, GraphTask):
        raise InputError(f"{task.name} is one graph, which cannot be cut into shards: give a dataset of many graphs")
    folder = out_folder or Path("shards") / task.name
    write_shards(split_task(task, shards), folder, force=force)
    size = sum(file.stat().st_size for file in folder.glob("shard-*.safetensors"))
    if as_json:
        graphs = {"train": len(task.train), "val": len(task.val), "test": len(task.test)}
        print_json({"folder": str(folder), "dataset": task.name, "shards": shards, "bytes": size, **graphs})
        return
    again = f"torchrun --nproc-per-node {shards} -m graphcondense condense {shlex.quote(f'{folder}/')}"
    facts = [
        ("wrote", f"{task.name}, {len(task.train):,} training graphs, as {shards} shards in {folder}"),
        ("bytes", bytes_text(size)),
        ("next", again),
    ]
    out().print(facts_table(facts))
