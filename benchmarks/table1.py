"""The paper's Table 1: run it (hours, resumable), and write docs/results.md from what is stored.

``python benchmarks/table1.py run [DATASET ...]`` runs ``graphcondense compare`` and stores its JSON in
``benchmarks/results/``; ``python benchmarks/table1.py render`` only writes the page. No figure of ours is typed by
hand.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "results.md"
PAPER = tomllib.loads((HERE / "paper_table1.toml").read_text(encoding="utf-8"))
MORE = (
    "graphcondense compare ogbg-molbbbp -n 1 --preset paper --methods random,doscond --condense-seeds 20 "
    "--eval-seeds 10"
)
OPTIONS = "--preset paper --methods whole,random,doscond --condense-seeds 5 --eval-seeds 10"


def command(dataset: str) -> list[str]:
    """The command that makes the rows of one dataset."""
    sizes = ",".join(PAPER[dataset]["doscond"])
    return ["graphcondense", "compare", dataset, "-n", sizes, *OPTIONS.split()]


def run(names: list[str]) -> None:
    """Run the comparisons one after the other; each continues where it was interrupted."""
    RESULTS.mkdir(exist_ok=True)
    for dataset in names or list(PAPER):
        extra = ["--jobs", "2", "--out", f"runs/table1/{dataset}", "--resume", "--json"]
        made = subprocess.run(
            [sys.executable, "-m", *command(dataset), *extra], check=True, stdout=subprocess.PIPE, text=True
        )
        (RESULTS / f"table1-{dataset}.json").write_text(json.dumps(json.loads(made.stdout), indent=1) + "\n")
    if not names:
        more = [*MORE.split(), "--jobs", "2", "--out", "runs/table1/ogbg-molbbbp", "--resume", "--json"]
        made = subprocess.run([sys.executable, "-m", *more], check=True, stdout=subprocess.PIPE, text=True)
        path = RESULTS / "table1-more-ogbg-molbbbp.json"
        path.write_text(json.dumps(json.loads(made.stdout), indent=1) + "\n")
        subprocess.run([sys.executable, str(HERE / "kept_epoch.py")], check=True)


def text(mean: float, std: float, metric: str) -> str:
    """A score as the paper prints it."""
    scale, digits = (100, 1) if metric == "accuracy" else (1, 3)
    return f"{mean * scale:.{digits}f} ± {std * scale:.{digits}f}"


def verdict(ours: dict[str, Any], paper: list[float]) -> str:
    """Whether our mean is within one of the paper's standard deviations of the paper's mean, or better."""
    scale = 100 if ours["metric"] == "accuracy" else 1
    gap = (ours["mean"] * scale - paper[0]) / paper[1]
    if gap >= 0:
        return "ahead"
    return "within" if gap >= -1 else f"{gap:.1f} sd"


def table(rows: list[dict[str, Any]], method: str) -> list[str]:
    """The rows of one method as Markdown."""
    lines = []
    for row in rows:
        if row["method"] != method:
            continue
        size = row["graphs_per_class"]
        published = PAPER[row["dataset"]][method]
        paper = published if size is None else published[str(size)]
        unit = 1 if row["metric"] == "roc_auc" else 100
        lines.append(
            f"| {row['dataset']} | {'all' if size is None else size} "
            f"| {text(paper[0] / unit, paper[1] / unit, row['metric'])} "
            f"| {text(row['mean'], row['std'], row['metric'])} | {verdict(row, paper)} | {row['runs']} "
            f"| {row['condense_seconds']:.1f} | {row['evaluate_seconds']:.2f} | {row['bytes']:,} |"
        )
    return lines


def more() -> list[str]:
    """Cells that were run with more condensations, to tell a difference from the luck of five draws."""
    lines = []
    for path in sorted(RESULTS.glob("table1-more-*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        lines += [line for method in ("doscond", "random") for line in table(rows, method)]
    return lines


def figures(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The figures that the page's text names."""
    named = {f"{row['dataset']}-{row['method']}-{row['graphs_per_class']}": row for row in rows}
    twenty = {row["method"]: row for row in json.loads((RESULTS / "table1-more-ogbg-molbbbp.json").read_text())["rows"]}
    kept = json.loads((RESULTS / "kept-epoch.json").read_text())
    between = statistics.pstdev(twenty["doscond"]["condensation_means"])
    others = [value for name, value in kept.items() if name != "first best of all"]
    return {
        "twenty": f"{twenty['doscond']['mean']:.3f}",
        "twenty_random": f"{twenty['random']['mean']:.3f}",
        "between": f"{between:.3f}",
        "of_five": f"{between / math.sqrt(5):.3f}",
        "kept": f"{kept['first best of all']:.3f}",
        "kept_others": f"{min(others):.3f} to {max(others):.3f}",
        "bace": ", ".join(f"{mean:.3f}" for mean in named["ogbg-molbace-doscond-50"]["condensation_means"]),
        "nci1_random": f"{100 * named['NCI1-random-50']['mean']:.1f}",
        "nci1_doscond": f"{100 * named['NCI1-doscond-50']['mean']:.1f}",
    }


def render() -> str:
    """The page."""
    stored = [RESULTS / f"table1-{name}.json" for name in PAPER]
    results = [json.loads(path.read_text(encoding="utf-8")) for path in stored if path.exists()]
    rows = [row for result in results for row in result["rows"]]
    lines = [(HERE / "results_head.md").read_text(encoding="utf-8")]
    titles = {"doscond": "DosCond, `--preset paper`", "random": "Random selection", "whole": "The whole training set"}
    for method, title in titles.items():
        lines += [f"## {title}\n"]
        lines += ["| dataset | a class | paper | ours | against the paper | runs | condense s | train s | bytes |"]
        lines += ["|---|--:|--:|--:|---|--:|--:|--:|--:|", *table(rows, method), ""]
    lines += ["## Twenty condensations instead of five\n"]
    lines += ["The first row is DosCond, the second random selection.\n"]
    lines += ["| dataset | a class | paper | ours | against the paper | runs | condense s | train s | bytes |"]
    lines += ["|---|--:|--:|--:|---|--:|--:|--:|--:|", *more(), ""]
    lines += ["## The commands\n", "```"]
    lines += [" ".join(command(result["dataset"])) for result in results]
    lines += [MORE, "python benchmarks/kept_epoch.py"]
    lines += ["```\n", (HERE / "results_tail.md").read_text(encoding="utf-8").format_map(figures(rows))]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    PAGE.write_text(render(), encoding="utf-8")
