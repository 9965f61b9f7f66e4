"""docs/performance.md from what bench.py stored: every figure on the page is measured, none is typed by hand."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import scaling_page

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
NODES = HERE / "results" / "nodes.json"
TARGETS = {"MUTAG": (10, 10, 6), "NCI1": (10, 10, 6), "DD": (8, 8, 8), "CIFAR10": (4, 4, 4)}
MOLECULES = (10, 10, 6)
EVALUATION_TARGET = 20
UNITS = {
    "real_batch": "real graphs of each class",
    "graphs_per_class": "synthetic graphs a class",
    "nodes": "nodes of a synthetic graph",
    "classes": "classes (the same number of graphs in all)",
}


def write_page(stored: dict[str, Any]) -> str:
    """Write the page; the tables alone, for the terminal."""
    tables = [
        ("An iteration", iteration(stored)),
        ("A seed of the judge", evaluation(stored)),
        ("Peak memory", memory(stored)),
        ("Time to the yardstick's accuracy", accuracy(stored)),
        ("How an iteration grows", growth(stored)),
        ("The results are the same", quality()),
        ("Node tasks", nodes()),
    ]
    head, tail = ((HERE / f"performance_{part}.md").read_text(encoding="utf-8") for part in ("head", "tail"))
    notes = json.loads((HERE / "performance_notes.json").read_text(encoding="utf-8"))
    sections = [f"## {title}\n\n{notes[title]}\n\n{table}" for title, table in tables if table]
    machine = stored["machine"]
    head = head.format(cores=machine["cores"], threads=machine["threads"], torch=machine["torch"])
    tail = tail.format_map(named_figures(stored))
    several = [text] if (text := scaling_page.section()) else []
    PAGE.write_text("\n\n".join([head.strip(), *sections, *several, tail.strip()]) + "\n", encoding="utf-8")
    return "\n\n".join(f"{title}\n{table}" for title, table in tables if table)


def named_figures(stored: dict[str, Any]) -> dict[str, str]:
    """The figures that the page's text names; a dash for what was not measured."""
    floors, times = stored.get("floor", {}), stored.get("iteration", {})

    def above(key: str) -> str:
        return f"{floors[key]['ratio']:.1f}" if key in floors else "-"

    def room(key: str, target: int) -> float:
        """What the asked ratio would leave, in floors."""
        return times[key]["textbook_ms"] / target / floors[key]["floor_ms"] if key in floors and key in times else 0.0

    bbbp = room("ogbg-molbbbp 1", MOLECULES[0])
    return {
        "nci1_50_floor": above("NCI1 50"),
        "nci1_1_floor": above("NCI1 1"),
        "mutag_20_floor": above("MUTAG 20"),
        "dd_1_floor": above("DD 1"),
        "nci1_50_asked": str(MOLECULES[2]),
        "nci1_50_room": f"{room('NCI1 50', MOLECULES[2]):.1f}",
        "bbbp_share": f"{1 / bbbp:.0%}" if bbbp else "-",
        "mutag_1_floor_ms": ms(floors["MUTAG 1"]["floor_ms"]) if "MUTAG 1" in floors else "-",
    }


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table that reads well in a terminal and as Markdown."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: list[str]) -> str:
        padded = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        return "| " + " | ".join(padded) + " |"

    ruler = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(header), line(ruler), *(line(row) for row in rows)])


