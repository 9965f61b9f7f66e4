"""The paper's Table 1: run it (hours, resumable), and write docs/results.md from what is stored.

``python benchmarks/table1.py run [DATASET ...]`` runs ``graphcondense compare`` and stores its JSON in
``benchmarks/results/``; ``python benchmarks/table1.py render`` only writes the page. No figure of ours is typed by
hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "results.md"
PAPER = tomllib.loads((HERE / "paper_table1.toml").read_text(encoding="utf-8"))
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
    lines += ["## The commands\n", "```"]
    lines += [" ".join(command(result["dataset"])) for result in results]
    lines += ["```\n", (HERE / "results_tail.md").read_text(encoding="utf-8")]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    PAGE.write_text(render(), encoding="utf-8")
