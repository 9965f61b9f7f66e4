"""Condensers: each a class whose constructor only takes and checks settings."""

from types import MappingProxyType

from graphcondense.methods.base import Method, versions
from graphcondense.methods.bilevel import DCG, DosCondBi
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.coresets import Coreset, Herding, KCenter
from graphcondense.methods.doscond import DosCond
from graphcondense.methods.selection import RandomSelection, Whole, choose_at_random

METHODS: MappingProxyType[str, type[Method]] = MappingProxyType(
    {method.name: method for method in (Whole, RandomSelection, Herding, KCenter, DCG, DosCond, DosCondBi)}
)

__all__ = [
    "DCG",
    "METHODS",
    "Callback",
    "Callbacks",
    "Coreset",
    "DosCond",
    "DosCondBi",
    "Herding",
    "KCenter",
    "Method",
    "RandomSelection",
    "Whole",
    "choose_at_random",
    "versions",
]
