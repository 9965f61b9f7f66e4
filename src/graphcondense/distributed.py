"""Several processes that condense together: who they are, and the few things that they tell each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from graphcondense.errors import GraphcondenseError


class World:
    """One process alone: what it tells the others, it tells itself.

    ``rank`` is this process's number, ``size`` how many there are, ``bytes_sent`` what it handed over for sums.
    """

    rank, size, bytes_sent = 0, 1, 0

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def add(self, tensor: Tensor) -> Tensor:
        """The sum of all processes' tensors, in place."""
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        return flag

    def from_first(self, content: bytes) -> bytes:
        """What the first process gave; all others may give anything."""
        return content


class Ranks(World):
    """This process among several that ``torchrun`` started."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def add(self, tensor: Tensor) -> Tensor:
        """The sum of all processes' tensors, in place: the same bits everywhere."""
        with self._contact():
            dist.all_reduce(tensor)
        self.bytes_sent += tensor.numel() * tensor.element_size()
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        return bool(self.add(torch.tensor([int(flag)]))[0])

    def from_first(self, content: bytes) -> bytes:
        """What the first process gave, as raw bytes: nothing is pickled."""
        length = torch.tensor([len(content)])
        with self._contact():
            dist.broadcast(length, 0)
            data = torch.frombuffer(bytearray(content or b"\0"), dtype=torch.uint8)
            if not self.first:
                data = torch.empty(max(1, int(length)), dtype=torch.uint8)
            dist.broadcast(data, 0)
        return data.numpy().tobytes()[: int(length)]

    @contextmanager
    def _contact(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise GraphcondenseError(
                f"rank {self.rank} lost contact with another rank, which has ended or cannot be reached: see what it "
                f"said, then start the same command with --resume ({cause[:120]})"
            ) from None


def rank_of_environment() -> int:
    """This process's number as ``torchrun`` gave it; 0 without ``torchrun``."""
    return int(os.environ.get("RANK", "0"))


@contextmanager
def world(timeout: float = 600.0) -> Iterator[World]:
    """The processes that ``torchrun`` started together; without it, this process alone.

    Args:
        timeout: seconds after which a process that does not answer counts as lost.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield World()
        return
    try:
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    except (RuntimeError, ValueError) as error:
        line = str(error).strip().splitlines()[0]
        raise GraphcondenseError(f"the ranks could not find each other: {line}") from None
    yield Ranks()
    dist.destroy_process_group()  # not after an error: others may be gone, and the process ends anyway
