"""Whatever ends a run, it goes on, and its files are those of a run that was let be."""

from __future__ import annotations

import errno
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
from safetensors.torch import save_file

from graphcondense.errors import FileFormatError, GraphcondenseError, InputError, WouldOverwriteError
from graphcondense.methods import Callback, DosCond, Run
from graphcondense.models import NetworkConfig
from graphcondense.presets import Preset
from graphcondense.runs.callbacks import Every
from graphcondense.runs.checkpoint import checkpoint_files
from graphcondense.runs.condense import Interrupted, condense_into
from graphcondense.runs.folder import CONDENSED, HISTORY, RESULT, locked
from graphcondense.training import Recipe
from tests.made_up import toy_task

ROOT = Path(__file__).resolve().parents[2]
SMALL = Preset("paper", NetworkConfig(hidden=8, layers=2), {}, Recipe(epochs=3))
METHOD = DosCond(graphs_per_class=2, iterations=12, network=SMALL.network, real_batch=8, nodes=8, restart_at=7)
TASK = toy_task(40)


class At(Callback):
    """Does something at an iteration."""

    def __init__(self, iteration: int, what: Any) -> None:
        self.iteration, self.what = iteration, what

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        if iteration == self.iteration:
            self.what()


def fail() -> None:
    raise RuntimeError("a power cut")


def condense(folder: Path, *callbacks: Callback, every: int = 2, **options: Any) -> dict[str, Any]:
    method = options.pop("method", METHOD)
    return condense_into(folder, method, TASK, SMALL, callbacks, every=Every(iterations=every), **options)[1]


def cut(folder: Path, iteration: int = 9, **options: Any) -> None:
    """A run that ends at ``iteration``, with a checkpoint every second one."""
    with pytest.raises(RuntimeError, match="a power cut"):
        condense(folder, At(iteration, fail), **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    condense(folder)
    return folder


def same(folder: Path, whole: Path) -> bool:
    def history(path: Path) -> list[Any]:
        lines = [json.loads(line) for line in (path / HISTORY).read_text().splitlines()]
        return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]

    alike = (folder / CONDENSED).read_bytes() == (whole / CONDENSED).read_bytes()
    return alike and history(folder) == history(whole) and not checkpoint_files(folder)


def test_killed_at_twenty_moments_it_goes_on_to_the_same_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.runs.survivor", str(tmp_path), "0"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["killed"] == 20 and told["went on from a checkpoint"] >= 5


