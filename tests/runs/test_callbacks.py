from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graphcondense as gc
from graphcondense.errors import InputError
from graphcondense.methods import Callback, DosCond, NodeDosCond, Run
from graphcondense.models import NetworkConfig
from graphcondense.runs import early_stop
from tests.made_up import toy_nodes, toy_task

NETWORK = NetworkConfig(hidden=8, layers=2)
TASK = toy_task(40)
METHOD = DosCond(graphs_per_class=1, iterations=10, network=NETWORK, real_batch=8, nodes=8)


class Fail(Callback):
    def __init__(self, at: int) -> None:
        self.at = at

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        if iteration == self.at:
            raise RuntimeError("a power cut")


def scores_of(monkeypatch: pytest.MonkeyPatch, scores: list[float]) -> None:
    """Let the judge say these, one after the other; again from the iteration where it stands when continued."""
    monkeypatch.setattr(early_stop.EarlyStop, "_score", lambda self, run: scores[(len(run.history) - 1) // self.every])


def graphs_at(iteration: int) -> Any:
    """The graphs after so many iterations: a run that ends there gives the same."""

    class Stop(Callback):
        def on_run(self, run: Run) -> None:
            self.run = run

        def on_iteration(self, now: int, record: dict[str, float]) -> None:
            if now == iteration:
                self.run.stop()

    return METHOD.condense(TASK, [Stop()]).graphs


def test_an_early_stop_keeps_the_best_and_ends_when_patience_does(monkeypatch: pytest.MonkeyPatch) -> None:
    scores_of(monkeypatch, [0.5, 0.7, 0.6, 0.7, 0.9])
    stop = gc.callbacks.EarlyStop(every=2, patience=2)
    condensed = METHOD.condense(TASK, [stop])
    assert (stop.best, stop.best_iteration) == (0.7, 4)
    assert len(condensed.history) == 8
    assert [record.get("val_score") for record in condensed.history][1::2] == [0.5, 0.7, 0.6, 0.7]
    expected = graphs_at(4)
    assert condensed.graphs.x.equal(expected.x) and condensed.graphs.edge_index.equal(expected.edge_index)
    assert not condensed.graphs.x.equal(graphs_at(8).x)


def test_an_early_stop_survives_a_power_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scores_of(monkeypatch, [0.5, 0.7, 0.6, 0.7, 0.9])

    def hooks(*more: Callback) -> list[Callback]:
        stop = gc.callbacks.EarlyStop(every=2, patience=2)
        return [stop, *more, gc.callbacks.Checkpoints(tmp_path, gc.callbacks.Every(iterations=1))]

    with pytest.raises(RuntimeError):
        METHOD.condense(TASK, hooks(Fail(7)))
    condensed = METHOD.condense(TASK, hooks())
    assert len(condensed.history) == 8
    assert condensed.graphs.x.equal(graphs_at(4).x)


@pytest.mark.parametrize("task", [TASK, toy_nodes()], ids=["graphs", "nodes"])
def test_the_judge_looks_at_the_validation_split(task: Any) -> None:
    size: dict[str, Any] = {"nodes": 6} if task.name == "toy nodes" else {"graphs_per_class": 1, "nodes": 8}
    method = (NodeDosCond if task.name == "toy nodes" else DosCond)(iterations=3, network=NETWORK, **size)
    protocol = gc.Protocol(NETWORK, gc.Recipe(epochs=3))
    history = method.condense(task, [gc.callbacks.EarlyStop(2, seeds=2, protocol=protocol)]).history
    assert ["val_score" in record for record in history] == [False, True, True]
    assert 0 <= history[1]["val_score"] <= 1


def test_settings_of_an_early_stop_are_checked() -> None:
    with pytest.raises(InputError, match="patience=0 must be a whole number of at least 1"):
        gc.callbacks.EarlyStop(patience=0)


def test_the_history_is_there_while_the_run_goes_on(tmp_path: Path) -> None:
    seen: list[int] = []

    class Look(Callback):
        def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
            seen.append(len((tmp_path / "history.jsonl").read_text().splitlines()))

    condensed = METHOD.condense(TASK, [gc.callbacks.History(tmp_path / "history.jsonl"), Look()])
    assert seen == list(range(1, 11))
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    keys = {"iteration", "loss", "first_term", "second_term", "density", "temperature", "seconds"}
    assert all(set(line) == keys for line in lines)
    assert [line["loss"] for line in lines] == [record["loss"] for record in condensed.history]


def test_tensorboard_gets_every_figure(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    condensed = METHOD.condense(TASK, [gc.callbacks.TensorBoard(tmp_path)])
    events = EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == set(condensed.history[0])
    losses = [event.value for event in events.Scalars("loss")]
    assert losses == pytest.approx([record["loss"] for record in condensed.history])


def test_tensorboard_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"TensorBoard is not installed: pip install 'graphcondense\[tensorboard\]'"):
        gc.callbacks.TensorBoard(tmp_path)
