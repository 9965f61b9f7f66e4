"""What this machine has, and how its memory is handed out."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from graphcondense.errors import InputError

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT_BYTES = 2**30


def physical_memory() -> int:
    """Bytes of memory that this machine has; endless where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def check_fits(needed: int, what: str, remedy: str) -> None:
    """Raise if ``needed`` bytes for ``what`` are more than this machine has."""
    if needed > (available := physical_memory()):
        raise InputError(f"{what} need about {needed / 1e9:.0f} GB, this machine has {available / 1e9:.0f}: {remedy}")


def be_deterministic() -> None:
    """From now on the same bits come out whatever the number of threads: compute with one.

    Sums that several threads share are added up in another order when the threads are others; only one thread always
    has the same order. PyTorch's deterministic kernels, which are asked for, too, do not change that.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


@contextmanager
def deterministic() -> Iterator[None]:
    """The same bits whatever the number of threads, for what runs within; it runs with one thread.

    >>> with deterministic():
    ...     torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    (1, True)
    """
    threads, enabled = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    be_deterministic()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(enabled)


@cache
def keep_freed_memory() -> bool:
    """Let the C library keep the memory that tensors give back, for the next ones; whether it could be told to.

    By default glibc returns blocks of some megabytes to the system at once, and every new tensor then costs a page
    fault every four kilobytes: half of the time of a network's step on large graphs. Only memory below one gigabyte
    is kept. ``GRAPHCONDENSE_KEEP_MEMORY=0`` leaves the process as it is.
    """
    if os.environ.get("GRAPHCONDENSE_KEEP_MEMORY", "1") == "0" or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all([mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES) == 1, mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) == 1])
