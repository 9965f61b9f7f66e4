"""Several ranks on this machine: forks of the test, so that nothing is imported twice."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from graphcondense.distributed import World, world

PATIENCE = 60.0  # seconds, after which ranks that hang are killed


def run_ranks(count: int, work: Callable[[World], None], folder: Path, timeout: float = 20.0) -> list[int]:
    """Do ``work`` in ``count`` ranks; exit codes (minus the signal, for those killed). Errors go to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(count):
        child = os.fork()
        if child == 0:
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
            try:
                with world(timeout) as ranks:
                    work(ranks)
            except BaseException as error:
                (folder / f"error{rank}.txt").write_text(f"{type(error).__name__}: {error}")
                traceback.print_exc(file=sys.__stderr__)
                os._exit(1)
            os._exit(0)
        children.append(child)
    codes: dict[int, int] = {}
    until = time.monotonic() + PATIENCE
    while len(codes) < count:
        for child in children:
            if child not in codes:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    codes[child] = os.waitstatus_to_exitcode(status)
                elif time.monotonic() > until:
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    return [codes[child] for child in children]
