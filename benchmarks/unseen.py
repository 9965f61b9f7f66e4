"""Methods on graphs that no table of Results shows, so that a choice among methods is made on other test graphs.

``python benchmarks/unseen.py cora-ego,nci1-degree -n 1,10 --seeds 2`` condenses datasets made from those at hand by
several methods and prints scores of networks trained on the result, on training, validation and test graphs. Kinds:
ego networks of Planetoid and Amazon graphs (many classes, wide features), molecules of NCI1 without atoms (degrees
alone) or with four classes, superpixels (positions and colours, ten classes). ``resplit:NAME`` is a known dataset
without the test graphs of its own split: the others are split anew, OGB's molecules by scaffold.

Every run is kept in ``benchmarks/results/research/unseen.jsonl`` as soon as it is done and not done again;
``--label`` keeps those of another version of the code apart.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.datasets import data_root, ego_graphs
from graphcondense.datasets.amazon import read_amazon
from graphcondense.datasets.planetoid import read_planetoid
from graphcondense.datasets.splits import stratified_parts
from graphcondense.metrics import METRICS
from graphcondense.models import Network
from graphcondense.tasks import GraphTask, Split
from graphcondense.training import train

STORED = Path(__file__).resolve().parent / "results" / "research" / "unseen.jsonl"
METHODS = "random-soft,herding-soft,doscond,pursuit"
NETWORKS, LOOK_EVERY = 5, 10
_MOST_SCORED = 3000


def _egos(whole: Callable[[Path], Data], most: int, **options: Any) -> Callable[[int], GraphTask]:
    def make(seed: int) -> GraphTask:
        graphs = ego_graphs(whole(data_root()), num_graphs=most, most_nodes=60, seed=seed, **options)
        return _task([Data(x=one.x, edge_index=one.edge_index, y=one.y) for one in graphs], seed)

    return make


def _planetoid(name: str) -> Callable[[Path], Data]:
    return lambda root: read_planetoid(root / "Planetoid" / name / "raw")


def _computers(root: Path) -> Data:
    return read_amazon(next((root / "Amazon" / "Computers").rglob("*.npz")), "Amazon Computers")


def _task(graphs: list[Data], seed: int) -> GraphTask:
    task = gc.load(graphs, split_seed=seed)
    assert isinstance(task, GraphTask)
    return task


def _degrees(seed: int) -> GraphTask:
    """NCI1 without atoms."""
    return _task([Data(edge_index=one.edge_index, y=one.y, num_nodes=one.num_nodes) for one in _some("NCI1")], seed)


def _four_classes(seed: int) -> GraphTask:
    """NCI1 by class and by size, two kinds each."""
    graphs = _some("NCI1")
    middle = torch.tensor([one.num_nodes for one in graphs]).median()
    return _task([one.update({"y": 2 * one.y + int(one.num_nodes > middle)}) for one in graphs], seed)


def _some(name: str, most: int | None = None) -> list[Data]:
    """The training and validation graphs of a known dataset."""
    task = gc.load(name)
    places = torch.cat([task.split.train, task.split.val])[:most]
    return task.graphs.subset(places).to_pyg()


def _pixels(seed: int) -> GraphTask:
    return _task(_some("CIFAR10", 3000), seed)


KINDS: dict[str, Callable[[int], GraphTask]] = {
    "cora-ego": _egos(_planetoid("Cora"), 1500),
    "citeseer-ego": _egos(_planetoid("CiteSeer"), 1500),
    "pubmed-ego": _egos(_planetoid("PubMed"), 2000),
    "computers-ego": _egos(_computers, 2000),
    "nci1-degree": _degrees,
    "nci1-four": _four_classes,
    "pixels": _pixels,
}


def resplit(name: str, seed: int) -> GraphTask:
    """A known dataset without its test graphs; what is called test here is of the others."""
    task = gc.load(name)
    places = torch.cat([task.split.train, task.split.val])
    parts = _by_scaffold(places, name, seed) if name.startswith("ogbg") else None
    if parts is None:
        parts = [places[part] for part in stratified_parts(task.graphs.y[places], 2, seed)]
    val, test, rest = parts
    return replace(task, split=Split(train=rest, val=val, test=test))


def _by_scaffold(places: torch.Tensor, name: str, seed: int) -> list[torch.Tensor]:
    """A tenth, a tenth and the rest, no scaffold in two of them."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    RDLogger.DisableLog("rdApp.*")
    file = next((data_root() / "ogb" / name.replace("-", "_") / "mapping").glob("mol.csv.gz"))
    with gzip.open(file, "rt", encoding="utf-8", newline="") as rows:
        texts = [row["smiles"] for row in csv.DictReader(rows)]
    groups: dict[str, list[int]] = {}
    for place in places.tolist():
        molecule = Chem.MolFromSmiles(texts[place])
        groups.setdefault("" if molecule is None else MurckoScaffoldSmiles(mol=molecule), []).append(place)
    order, share = torch.randperm(len(groups), generator=torch.Generator().manual_seed(seed)), len(places) // 10
    parts: list[list[int]] = [[], [], []]
    for number in order.tolist():
        group = list(groups.values())[number]
        fits = (part for part in (0, 1) if len(parts[part]) + len(group) <= share)
        parts[next(fits, 2)] += group
    return [torch.tensor(part) for part in parts]


