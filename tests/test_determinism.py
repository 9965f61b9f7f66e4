"""``--deterministic``: the same bits whatever the number of threads, which plain runs do not promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import graphcondense as gc
from graphcondense.cli import app

# Large enough for several threads to share a sum: without the promise, two threads give other bits than one.
_SCRIPT = """
import hashlib, sys, torch
from torch_geometric.data import Data
import graphcondense as gc

source = torch.Generator().manual_seed(0)
n = 2000
data = Data(
    x=torch.randn(n, 150, generator=source),
    edge_index=torch.randint(n, (2, 12000), generator=source),
    y=torch.randint(3, (n,), generator=source),
)
nodes, graphs = gc.node_task(data), gc.load("digits")
assert torch.get_num_threads() == int(sys.argv[1])
recipe = gc.Recipe(epochs=3)
with gc.deterministic():
    small = gc.NodeDosCond(nodes=30, iterations=3, network=gc.NetworkConfig(hidden=64, layers=2)).condense(nodes)
    few = gc.DosCond(graphs_per_class=1, iterations=2, network=gc.NetworkConfig("gin")).condense(graphs)
    scores = [
        gc.evaluate(small, nodes, seeds=2, protocol=gc.Protocol(gc.NetworkConfig(layers=2), recipe)),
        gc.evaluate(few, graphs, seeds=2, protocol=gc.Protocol(recipe=recipe)),
    ]
assert torch.get_num_threads() == int(sys.argv[1]) and not torch.are_deterministic_algorithms_enabled()
for name, made in (("small", small), ("few", few)):
    made.save(sys.argv[2] + "/" + name + ".safetensors")
    print(hashlib.sha256(repr(made.history).encode()).hexdigest())
print([(s.per_seed, s.val_per_seed) for s in scores])
"""


def test_the_same_bits_with_one_thread_and_with_two(tmp_path: Path) -> None:
    said = []
    for threads in ("1", "2"):
        folder = tmp_path / threads
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, threads, str(folder)],
            env=os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    for name in ("small", "few"):
        one, two = ((tmp_path / threads / f"{name}.safetensors").read_bytes() for threads in ("1", "2"))
        assert one == two


def test_the_command_line_has_it(tmp_path: Path) -> None:
    """Runs, says nothing of it in the result, and notes it with what the run was made with."""
    run = str(tmp_path / "run")
    words = ["condense", "digits", "-n", "1", "--iterations", "1", "--deterministic", "--out", run]
    code = "import sys; from graphcondense.cli import main; sys.argv[1:] = sys.argv[1:]; main()"
    env = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    environment = (tmp_path / "run" / "environment.json").read_text()
    assert '"deterministic": true' in environment and '"threads": 1' in environment


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["condense", "--threads", "2"],
            "error: --threads 2 with --deterministic: several threads add up in another order than one does; leave one",
        ),
        (["evaluate", "nowhere", "--threads", "4"], "error: --threads 4 with --deterministic: several threads"),
    ],
)
def test_what_prevents_it_is_said(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, [*words, "--deterministic"])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_other_machines_prevent_it() -> None:
    with gc.deterministic():  # the command would set it for good
        result = CliRunner().invoke(app, ["compare", "--backend", "dask", "--deterministic"])
    torch.use_deterministic_algorithms(False)
    assert result.exit_code == 2
    assert "--deterministic with --backend dask: other machines may compute other bits; run here" in result.stderr


def test_what_was_set_is_set_again_also_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="mine"), gc.deterministic():
        assert torch.are_deterministic_algorithms_enabled()
        raise ValueError("mine")
    assert torch.get_num_threads() == before and not torch.are_deterministic_algorithms_enabled()
