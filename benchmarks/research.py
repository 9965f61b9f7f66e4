"""Experiments behind docs/research.md: which few graphs teach a network best, and what tells it beforehand.

``python benchmarks/research.py order NCI1 -n 10 --sets 20`` asks how well short trials of narrow networks put random
choices of graphs into the order of the judge's networks. ``python benchmarks/research.py kinds NCI1 -n 10 --sets 2``
puts kinds of candidates beside each other: one random choice or the best of 24 by short trials, with hard or with soft
labels, and what DosCond learned, with its own and with the teacher's labels. Both print scores on training and
validation graphs, never on test graphs, and write them to ``benchmarks/results/research``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import graphcondense as gc
from graphcondense.graphs import GraphStore
from graphcondense.methods import Condenser, RandomSelection
from graphcondense.methods.soft import fit_teacher
from graphcondense.metrics import METRICS
from graphcondense.models import Network
from graphcondense.training import Recipe, Teacher, train

STORED = Path(__file__).resolve().parent / "results" / "research"
SHORT = {  # units, epochs, rate
    "32 units, 100 steps": (32, 100, 0.005),
    "32 units, 200 steps": (32, 200, 0.003),
    "64 units, 100 steps": (64, 100, 0.003),
    "128 units, 100 steps": (128, 100, 0.002),
}
CHOICES = 24
Scores = dict[str, list[float]]


class Lab:
    """A dataset with all that experiments on it share.

    Args:
        dataset: its name.
        size: graphs a class.
    """

    def __init__(self, dataset: str, size: int) -> None:
        self.task, self.size = gc.load(dataset), size
        self.preset = gc.preset("paper", self.task)

    def teacher(self) -> Teacher:
        """The teacher with the settings that methods have."""
        return fit_teacher(self.task, self.preset.network, networks=4, hidden=512, seed=0)

    def random(self, seed: int) -> GraphStore:
        """Random graphs with their own labels."""
        return RandomSelection(graphs_per_class=self.size, seed=seed).condense(self.task).graphs

    def short(self, graphs: GraphStore, units: int, epochs: int, rate: float) -> float:
        """Score on the training graphs of two short trainings."""
        network = Network(replace(self.preset.network, hidden=units), self.task.num_features, self.task.num_outputs)
        recipe = Recipe(epochs=epochs, rate=rate, validate_every=epochs)
        return float(train(network, graphs, self.task.train, [0, 1], recipe, self.task.metric).val_scores.mean())

    def judged(self, graphs: GraphStore) -> list[float]:
        """Scores on training and on validation graphs of three networks that are trained as the judge does."""
        network = Network(self.preset.network, self.task.num_features, self.task.num_outputs)
        recipe = replace(self.preset.recipe, validate_every=10)
        trained = train(network, graphs, self.task.val, range(3), recipe, self.task.metric)
        own = METRICS[self.task.metric](trained.outputs(self.task.train), self.task.train.y)
        return [float(own.mean()), float(trained.val_scores.mean())]

    def learned(self, seed: int) -> GraphStore:
        """What DosCond makes of it with the paper's settings."""
        method: Condenser = self.preset.method("doscond", graphs_per_class=self.size, seed=seed)
        graphs: GraphStore = method.condense(self.task).graphs
        return graphs


def order(lab: Lab, sets: int) -> Scores:
    """A column a kind of trial, and the judge's, a row a random choice with soft labels."""
    teacher, found = lab.teacher(), {name: [] for name in (*SHORT, "judge, training", "judge, validation")}  # type: Scores
    for seed in range(sets):
        graphs = lab.random(seed)
        graphs = replace(graphs, y=teacher.probabilities(graphs))
        scores = [*(lab.short(graphs, *one) for one in SHORT.values()), *lab.judged(graphs)]
        for column, score in zip(found.values(), scores, strict=True):
            column.append(score)
    return found


def kinds(lab: Lab, sets: int) -> Scores:
    """Scores on training and validation graphs, a row a kind, averaged over ``sets`` seeds."""
    teacher, found = lab.teacher(), {}  # type: Teacher, dict[str, list[list[float]]]

    def soft(graphs: GraphStore) -> GraphStore:
        return replace(graphs, y=teacher.probabilities(graphs))

    for seed in range(sets):
        hard = [lab.random(1000 * seed + place) for place in range(CHOICES)]
        learned = lab.learned(seed)
        candidates = {
            "random, hard": hard[0],
            "random, soft": soft(hard[0]),
            f"best of {CHOICES}, hard": _best(lab, hard),
            f"best of {CHOICES}, soft": _best(lab, [soft(graphs) for graphs in hard]),
            "DosCond, hard": learned,
            "DosCond, soft": soft(learned),
        }
        for name, graphs in candidates.items():
            found.setdefault(name, []).append(lab.judged(graphs))
    return {name: np.mean(scores, axis=0).tolist() for name, scores in found.items()}


def _best(lab: Lab, candidates: list[GraphStore]) -> GraphStore:
    return max(candidates, key=lambda graphs: lab.short(graphs, *SHORT["32 units, 200 steps"]))


EXPERIMENTS: dict[str, Callable[[Lab, int], Scores]] = {"order": order, "kinds": kinds}


def main() -> None:
    """Run one experiment, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("dataset")
    parser.add_argument("-n", type=int, default=10, help="graphs a class")
    parser.add_argument("--sets", type=int, default=2, help="random choices (order) or seeds (kinds)")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = EXPERIMENTS[given.experiment](Lab(given.dataset, given.n), given.sets)
    STORED.mkdir(parents=True, exist_ok=True)
    path = STORED / f"{given.experiment}-{given.dataset}-{given.n}.json"
    path.write_text(json.dumps({"sets": given.sets, "scores": found}, indent=1) + "\n", encoding="utf-8")
    for name, scores in found.items():
        if given.experiment == "order":
            with_judge = np.corrcoef(scores, found["judge, training"])[0, 1]
            print(f"{name:22} {np.mean(scores):.4f} ± {np.std(scores):.4f}  correlation {with_judge:.2f}")
        else:
            print(f"{name:22} training {scores[0]:.4f}  validation {scores[1]:.4f}")


if __name__ == "__main__":
    main()