def made(name: str, seed: int) -> tuple[GraphTask, str]:
    """The task and the preset that is for it."""
    if name.startswith("resplit:"):
        return resplit(name.removeprefix("resplit:"), seed), "paper"
    return KINDS[name](seed), "default"


def run(name: str, size: int, seed: int, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Scores of networks trained on what a method makes."""
    task, preset = made(name, seed)
    preset = gc.preset(preset, task)
    began = time.perf_counter()
    if method == "whole":
        graphs = task.train
    else:
        graphs = preset.method(method, graphs_per_class=size, seed=seed, **settings).condense(task).graphs
    seconds = time.perf_counter() - began
    recipe, found = replace(preset.recipe, validate_every=LOOK_EVERY), {}
    for kind in ("gcn", "gin", "sage") if method == "pursuit" else ("gcn",):
        network = Network(replace(preset.network, kind=kind), task.num_features, task.num_outputs)
        trained = train(network, graphs, task.val, range(NETWORKS), recipe, task.metric)
        every = max(1, len(task.train) // _MOST_SCORED)
        scored = (task.train.subset(torch.arange(0, len(task.train), every)), task.test)
        of_train, of_test = (float(METRICS[task.metric](trained.outputs(part), part.y).mean()) for part in scored)
        found[kind] = [of_train, float(trained.val_scores.mean()), of_test]
    return {"scores": found, "seconds": seconds}


def kept(asked: dict[str, Any]) -> dict[str, Any] | None:
    """What is known of a run."""
    if not STORED.exists():
        return None
    rows = (json.loads(line) for line in STORED.read_text(encoding="utf-8").splitlines())
    return next((row for row in rows if {name: row.get(name) for name in asked} == asked), None)


def main() -> None:
    """Run what was not run yet, and print the means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", help=f"of {', '.join(KINDS)}, or resplit:NAME")
    parser.add_argument("-n", default="1,10", help="graphs a class")
    parser.add_argument("--seeds", type=int, default=2, help="splits, each with a condensation of its own")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="of the method")
    parser.add_argument("--label", default="", help="of this version of the code")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    settings = {name: json.loads(value) for name, value in (one.split("=", 1) for one in given.set)}
    STORED.parent.mkdir(parents=True, exist_ok=True)
    for name, size, method in product(
        given.datasets.split(","), map(int, given.n.split(",")), given.methods.split(",")
    ):
        rows = []
        for seed in range(given.seeds):
            asked = {"dataset": name, "n": size, "seed": seed, "method": method, "label": given.label}
            asked["settings"] = settings or None
            row = kept(asked)
            if row is None:
                row = asked | run(name, size, seed, method, settings)
                with STORED.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            rows.append(row)
        for kind in rows[0]["scores"]:
            scores = [fmean(part) for part in zip(*(row["scores"][kind] for row in rows), strict=True)]
            told = " ".join(f"{part} {score:.3f}" for part, score in zip(("train", "val", "test"), scores, strict=True))
            seconds = fmean(row["seconds"] for row in rows)
            print(f"{name:14} {size:3} {method:13} {given.label:6} {kind:4} {told} {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
