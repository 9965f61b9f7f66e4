"""Experiments behind docs/research.md: which few graphs teach a network best, and what tells it beforehand.

``python benchmarks/research.py order NCI1 -n 10 --sets 20`` asks how well short trainings of narrow networks, and
kernel regression with tangent kernels, put random choices of graphs into the order of the judge's networks. ``kinds``
puts kinds of sets beside each other: random graphs with hard and soft labels, those of a pursuit with each kind of
labels, and what DosCond learned. ``networks`` trains other networks than the one that was condensed with. All print
scores on training and validation graphs, never on test graphs. ``seconds`` condenses by DosCond and by pursuit in
turns. Everything is written to ``benchmarks/results/research``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import graphcondense as gc
from graphcondense.graphs import GraphStore
from graphcondense.methods import Condenser, Pursuit, RandomSelection
from graphcondense.methods.ground import Choice
from graphcondense.methods.regression import View
from graphcondense.methods.teachers import fit_teacher
from graphcondense.metrics import METRICS
from graphcondense.models import Network
from graphcondense.seeding import generator
from graphcondense.training import Recipe, Teacher, tangent_kernel, train

STORED = Path(__file__).resolve().parent / "results" / "research"
SHORT = {  # units, epochs, rate
    "32 units, 100 steps": (32, 100, 0.005),
    "32 units, 200 steps": (32, 200, 0.003),
    "64 units, 100 steps": (64, 100, 0.003),
    "128 units, 100 steps": (128, 100, 0.002),
}
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

    def pursuit(self, seed: int) -> Pursuit:
        """Pursuit with the paper's network and recipe."""
        method = self.preset.method("pursuit", graphs_per_class=self.size, seed=seed)
        assert isinstance(method, Pursuit)
        return method

    def chosen(self, seed: int) -> Choice:
        """The likeliest of pursuit's choices, with all kinds of labels."""
        method = self.pursuit(seed)
        return method.choices(self.task, method.ground(self.task, method.taught(self.task)[1]))[0]

    def proxy(self) -> Callable[[GraphStore], float]:
        """One minus the error of kernel regression from graphs with soft labels to a thousand training graphs."""
        some = self.task.train.subset(torch.randperm(len(self.task.train), generator=generator(0, "proxy"))[:1000])
        target = self.teacher().probabilities(some)
        network = Network(replace(self.preset.network, hidden=64), self.task.num_features, self.task.num_outputs)

        def score(graphs: GraphStore) -> float:
            both = GraphStore.from_data_list([*replace(graphs, y=graphs.y.argmax(1)), *some])
            aims = torch.cat([graphs.y, target]).double() - 1 / self.task.num_classes
            chosen = torch.arange(len(graphs))
            weights = torch.cat([torch.zeros(len(graphs)), torch.full((len(some),), 1 / len(some))]).double()
            kernels = (self._kernel(network, both, number) for number in range(4))
            return 1 - float(np.mean([View.of(kernel, aims, weights, 1e-3).error(chosen) for kernel in kernels]))

        return score

    @staticmethod
    def _kernel(network: Network, graphs: GraphStore, number: int) -> torch.Tensor:
        source = generator(0, f"proxy {number}")
        return tangent_kernel(network, network.draw(source), graphs, source)

    def judged(self, graphs: GraphStore, kind: str | None = None) -> list[float]:
        """Scores on training and on validation graphs of three networks that are trained as the judge does."""
        config = self.preset.network if kind is None else replace(self.preset.network, kind=kind)
        network = Network(config, self.task.num_features, self.task.num_outputs)
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
    """A column a proxy, and the judge's, a row a random choice with soft labels."""
    teacher, proxy = lab.teacher(), lab.proxy()
    found: Scores = {name: [] for name in (*SHORT, "tangent kernels", "judge, training", "judge, validation")}
    for seed in range(sets):
        graphs = lab.random(seed)
        graphs = replace(graphs, y=teacher.probabilities(graphs))
        scores = [*(lab.short(graphs, *one) for one in SHORT.values()), proxy(graphs), *lab.judged(graphs)]
        for column, score in zip(found.values(), scores, strict=True):
            column.append(score)
    return found


def kinds(lab: Lab, sets: int) -> Scores:
    """Scores on training and validation graphs, a row a kind, averaged over ``sets`` seeds."""
    teacher, found = lab.teacher(), {}  # type: Teacher, dict[str, list[list[float]]]

    def soft(graphs: GraphStore) -> GraphStore:
        return replace(graphs, y=teacher.probabilities(graphs))

    for seed in range(sets):
        hard, learned, choice = lab.random(seed), lab.learned(seed), lab.chosen(seed)
        candidates = {
            "random, hard": hard,
            "random, soft": soft(hard),
            "pursuit, hard": choice.with_labels("own"),
            "pursuit, soft": choice.with_labels("teacher"),
            "pursuit, learned labels": choice.with_labels("learned"),
            "pursuit, tried": lab.pursuit(seed).condense(lab.task).graphs,
            "DosCond, hard": learned,
            "DosCond, soft": soft(learned),
        }
        for name, graphs in candidates.items():
            found.setdefault(name, []).append(lab.judged(graphs))
    return {name: np.mean(scores, axis=0).tolist() for name, scores in found.items()}


def networks(lab: Lab, sets: int) -> Scores:
    """Scores of several kinds of network on sets that were condensed with a GCN, averaged over ``sets`` seeds."""
    made = [lab.pursuit(seed).condense(lab.task).graphs for seed in range(sets)]
    return {
        kind: np.mean([lab.judged(graphs, kind) for graphs in made], axis=0).tolist() for kind in ("gcn", "gin", "sage")
    }


def seconds(lab: Lab, sets: int) -> Scores:
    """Seconds of one condensation, DosCond and pursuit in turns."""
    found: Scores = {"DosCond": [], "pursuit": []}
    for seed in range(sets):
        for name, condense in (("DosCond", lab.learned), ("pursuit", lambda one: lab.pursuit(one).condense(lab.task))):
            began = time.perf_counter()
            condense(seed)
            found[name].append(time.perf_counter() - began)
    return found


EXPERIMENTS: dict[str, Callable[[Lab, int], Scores]] = {
    "order": order,
    "kinds": kinds,
    "networks": networks,
    "seconds": seconds,
}


def main() -> None:
    """Run one experiment, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("dataset")
    parser.add_argument("-n", type=int, default=10, help="graphs a class")
    parser.add_argument("--sets", type=int, default=2, help="random choices (order) or seeds (the others)")
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
        elif given.experiment == "seconds":
            print(f"{name:22} {np.mean(scores):.1f} s")
        else:
            print(f"{name:24} training {scores[0]:.4f}  validation {scores[1]:.4f}")


if __name__ == "__main__":
    main()
