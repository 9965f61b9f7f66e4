"""The paper's figures."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score

from graphcondense.evaluation import evaluate
from graphcondense.files import write_json
from graphcondense.methods import DosCond
from graphcondense.methods.doscond import Condensation
from graphcondense.metrics import METRIC_TITLES, METRICS
from graphcondense.models import Network
from graphcondense.report.charts import Cloud, Curve, Panel
from graphcondense.report.sheet import Sheet
from graphcondense.report.tables import score_text
from graphcondense.reproduce.effort import FULL, Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, in_percent, most_per_class
from graphcondense.synthetic import CondensedDataset, density
from graphcondense.tasks import GraphTask
from graphcondense.training import train

_QUICK_SIZE = 50


def _y_name(metric: str) -> str:
    return METRIC_TITLES[metric]


class Size(Experiment):
    """More and more graphs a class, against random selection."""

    name: ClassVar[str] = "fig-size"
    title: ClassVar[str] = "Figure: learning larger synthetic sets"
    datasets: ClassVar[tuple[str, ...]] = ("CIFAR10",)
    quick_datasets: ClassVar[tuple[str, ...]] = ("digits",)
    quick: ClassVar[Effort] = Effort(condense_seeds=2, eval_seeds=3, iterations=100, epochs=100, validate_every=5)
    sizes: ClassVar[tuple[int, ...]] = (1, 5, 10, 20, 50, 100, 200, 300)

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """Sizes up to what the smallest class can start from."""
        most = most_per_class(task, bench.effort.preset(task))
        limit = most if bench.effort == FULL else min(most, _QUICK_SIZE)
        sizes = [size for size in self.sizes if size <= limit]
        return {"rows": bench.compare(f"{self.name}/{task.name}", task, ["whole", "random", "doscond"], sizes)}

    def more_cuts(self, effort: Effort) -> list[str]:
        """The largest sizes."""
        return [] if effort == FULL else [f"at most {_QUICK_SIZE} graphs a class of {self.sizes[-1]}"]

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Scores, and their share of the whole set's."""
        sheets = []
        for result in results:
            rows = result["data"]["rows"]
            whole = next(row for row in rows if row["method"] == "whole")
            cells = []
            for size in sorted({row["graphs_per_class"] for row in rows if row["graphs_per_class"]}):
                own = {row["method"]: row for row in rows if row["graphs_per_class"] == size}
                texts = [score_text(own[m]["mean"], own[m]["std"], own[m]["metric"]) for m in ("random", "doscond")]
                shares = [f"{own[m]['mean'] / whole['mean']:.0%}" for m in ("random", "doscond")]
                gap = own["doscond"]["vs_random"]
                told = "" if gap["supported"] else "not told apart"
                cells.append([str(size), texts[0], shares[0], texts[1], shares[1], told])
            score = score_text(whole["mean"], whole["std"], whole["metric"])
            title = f"{result['dataset']}, the whole set {score}"
            header = ["n", "random", "of whole", "DosCond", "of whole", ""]
            sheets.append(Sheet(title, header, cells, [f"Paper: {self.claim}"], left=[5]))
        return sheets

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Score over size."""
        panels = []
        for result in results:
            rows = result["data"]["rows"]
            curves = []
            for method, title in (("doscond", "DosCond"), ("random", "Random")):
                own = sorted((r for r in rows if r["method"] == method), key=lambda r: r["graphs_per_class"])
                scale = in_percent(own[0]) / own[0]["mean"]
                sizes = [row["graphs_per_class"] for row in own]
                curves.append(Curve(title, sizes, [in_percent(r) for r in own], [scale * r["std"] for r in own]))
            whole = in_percent(next(row for row in rows if row["method"] == "whole"))
            curves.append(Curve("whole set", [sizes[0], sizes[-1]], [whole, whole]))
            panels.append(Panel(result["dataset"], curves, "graphs per class", _y_name(rows[0]["metric"]), log_x=True))
        return panels


class BiLevel(Experiment):
    """Score over time, one-step against bi-level matching."""

    name: ClassVar[str] = "fig-bilevel"
    title: ClassVar[str] = "Figure: one-step against bi-level matching"
    datasets: ClassVar[tuple[str, ...]] = ("CIFAR10",)
    quick_datasets: ClassVar[tuple[str, ...]] = ("MUTAG",)
    quick: ClassVar[Effort] = Effort(condense_seeds=1, eval_seeds=5, iterations=300, epochs=200)
    per_class: ClassVar[dict[str, int]] = {"CIFAR10": 50}
    methods: ClassVar[tuple[str, ...]] = ("doscond", "doscond-bi")

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """Condensations that are scored on their way; the scoring is not timed."""
        chosen = bench.effort.preset(task)
        size = self.per_class.get(task.name, 10)
        curves = []
        for name in self.methods:
            for seed in range(bench.effort.condense_seeds):
                method = chosen.method(name, graphs_per_class=size, seed=seed)
                assert isinstance(method, DosCond)
                curves.append({"method": name, "seed": seed, "points": self._points(bench, task, method)})
                write_json(bench.folder / self.name / f"{task.name}-unfinished.json", {"curves": curves})
                bench.say(f"{task.name}: {name}, seed {seed} done")
        return {"graphs_per_class": size, "metric": task.metric, "curves": curves}

    @staticmethod
    def _points(bench: Bench, task: GraphTask, method: DosCond) -> list[dict[str, float]]:
        protocol = bench.effort.preset(task).protocol
        stops = {round(method.iterations ** (k / 8)) for k in range(1, 9)}
        started = time.perf_counter()
        run = Condensation(method, task)
        spent = time.perf_counter() - started
        points = []
        for iteration in range(method.iterations):
            started = time.perf_counter()
            run.step(iteration)
            spent += time.perf_counter() - started
            if iteration + 1 in stops:
                scores = evaluate(run.synthetic.result(), task, seeds=bench.effort.eval_seeds, protocol=protocol)
                points.append({"iteration": iteration + 1, "seconds": spent, "mean": scores.mean, "std": scores.std})
        return points

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Seconds and scores of both at the same iterations."""
        sheets = []
        for result in results:
            data = result["data"]
            averages = {name: _average(data["curves"], name) for name in self.methods}
            cells = []
            for one, two in zip(*(averages[name] for name in self.methods), strict=True):
                scores = [score_text(point["mean"], point["std"], data["metric"]) for point in (one, two)]
                cells.append(
                    [str(one["iteration"]), f"{one['seconds']:.1f}", scores[0], f"{two['seconds']:.1f}", scores[1]]
                )
            title = f"{result['dataset']}, {data['graphs_per_class']} graphs a class"
            header = ["matching steps", "DosCond s", "score", "DosCond-Bi s", "score"]
            sheets.append(Sheet(title, header, cells, [self._reached(averages), f"Paper: {self.claim}"]))
        return sheets

    @staticmethod
    def _reached(averages: dict[str, list[dict[str, float]]]) -> str:
        """When one-step matching first is where bi-level matching ends."""
        one, two = averages["doscond"], averages["doscond-bi"]
        goal, time_spent = two[-1]["mean"], two[-1]["seconds"]
        first = next((point for point in one if point["mean"] >= goal), None)
        if first is None:
            return f"Ours: DosCond does not get to where DosCond-Bi ends after {time_spent:.3g} s."
        share = first["seconds"] / time_spent
        return (
            f"Ours: DosCond-Bi ends after {time_spent:.3g} s; DosCond first is as good after {first['seconds']:.3g} s, "
            f"{share:.1%} of the cost. Single scores are noisy."
        )

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Score over seconds."""
        panels = []
        for result in results:
            data = result["data"]
            scale = 100 if data["metric"] == "accuracy" else 1
            curves = []
            for name, title in zip(self.methods, ("DosCond", "DosCond-Bi"), strict=True):
                points = _average(data["curves"], name)
                curves.append(
                    Curve(
                        title,
                        [point["seconds"] for point in points],
                        [scale * point["mean"] for point in points],
                        [scale * point["std"] for point in points],
                    )
                )
            panels.append(
                Panel(result["dataset"], curves, "seconds of condensing", _y_name(data["metric"]), log_x=True)
            )
        return panels


def _average(curves: Sequence[dict[str, Any]], method: str) -> list[dict[str, float]]:
    """Point by point over the seeds; the spread is that within and between them."""
    own = [curve["points"] for curve in curves if curve["method"] == method]
    points = []
    for group in zip(*own, strict=True):
        mean = sum(point["mean"] for point in group) / len(group)
        variance = sum(point["std"] ** 2 + (point["mean"] - mean) ** 2 for point in group) / len(group)
        seconds = sum(point["seconds"] for point in group) / len(group)
        points.append(
            {"iteration": group[0]["iteration"], "seconds": seconds, "mean": mean, "std": math.sqrt(variance)}
        )
    return points


class Sparsity(Experiment):
    """The weight of the sparsity regulariser: what it does to density and score."""

    name: ClassVar[str] = "fig-sparsity"
    title: ClassVar[str] = "Figure: the sparsity regulariser"
    datasets: ClassVar[tuple[str, ...]] = ("DD", "NCI1")
    quick_datasets: ClassVar[tuple[str, ...]] = ("NCI1",)
    quick: ClassVar[Effort] = Effort(condense_seeds=1, eval_seeds=3, iterations=200, epochs=100, validate_every=5)
    betas: ClassVar[tuple[float, ...]] = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)
    per_class: ClassVar[int] = 10

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """A comparison a weight; the density is that of the discrete graphs."""
        rows = []
        for beta in self.betas:
            part = f"{self.name}/{task.name}/beta-{beta:g}"
            row = bench.compare(part, task, ["doscond"], [self.per_class], {"sparsity_weight": beta})[0]
            made = sorted((bench.folder / part).glob("*.safetensors"))
            densities = [density(CondensedDataset.load(path).graphs) for path in made]
            rows.append(row | {"beta": beta, "density": float(np.mean(densities))})
        return {"rows": rows, "graphs_per_class": self.per_class}

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Score and density for each weight."""
        sheets = []
        for result in results:
            rows = result["data"]["rows"]
            cells = [
                [f"{r['beta']:g}", score_text(r["mean"], r["std"], r["metric"]), f"{r['density']:.2%}"] for r in rows
            ]
            title = f"{result['dataset']}, {result['data']['graphs_per_class']} graphs a class"
            notes = ["density: edges over squared nodes.", f"Paper: {self.claim}"]
            sheets.append(Sheet(title, ["beta", "score", "density"], cells, notes))
        return sheets

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Score and density over the weight."""
        panels = []
        for result in results:
            rows = result["data"]["rows"]
            betas = [row["beta"] for row in rows]
            scale = in_percent(rows[0]) / rows[0]["mean"]
            score = Curve("score", betas, [in_percent(row) for row in rows], [scale * row["std"] for row in rows])
            sparse = Curve("density", betas, [100 * row["density"] for row in rows], right=True)
            names = ("beta", _y_name(rows[0]["metric"]), "density (%)")
            panels.append(Panel(result["dataset"], [score, sparse], *names, log_x=True))
        return panels


class Terms(Experiment):
    """The two terms of Proposition 1 on the way of a condensation."""

    name: ClassVar[str] = "fig-terms"
    title: ClassVar[str] = "Figure: the two terms of the bound"
    datasets: ClassVar[tuple[str, ...]] = ("DD", "ogbg-molhiv")
    quick_datasets: ClassVar[tuple[str, ...]] = ("ogbg-molhiv", "MUTAG")
    quick: ClassVar[Effort] = Effort(iterations=100)
    horizon: ClassVar[int] = 500
    graphs: ClassVar[int] = 50

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """One condensation with T = 500 and N' = 50; the second term is only looked at, not descended."""
        size = max(1, self.graphs // task.num_classes)
        settings = {"graphs_per_class": size, "horizon": self.horizon, "norm_weight": 0.0}
        history = bench.effort.preset(task).method("doscond", **settings).condense(task).history
        kept = sorted({0, *np.geomspace(1, len(history), 120).astype(int) - 1, len(history) - 1})
        return {
            "pooling": bench.effort.preset(task).network.pooling,
            "iterations": [int(i) + 1 for i in kept],
            "first_term": [history[i]["first_term"] for i in kept],
            "second_term": [history[i]["second_term"] for i in kept],
        }

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """Both terms at a few iterations."""
        cells = []
        for result in results:
            data = result["data"]
            places = np.unique(np.searchsorted(data["iterations"], [1, 10, 100, data["iterations"][-1]]))
            for place in places[places < len(data["iterations"])]:
                first, second = data["first_term"][place], data["second_term"][place]
                row = [f"{data['iterations'][place]}", f"{first:.3g}", f"{second:.3g}", f"{first / second:.3g}"]
                cells.append([result["dataset"], data["pooling"], *row])
        header = ["dataset", "pooling", "iteration", "first term", "second term", "first / second"]
        title = f"T = {self.horizon}, N' = {self.graphs}"
        return [Sheet(title, header, cells, [f"Paper: {self.claim}"], left=[1])]

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """Both terms over the iterations."""
        return [
            Panel(
                f"{result['dataset']} ({result['data']['pooling']} pooling)",
                [
                    Curve("first term", result["data"]["iterations"], result["data"]["first_term"]),
                    Curve("second term", result["data"]["iterations"], result["data"]["second_term"]),
                ],
                "iteration",
                "value without M",
                log_x=True,
                log_y=True,
            )
            for result in results
        ]


class Embeddings(Experiment):
    """Where networks that were trained on different sets put the test graphs."""

    name: ClassVar[str] = "fig-tsne"
    title: ClassVar[str] = "Figure: test embeddings"
    datasets: ClassVar[tuple[str, ...]] = ("DD",)
    quick_datasets: ClassVar[tuple[str, ...]] = ("NCI1",)
    quick: ClassVar[Effort] = Effort(condense_seeds=1, eval_seeds=1, iterations=100, epochs=50, validate_every=5)
    methods: ClassVar[tuple[str, ...]] = ("random", "dcg", "doscond", "whole")

    def measure(self, bench: Bench, task: GraphTask) -> dict[str, Any]:
        """The network of the first seed for each set, its test embeddings in the plane, and how apart classes are."""
        chosen = bench.effort.preset(task)
        size = min(50, most_per_class(task, chosen))
        part = f"{self.name}/{task.name}"
        bench.compare(part, task, [name for name in self.methods if name != "whole"], [size], condense_seeds=1)
        network = Network(chosen.network, task.num_features, task.num_outputs)
        sets = {}
        for name in self.methods:
            if name == "whole":
                trained = bench.store.train(network, task.train, task.val, [0], chosen.recipe, task.metric)
            else:
                graphs = CondensedDataset.load(bench.folder / part / f"{name}-{size}-0.safetensors").graphs
                trained = train(network, graphs, task.val, [0], chosen.recipe, task.metric)
            embedded = trained.embeddings(task.test)[0].double().numpy()
            apart = (
                float(silhouette_score(embedded, task.test.y.numpy())) if len(np.unique(embedded, axis=0)) > 1 else 0
            )
            spread = embedded / max(float(np.abs(embedded).max()), 1e-12)
            plane = TSNE(perplexity=min(30.0, (len(spread) - 1) / 3), init="pca", random_state=0).fit_transform(spread)
            score = float(METRICS[task.metric](trained.outputs(task.test)[0], task.test.y))
            sets[name] = {"points": np.round(plane, 2).tolist(), "silhouette": apart, "score": score}
        return {"graphs_per_class": size, "metric": task.metric, "labels": task.test.y.tolist(), "sets": sets}

    def sheets(self, results: Sequence[Result]) -> list[Sheet]:
        """How far apart the classes are, in numbers."""
        cells = []
        for result in results:
            data = result["data"]
            for name, found in data["sets"].items():
                score = score_text(found["score"], None, data["metric"])
                cells.append([result["dataset"], name, score, f"{found['silhouette']:+.3f}"])
        size = results[0]["data"]["graphs_per_class"]
        notes = [
            "Silhouette of the classes in the embeddings themselves: 1 apart, 0 mixed. One network each, seed 0.",
            f"Paper: {self.claim}",
        ]
        header = ["dataset", "trained on", "test score", "silhouette"]
        return [Sheet(f"{size} graphs a class", header, cells, notes, left=[1])]

    def panels(self, results: Sequence[Result]) -> list[Panel]:
        """A cloud a class, a panel a set."""
        panels = []
        for result in results:
            labels = np.array(result["data"]["labels"])
            for name, found in result["data"]["sets"].items():
                points = np.array(found["points"])
                clouds = [
                    Cloud(f"class {label}", points[labels == label, 0].tolist(), points[labels == label, 1].tolist())
                    for label in np.unique(labels)
                ]
                panels.append(Panel(f"{result['dataset']}: {name}", clouds))
        return panels
