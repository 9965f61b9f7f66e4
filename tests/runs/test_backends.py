from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.models import NetworkConfig
from graphcondense.presets import Preset
from graphcondense.runs.grid import plan, run_grid
from graphcondense.training import Recipe
from tests.made_up import toy_task

SMALL = Preset("default", NetworkConfig(hidden=8, layers=2), {"iterations": 2, "real_batch": 8}, Recipe(epochs=3))
TASK = toy_task(40)
CELLS = plan(SMALL, ["whole", "random", "herding", "doscond"], [1], condense_seeds=1, eval_seeds=2)


def test_dask_gives_the_rows_that_this_process_gives(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask")
    from distributed import LocalCluster

    here = run_grid(CELLS, TASK, SMALL)
    folder = tmp_path / "there"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = run_grid(CELLS, TASK, SMALL, folder=folder, where="dask", scheduler=cluster.scheduler_address)
    again = run_grid(CELLS, TASK, SMALL, folder=folder, where="dask", resume=True)  # a cluster of its own, not used
    assert there == again
    assert [row["evaluation"]["per_seed"] for row in there] == [row["evaluation"]["per_seed"] for row in here]


def test_a_scheduler_that_is_not_there_is_one_line() -> None:
    dask = pytest.importorskip("dask", reason="needs the extra dask")
    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, pytest.raises(GraphcondenseError, match=r"scheduler tcp://127\.0\.0\.1:1 cannot be reached") as error:
        run_grid(CELLS[1:2], TASK, SMALL, where="dask", scheduler="tcp://127.0.0.1:1")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "module"), [("Dask", "distributed"), ("Ray", "ray")])
def test_what_is_not_installed_is_one_line(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"{name} is not installed: pip install 'graphcondense\[{name.lower()}\]'"):
        run_grid(CELLS, TASK, SMALL, where=name.lower())
    with pytest.raises(InputError, match="unknown backend 'dusk': did you mean 'dask'"):
        run_grid(CELLS, TASK, SMALL, where="dusk")
    with pytest.raises(InputError, match="--scheduler a:1 needs --backend dask"):
        run_grid(CELLS, TASK, SMALL, scheduler="a:1")
