"""Several ranks give what one process gives, and one that is killed ends them all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from graphcondense.datasets import load, load_part, own_part, split_task, write_shards
from graphcondense.datasets.shards import ShardFolder
from graphcondense.distributed import World
from graphcondense.errors import FileFormatError, InputError, WouldOverwriteError
from graphcondense.methods import Callback, DosCond, DosCondBi, RandomSelection
from graphcondense.methods.doscond import Condensation
from graphcondense.models import NetworkConfig
from graphcondense.parts import class_sizes, deal
from graphcondense.presets import Preset
from graphcondense.runs.callbacks import Every
from graphcondense.runs.checkpoint import checkpoint_files
from graphcondense.runs.condense import condense_into
from graphcondense.runs.folder import CONDENSED
from graphcondense.tasks import GraphTask, Split
from graphcondense.training import Recipe
from tests.made_up import toy_task
from tests.ranks import run_ranks

ROOT = Path(__file__).resolve().parents[2]
NETWORK = NetworkConfig(hidden=8, layers=2)
SMALL = Preset("paper", NETWORK, {}, Recipe(epochs=3))
TASK = toy_task(60)
STEPS = 6
ALL: dict[str, Any] = {"graphs_per_class": 3, "network": NETWORK, "nodes": 7, "real_batch": "all", "iterations": STEPS}
METHODS = {
    "all": DosCond(**ALL),
    "joint": DosCond(**ALL, match="joint"),
    "gin": DosCond(**(ALL | {"network": replace(NETWORK, kind="gin")})),
    "bilevel": DosCondBi(**ALL, outer=3, inner=2),
    "sampled": DosCond(**(ALL | {"real_batch": 5})),
    "few": DosCond(**(ALL | {"real_batch": 1})),  # some ranks have nothing to do in an iteration
    "joint sampled": DosCond(**(ALL | {"real_batch": 2}), match="joint"),
}


def learned(method: DosCond, task: GraphTask) -> dict[str, torch.Tensor]:
    run = Condensation(method, task)
    start = run.learned[0].detach().clone()
    losses = [run.step(iteration)["loss"] for iteration in range(STEPS)]
    x, logits = (tensor.detach() for tensor in run.learned)
    return {"start": start, "x": x, "logits": logits, "losses": torch.tensor(losses)}


def close(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert torch.equal(found["start"], expected["start"])
    for name in ("x", "logits", "losses"):
        torch.testing.assert_close(found[name], expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [2, 4])
def test_ranks_learn_what_one_process_learns(count: int, tmp_path: Path) -> None:
    def work(world: World) -> None:
        for name, method in METHODS.items():
            save_file(learned(method, own_part(TASK, world)), tmp_path / f"{name}-{world.rank}.safetensors")

    assert run_ranks(count, work, tmp_path) == [0] * count
    for name, method in METHODS.items():
        expected = learned(method, TASK)
        for rank in range(count):
            close(load_file(tmp_path / f"{name}-{rank}.safetensors"), expected)


def uneven_shards(folder: Path) -> Path:
    """Three shards of very different sizes; the second one lacks class 1."""
    train = TASK.split.train
    ones = train[TASK.graphs.y[train] == 1]
    zeros = train[TASK.graphs.y[train] == 0]
    cuts = [torch.cat([zeros[:4], ones[:1]]), zeros[4:6], torch.cat([zeros[6:], ones[1:]])]
    val, test = TASK.split.val.tensor_split(3), TASK.split.test.tensor_split(3)
    parts = zip(cuts, val, test, strict=True)
    return write_shards((replace(TASK, split=Split(*part)) for part in parts), folder)


def test_shards_of_different_sizes_and_without_a_class(tmp_path: Path) -> None:
    folder = uneven_shards(tmp_path / "shards")

    def work(world: World) -> None:
        task = load_part(str(folder), world)
        mine = [world.rank] if world.size == 3 else [[0, 1], [2]][world.rank]
        assert len(task.train) == sum([5, 2, len(TASK.train) - 7][n] for n in mine)  # not one graph more
        for name in ("all", "sampled"):
            save_file(learned(METHODS[name], task), tmp_path / f"{name}-{world.size}-{world.rank}.safetensors")

    whole = load(folder)
    assert isinstance(whole, GraphTask)
    for count in (2, 3):
        assert run_ranks(count, work, tmp_path) == [0] * count
        for name in ("all", "sampled"):
            expected = learned(METHODS[name], TASK)  # the very order of the classes that the shards were cut from
            close(learned(METHODS[name], whole), expected)
            for rank in range(count):
                close(load_file(tmp_path / f"{name}-{count}-{rank}.safetensors"), expected)


def test_each_rank_may_draw_a_batch_of_its_own(tmp_path: Path) -> None:
    def work(world: World) -> None:
        part = own_part(TASK, world, same_batch=False)
        run = Condensation(replace(METHODS["sampled"], real_batch=4), part)
        sampler = run.objective.real.sampler
        drawn = sampler.draw(torch.Generator().manual_seed(world.rank))[1]
        assert drawn == [4, 4]  # of each class, in each rank
        mean = world.add(sampler.weights * torch.tensor(drawn))
        torch.testing.assert_close(mean, torch.ones(2))  # a weighted mean of each class over all ranks
        run.step(0)
        save_file({"x": run.learned[0].detach()}, tmp_path / f"x{world.rank}.safetensors")
        more = Condensation(replace(METHODS["sampled"], real_batch=1000), part)
        more.step(0)  # as many as there are: all
        save_file({"x": more.learned[0].detach()}, tmp_path / f"all{world.rank}.safetensors")

    assert run_ranks(2, work, tmp_path) == [0, 0]
    one, two = (load_file(tmp_path / f"x{rank}.safetensors")["x"] for rank in range(2))
    assert torch.equal(one, two)
    whole = Condensation(METHODS["all"], TASK)
    whole.step(0)
    torch.testing.assert_close(load_file(tmp_path / "all0.safetensors")["x"], whole.learned[0].detach())


class Kill(Callback):
    def __init__(self, world: World, rank: int, at: int, number: int = signal.SIGKILL) -> None:
        self.mine, self.at, self.number = world.rank == rank, at, number

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        if self.mine and iteration == self.at:
            os.kill(os.getpid(), self.number)


def condense(folder: Path, world: World, *callbacks: Callback, resume: bool = False) -> dict[str, Any]:
    task = own_part(TASK, world)
    method = replace(METHODS["sampled"], iterations=12)
    return condense_into(folder, method, task, SMALL, callbacks, resume=resume, every=Every(iterations=2))[1]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_the_others_and_the_run_goes_on(victim: int, tmp_path: Path) -> None:
    def begin(world: World) -> None:
        condense(tmp_path / "run", world, Kill(world, victim, at=7))

    def go_on(world: World) -> None:
        assert bool(condense(tmp_path / "run", world, resume=True)) == world.first

    codes = run_ranks(2, begin, tmp_path / "errors")
    assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 1
    said = (tmp_path / "errors" / f"error{1 - victim}.txt").read_text()
    assert said.startswith(f"GraphcondenseError: rank {1 - victim} lost contact with another rank")
    assert "--resume" in said and "\n" not in said
    assert checkpoint_files(tmp_path / "run")[0].stem.endswith("06")
    assert run_ranks(2, go_on, tmp_path / "errors") == [0, 0]

    def let_be(world: World) -> None:
        condense(tmp_path / "whole", world)

    assert run_ranks(2, let_be, tmp_path / "errors") == [0, 0]
    assert (tmp_path / "run" / CONDENSED).read_bytes() == (tmp_path / "whole" / CONDENSED).read_bytes()
    assert run_ranks(2, go_on, tmp_path / "errors") == [0, 0]  # finished: all ranks know


def test_asking_one_rank_to_end_ends_all_at_the_same_iteration(tmp_path: Path) -> None:
    def work(world: World) -> None:
        condense(tmp_path / "run", world, Kill(world, 1, at=5, number=signal.SIGTERM))

    assert run_ranks(2, work, tmp_path) == [1, 1]
    assert (tmp_path / "error0.txt").read_text() == "Interrupted: 5"
    assert (tmp_path / "error1.txt").read_text().startswith("KeyboardInterrupt")
    assert checkpoint_files(tmp_path / "run")[0].stem.endswith("05")


def test_what_cannot_be_spread_is_refused() -> None:
    class Two(World):
        size = 2

    part = own_part(TASK, Two())
    with pytest.raises(InputError, match="method 'random' cannot be spread over several processes: run it without"):
        RandomSelection(graphs_per_class=1).condense(part)
    for norm in ("batch", "nodes"):
        with pytest.raises(InputError, match=rf"norm='{norm}' looks at all graphs of a batch at once"):
            Condensation(DosCond(**(ALL | {"network": replace(NETWORK, norm=norm)})), part)
    with pytest.raises(InputError, match=r"class 0 has \d+ training graphs with at most 4 nodes .* raise the nodes"):
        DosCond(**(ALL | {"nodes": 4, "graphs_per_class": 20})).check(part)


def test_graphs_are_dealt_out_evenly_and_in_order() -> None:
    y = torch.tensor([0, 1, 2] * 7 + [0, 0])
    parts = deal(y, 3, 4)
    assert sorted(torch.cat(parts).tolist()) == list(range(len(y)))
    assert max(map(len, parts)) - min(map(len, parts)) <= 2
    for label in range(3):
        members = torch.cat([part[y[part] == label] for part in parts])
        assert members.tolist() == (y == label).nonzero().flatten().tolist()


def test_a_folder_of_shards_is_a_dataset(tmp_path: Path) -> None:
    folder = write_shards(split_task(TASK, 3), tmp_path / "shards")
    task = load(str(folder))
    assert isinstance(task, GraphTask)
    assert (task.name, task.metric, task.class_names, task.num_classes) == ("toy", "accuracy", TASK.class_names, 2)
    for name in ("train", "val", "test"):
        mine, theirs = getattr(task, name), getattr(TASK, name)
        assert class_sizes(mine, 2) == class_sizes(theirs, 2)
        for label in (0, 1):
            one, other = (s.subset((s.y == label).nonzero().flatten()) for s in (mine, theirs))
            assert torch.equal(one.x, other.x) and torch.equal(one.edge_index, other.edge_index)
    with pytest.raises(WouldOverwriteError, match="is not empty: choose another --out"):
        write_shards(split_task(TASK, 3), folder)
    with pytest.raises(InputError, match=r"shards=50 is more than the \d+ train graphs of toy: use fewer"):
        list(split_task(TASK, 50))


def test_damaged_shards_are_told_of(tmp_path: Path) -> None:
    folder = write_shards(split_task(TASK, 2), tmp_path / "shards")
    file = folder / "shard-00001.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-10])
    with pytest.raises(
        FileFormatError, match=r"shard-00001\.safetensors is missing or damaged: write the shards again"
    ):
        load(folder)
    tensors = load_file(write_shards(split_task(TASK, 2), folder, force=True) / "shard-00001.safetensors")
    save_file(tensors | {"train.edges": tensors["train.edges"] + 100}, file)
    with pytest.raises(FileFormatError, match="an edge leaves its graph"):
        load(folder)
    (folder / "shards.json").write_text("{}")
    with pytest.raises(FileFormatError, match=r"shards\.json is damaged"):
        ShardFolder.find(folder)


def test_torchrun_condenses_a_folder_of_shards(tmp_path: Path) -> None:
    folder = write_shards(split_task(TASK, 2), tmp_path / "shards")
    more = ["-n", "2", "--iterations", "4", "--real-batch", "all", "--set", "nodes=8", "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "graphcondense", "condense", f"{folder}/", *more, "--json", "--timeout", "30"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["dataset"], result["iterations"], result["graphs"]) == ("toy", 4, 4)
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["ranks"] == 2