def ms(value: float) -> str:
    """Milliseconds with three figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def iteration(stored: dict[str, Any]) -> str:
    """Textbook, ours, their ratio and what was asked for; the floor."""
    rows = []
    floors = stored.get("floor", {})
    for key, cell in stored.get("iteration", {}).items():
        name, size = key.split()
        place = [k for k in stored["iteration"] if k.split()[0] == name].index(key)
        target = TARGETS.get(name, MOLECULES)[place]
        floor = floors.get(key)
        rows.append(
            [name, size, ms(cell["textbook_ms"]), ms(cell["ours_ms"]), f"{cell['ratio']:.1f}x", f"{target}x"]
            + ([ms(floor["floor_ms"]), f"{floor['ratio']:.1f}x"] if floor else ["", ""])
        )
    header = ["dataset", "a class", "textbook ms", "ours ms", "ratio", "asked", "floor ms", "ours / floor"]
    return grid(header, rows) if rows else ""


def evaluation(stored: dict[str, Any]) -> str:
    """Seconds a seed."""
    rows = [
        [
            name,
            str(cell["epochs"]),
            f"{cell['textbook_seconds']:,.1f}",
            f"{cell['ours_seconds']:,.2f}",
            f"{cell['ratio']:.0f}x",
            f"{EVALUATION_TARGET}x",
        ]
        for name, cell in stored.get("evaluation", {}).items()
    ]
    return grid(["dataset", "epochs", "textbook s", "ours s", "ratio", "asked"], rows) if rows else ""


def memory(stored: dict[str, Any]) -> str:
    """Peak megabytes."""
    rows = []
    for key, cell in stored.get("memory", {}).items():
        name, size = key.split()
        textbook, ours = cell["textbook"]["peak_mb"], cell["ours"]["peak_mb"]
        rows.append([name, size, f"{textbook:,.0f}", f"{ours:,.0f}", f"{ours / textbook:.2f}"])
    return grid(["dataset", "a class", "textbook MB", "ours MB", "ours / textbook"], rows) if rows else ""


def accuracy(stored: dict[str, Any]) -> str:
    """When our mean score first reaches the mean score of textbook's whole runs."""
    cells = stored.get("accuracy", {})
    rows = []
    for name in dict.fromkeys(key.split()[0] for key in cells):
        runs = {who: [cells[k] for k in cells if k.split()[:2] == [name, who]] for who in ("textbook", "ours")}
        if not all(runs.values()):
            continue
        goal = statistics.mean(run[-1]["score"] for run in runs["textbook"])
        seconds = statistics.mean(run[-1]["seconds"] for run in runs["textbook"])
        ways = [
            {key: statistics.mean(point[key] for point in points) for key in ("iteration", "seconds", "score")}
            for points in zip(*runs["ours"], strict=True)
        ]
        there = next((point for point in ways if point["score"] >= goal), None)
        last = ways[-1]
        rows.append(
            [name, f"{100 * goal:.1f}", f"{seconds:.1f}", f"{100 * last['score']:.1f}", f"{last['seconds']:.1f}"]
            + (
                [f"{there['iteration']:.0f}", f"{there['seconds']:.1f}", f"{seconds / there['seconds']:.0f}x"]
                if there
                else ["never", "", ""]
            )
        )
    header = ["dataset", "textbook %", "its s", "ours at the end %", "its s", "there at iteration", "after s", "ratio"]
    return grid(header, rows) if rows else ""


def growth(stored: dict[str, Any]) -> str:
    """One line a sweep."""
    cells = stored.get("growth", {})
    rows = [
        [unit, key.split()[1], ms(cells[key]["ms"])]
        for what, unit in UNITS.items()
        for key in cells
        if key.split()[0] == what
    ]
    return grid(["NCI1, 10 a class, and", "value", "ms"], rows) if rows else ""


def quality() -> str:
    """Scores of Table 1 as first measured, and as measured after the code was made fast."""
    rows = []
    for path in sorted((HERE / "results").glob("after-speed-*.json")):
        before = json.loads((HERE / "results" / path.name.replace("after-speed", "before-speed")).read_text())["rows"]
        named = {row["graphs_per_class"]: row for row in before if row["method"] == "doscond"}
        for row in json.loads(path.read_text())["rows"]:
            old = named[row["graphs_per_class"]]
            spread = max(statistics.pstdev(old["condensation_means"]), statistics.pstdev(row["condensation_means"]))
            rows.append(
                [row["dataset"], str(row["graphs_per_class"])]
                + [f"{100 * one['mean']:.1f} ± {100 * one['std']:.1f}" for one in (old, row)]
                + [f"{100 * spread:.1f}"]
            )
    header = ["dataset", "a class", "before", "after", "sd between condensations"]
    return grid(header, rows) if rows else ""


def nodes() -> str:
    """An iteration on a graph of ogbn-arxiv's size, and DosCond against GCond on Cora."""
    if not NODES.is_file():
        return ""
    stored = json.loads(NODES.read_text(encoding="utf-8"))
    rows = [
        [kind.upper(), size, f"{cell['prepare_s']:.1f}", f"{cell['iteration_s']:.3f}", f"{cell['peak_mb']:,.0f}"]
        for (kind, size), cell in ((key.split(), cell) for key, cell in stored["large"].items())
    ]
    table = grid(["network", "condensed to nodes", "prepare s", "iteration s", "peak MB"], rows)
    cora = stored["cora"]
    text = (
        f"On Cora with 70 nodes an epoch of DosCond takes {1000 * cora['doscond_s']:.1f} ms and an epoch of GCond "
        f"{1000 * cora['gcond_s']:,.0f} ms: {cora['ratio']:.0f} times as long. The condensed Cora takes "
        f"{cora['bytes']:,} bytes; with a dense adjacency of floats it would take {cora['dense']:,}."
    )
    return f"{table}\n\n{text}"
