"""Condensers: each a class whose constructor only takes and checks settings."""

from types import MappingProxyType

from graphcondense.methods.base import Method, versions
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.doscond import DosCond
from graphcondense.methods.selection import RandomSelection, Whole, choose_at_random

METHODS: MappingProxyType[str, type[Method]] = MappingProxyType(
    {method.name: method for method in (DosCond, RandomSelection, Whole)}
)

__all__ = [
    "METHODS",
    "Callback",
    "Callbacks",
    "DosCond",
    "Method",
    "RandomSelection",
    "Whole",
    "choose_at_random",
    "versions",
]
