"""Options that several commands have, and what their text means."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from graphcondense.errors import InputError
from graphcondense.machine import be_deterministic

DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="Name of a dataset (see `datasets`), a folder (TU format, GraphML or GEXF files with labels.csv, shards), "
        "a .csv of SMILES, or one .graphml or .gexf file. Behind a path: ::label=NAME, ::smiles=NAME.",
    ),
]
DataRoot = Annotated[Path | None, typer.Option(help="Where the datasets are; else $GRAPHCONDENSE_DATA.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
PresetName = Annotated[str, typer.Option("--preset", help="Settings: default, or paper (faithful to the paper).")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; else all cores.")]
Deterministic = Annotated[
    bool,
    typer.Option("--deterministic", help="The same bits whatever the number of threads: computes with one."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method, e.g. feature_rate=0.005. Repeatable."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what --out has.")]
InProportion = Annotated[
    bool,
    typer.Option("--in-proportion", help="As many graphs in all, but each class its share of them, one at least."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
_THREADS_A_CORE = 4


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """``["feature_rate=0.005"]`` becomes ``{"feature_rate": 0.005}``; values are written as in TOML."""
    settings = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set {pair!r} is not NAME=VALUE, e.g. --set feature_rate=0.005")
        try:
            settings[name.strip().replace("-", "_")] = tomllib.loads(f"v = {text}")["v"]
        except (ValueError, KeyError, RecursionError):  # no TOML: a word
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


def set_threads(threads: int | None, deterministic: bool = False) -> None:
    """Use ``threads`` threads; a single one for results that do not depend on their number."""
    if deterministic:
        if threads not in (None, 1):
            raise InputError(
                f"--threads {threads} with --deterministic: several threads add up in another order than one does; "
                "leave one of the two away"
            )
        be_deterministic()
    if threads is not None:
        if threads < 1:
            raise InputError(f"--threads {threads} must be at least 1")
        if threads > (most := _THREADS_A_CORE * (os.cpu_count() or 1)):
            raise InputError(f"--threads {threads} is far more than this machine's cores: use {most} or fewer")
        torch.set_num_threads(threads)
