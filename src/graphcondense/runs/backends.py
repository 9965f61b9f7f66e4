"""Where the cells of a grid run: processes of this machine, or a Dask or Ray cluster by their joblib backends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from graphcondense.errors import GraphcondenseError, InputError, check_choice

BACKENDS = ("local", "dask", "ray")


@contextmanager
def backend(name: str, jobs: int, address: str | None = None) -> Iterator[None]:
    """What joblib starts within runs there.

    Args:
        name: ``"local"``, ``"dask"`` or ``"ray"``.
        jobs: workers, where a cluster is started on this machine for the purpose.
        address: of a cluster that is there already; without it, one is started on this machine.
    """
    check_choice("backend", name, BACKENDS)
    if name == "local":
        if address is not None:
            raise InputError(f"--scheduler {address} needs --backend dask or --backend ray")
        yield
    elif name == "dask":
        with _dask(jobs, address):
            yield
    else:
        with _ray(jobs, address):
            yield


@contextmanager
def _dask(jobs: int, address: str | None) -> Iterator[None]:
    try:
        from distributed import Client, KilledWorker, LocalCluster
    except ImportError:
        raise InputError("Dask is not installed: pip install 'graphcondense[dask]'") from None
    started: Any = None
    try:
        if address is None:
            started = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        client: Any = Client(started or address)
    except (OSError, TimeoutError) as error:
        raise GraphcondenseError(f"the Dask scheduler {address or 'here'} cannot be reached: {error}") from None
    try:
        with parallel_config(backend="dask", client=client):
            yield
    except KilledWorker:
        raise GraphcondenseError("a Dask worker was ended, perhaps for want of memory: go on with --resume") from None
    finally:
        client.close()
        if started is not None:
            started.close()


@contextmanager
def _ray(jobs: int, address: str | None) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise InputError("Ray is not installed: pip install 'graphcondense[ray]'") from None
    if not ray.is_initialized():
        ray.init(**({"num_cpus": jobs} if address is None else {"address": address}), log_to_driver=False)
    register_ray()
    with parallel_config(backend="ray"):
        yield