def test_an_interrupt_ends_after_the_iteration_and_saves(tmp_path: Path, whole: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    for number, where in ((signal.SIGINT, 5), (signal.SIGTERM, 9)):
        lines: list[str] = []
        with pytest.raises(Interrupted) as ended:
            interrupt = At(where, lambda number=number: os.kill(os.getpid(), number))
            condense(tmp_path / "run", interrupt, every=1000, resume=True, tell=lines.append)
        assert ended.value.saved == where
        assert "finishing this iteration, then saving" in lines[-1]
    assert condense(tmp_path / "run", resume=True)["iterations"] == 12
    assert same(tmp_path / "run", whole)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_without_a_checkpoint_it_begins_anew(tmp_path: Path, whole: Path) -> None:
    cut(tmp_path / "run", every=1000)
    condense(tmp_path / "run", resume=True)
    condense(tmp_path / "new", resume=True)
    assert same(tmp_path / "run", whole) and same(tmp_path / "new", whole)


def test_a_finished_run_is_read_and_not_run_again(tmp_path: Path) -> None:
    first = condense(tmp_path)
    assert condense(tmp_path, At(1, fail), resume=True) == first
    with pytest.raises(WouldOverwriteError, match=r"is not empty: choose another --out, or overwrite it with --force"):
        condense(tmp_path)
    assert condense(tmp_path, force=True)["iterations"] == 12


def test_an_unfinished_run_is_neither_overwritten_nor_taken_for_a_finished_one(tmp_path: Path) -> None:
    cut(tmp_path)
    with pytest.raises(WouldOverwriteError, match=r"has an unfinished run: go on with --resume, or overwrite"):
        condense(tmp_path)
    assert not (tmp_path / RESULT).exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(WouldOverwriteError, match=r"holds no run to go on with"):
        condense(tmp_path / "other", resume=True)


def test_other_settings_are_refused_by_name(tmp_path: Path, whole: Path) -> None:
    cut(tmp_path)
    with pytest.raises(InputError, match=r"settings\.json is of a run with feature_rate=0\.01, not 0\.5"):
        condense(tmp_path, resume=True, method=replace(METHOD, feature_rate=0.5))
    condense(tmp_path, resume=True)
    assert same(tmp_path, whole)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    cut(tmp_path / "one")
    cut(tmp_path / "two", method=replace(METHOD, seed=1))
    stolen = checkpoint_files(tmp_path / "two")[0]
    stolen.rename(tmp_path / "one" / stolen.name)
    with pytest.raises(InputError, match=r"checkpoint-00000008\.safetensors is of a run with seed=1, not 0"):
        condense(tmp_path / "one", resume=True)


def test_a_damaged_checkpoint_is_told_of_and_the_one_before_is_taken(tmp_path: Path, whole: Path) -> None:
    cut(tmp_path)
    last, before = checkpoint_files(tmp_path)
    assert [last.stem[-2:], before.stem[-2:]] == ["08", "06"]
    last.write_bytes(last.read_bytes()[:-100])
    lines: list[str] = []
    condense(tmp_path, resume=True, tell=lines.append)
    assert "checkpoint-00000008.safetensors is damaged" in lines[0] and "after iteration 6 of 12" in lines[1]
    assert same(tmp_path, whole)


@pytest.mark.parametrize("how", ["truncated", "one bit", "foreign", "empty"])
def test_without_a_whole_checkpoint_one_line_says_so(tmp_path: Path, how: str) -> None:
    cut(tmp_path, iteration=3)
    (file,) = checkpoint_files(tmp_path)
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    damage = {"truncated": bytes(content[:500]), "one bit": bytes(content), "empty": b""}
    if how == "foreign":
        save_file({"a": torch.ones(2)}, file)
    else:
        file.write_bytes(damage[how])
    with pytest.raises(
        FileFormatError, match=r"checkpoint-00000002\.safetensors is .*start anew with --force$"
    ) as error:
        condense(tmp_path, resume=True)
    assert "\n" not in str(error.value)


def test_a_full_disk_is_one_line_and_the_checkpoint_before_is_still_there(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(GraphcondenseError, match=r"^cannot write .*checkpoint-00000006.*: No space left on device$"):
        condense(tmp_path, At(5, lambda: monkeypatch.setattr(os, "fsync", full)))
    monkeypatch.setattr(os, "fsync", fsync)
    assert [file.stem[-2:] for file in checkpoint_files(tmp_path)] == ["04", "02"]
    condense(tmp_path, resume=True)
    assert same(tmp_path, whole)


def test_a_folder_in_use_is_left_alone_and_a_dead_process_keeps_nobody_off(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    with locked(tmp_path), pytest.raises(GraphcondenseError, match=r"is in use by another process: wait for it"):
        condense(tmp_path)
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert condense(tmp_path)["iterations"] == 12


def test_a_state_put_back_is_the_state(tmp_path: Path) -> None:
    states: list[dict[str, Any]] = []

    class Look(Callback):
        def on_run(self, run: Run) -> None:
            self.run = run

        def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
            states.append(self.run.state())

    cut(tmp_path / "a", iteration=5)
    condense(tmp_path / "a", Look(), resume=True)
    resumed = states[:]
    states.clear()
    condense(tmp_path / "b", Look())
    for one, other in zip(resumed, states[4:], strict=True):
        assert set(one) == set(other) and all(torch.equal(one[name], other[name]) for name in one)


def test_how_often_is_read_from_text() -> None:
    for text in ("0", "-3", "x", "s", "0s", "", "nans"):
        with pytest.raises(InputError, match=r"must be iterations, e\.g\. 100, or seconds, e\.g\. 60s"):
            Every.parse(text)
