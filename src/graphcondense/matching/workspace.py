"""Memory that a loop uses again and again instead of asking for it anew."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_MOST_VIEWS = 256  # sampled batches differ in size: views of past shapes are of no use


class Workspace:
    """Tensors by name; asking for a name again hands out the same memory, whatever was in it.

    A fresh tensor of some megabytes costs a page fault every four kilobytes, which can take longer than filling it.

    >>> space = Workspace()
    >>> like = torch.zeros(1)
    >>> space("rows", (2, 3), like).data_ptr() == space("rows", (3, 2), like).data_ptr()
    True
    """

    def __init__(self) -> None:
        self._memory: dict[str, Tensor] = {}
        self._views: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def __call__(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Room for ``shape`` numbers of the type and on the device of ``like``, not set to anything."""
        view = self._views.get((name, shape))
        if view is not None and view.dtype == like.dtype and view.device == like.device:
            return view
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.numel() < size or memory.dtype != like.dtype or memory.device != like.device:
            memory = self._memory[name] = torch.empty(size, dtype=like.dtype, device=like.device)
            self._views = {key: view for key, view in self._views.items() if key[0] != name}
        if len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        view = self._views[name, shape] = memory[:size].view(shape)
        return view
