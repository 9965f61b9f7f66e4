"""Nothing leaves the machine: whole runs with the network cut off, and no word of telemetry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import graphcondense

# This machine itself is no network (libraries ask it whether it knows IPv6); whoever asks for one ends the process.
_CUT_OFF = """
import socket, sys

def hear(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto") and arguments[1][0] not in ("::1", "127.0.0.1"):
        sys.stderr.write(f"network: {event} {arguments[1:]}\\n")
        import os; os._exit(77)
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        sys.stderr.write(f"network: {event} {arguments}\\n")
        import os; os._exit(77)

sys.addaudithook(hear)
from graphcondense.cli import app
for words in sys.argv[1:]:
    try:
        app(words.split(), standalone_mode=False)
    except SystemExit as left:
        if left.code:
            raise
"""


def cut_off(*commands: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Several commands in one process without a network."""
    return subprocess.run(
        [sys.executable, "-c", _CUT_OFF, *commands], env=os.environ | environment, capture_output=True, text=True
    )


def write_tu(folder: Path, graphs: int = 30) -> Path:
    """A small TU folder: paths and rings."""
    folder.mkdir()
    edges, owners, labels, first = [], [], [], 1
    for graph in range(graphs):
        nodes = 4 + graph % 3
        for node in range(nodes - graph % 2):
            one, two = first + node, first + (node + 1) % nodes
            edges += [f"{one}, {two}", f"{two}, {one}"] if one != two else []
        owners += [str(graph + 1)] * nodes
        labels.append(str(graph % 2))
        first += nodes
    for name, lines in (("A", edges), ("graph_indicator", owners), ("graph_labels", labels)):
        (folder / f"OWN_{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_condense_evaluate_and_report_need_no_network(tmp_path: Path) -> None:
    folder, run = write_tu(tmp_path / "own"), tmp_path / "run"
    done = cut_off(
        f"condense {folder} -n 1 --iterations 2 --out {run}",
        f"evaluate {run} --seeds 1",
        f"report {run}",
        GRAPHCONDENSE_CACHE=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert (run / "report.html").stat().st_size > 10_000


def test_a_dataset_that_must_be_downloaded_does_ask_for_it(tmp_path: Path) -> None:
    """Without this the test above could not fail."""
    nowhere = str(tmp_path / "none")
    done = cut_off("condense MUTAG -n 1", GRAPHCONDENSE_DATA=nowhere, GRAPHCONDENSE_CACHE=nowhere)
    assert done.returncode == 77 and "network: " in done.stderr


def test_one_module_alone_can_reach_the_network() -> None:
    """And nothing in the package unpickles, evaluates text, or starts programs."""
    network = re.compile(r"^\s*(?:import|from) (?:urllib|http|requests|socket|ftplib|aiohttp)\b", re.MULTILINE)
    danger = re.compile(
        r"pickle\.loads?\(|allow_pickle=True|weights_only=False|\beval\(|\bexec\(|os\.system|subprocess"
    )
    root = Path(graphcondense.__file__).parent
    texts = {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in sorted(root.rglob("*.py"))}
    assert [name for name, text in texts.items() if network.search(text)] == ["datasets/download.py"]
    found = {name: danger.findall(text.replace("module.eval()", "")) for name, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}
