from __future__ import annotations

import os
import subprocess
import sys

import pytest

from graphcondense.machine import physical_memory

PROGRAM = """
import resource, torch
from graphcondense.machine import keep_freed_memory
print(keep_freed_memory())
for _ in range(3):
    torch.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
@pytest.mark.parametrize("kept", ["1", "0"])
def test_freed_memory_is_used_again_unless_switched_off(kept: str) -> None:
    environment = {**os.environ, "GRAPHCONDENSE_KEEP_MEMORY": kept}
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert printed[0] == str(kept == "1")
    # 64 MB are 16,384 pages: either 20 times all of them, or hardly any
    assert (int(printed[1]) < 2_000) == (kept == "1")


def test_there_is_memory() -> None:
    assert physical_memory() > 2**28
