"""Calling autograd functions of our own."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def apply(function: Any, *arguments: Any) -> Tensor:
    """Call an autograd function; torch leaves ``apply`` without types."""
    result: Tensor = function.apply(*arguments)
    return result
