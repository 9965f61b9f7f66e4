"""Condensers: each a class whose constructor only takes and checks settings."""

from types import MappingProxyType

from graphcondense.methods.base import Condenser, Method, versions
from graphcondense.methods.bilevel import DCG, DosCondBi
from graphcondense.methods.callbacks import Callback, Callbacks
from graphcondense.methods.coresets import Coreset, Herding, KCenter
from graphcondense.methods.doscond import DosCond
from graphcondense.methods.node_base import NodeMethod
from graphcondense.methods.node_doscond import GCond, NodeDosCond, NodeDosCondX
from graphcondense.methods.node_selection import HerdingNodes, KCenterNodes, RandomNodes, WholeNodes
from graphcondense.methods.numbers import DivergedError
from graphcondense.methods.pursuit import Pursuit
from graphcondense.methods.run import Run
from graphcondense.methods.selection import RandomSelection, Whole, choose_at_random
from graphcondense.methods.soft import HerdingSoft, RandomSoft

METHODS: MappingProxyType[str, type[Method]] = MappingProxyType(
    {
        method.name: method
        for method in (
            Whole,
            RandomSelection,
            RandomSoft,
            Herding,
            HerdingSoft,
            KCenter,
            DCG,
            DosCond,
            DosCondBi,
            Pursuit,
        )
    }
)
NODE_METHODS: MappingProxyType[str, type[NodeMethod]] = MappingProxyType(
    {
        method.name: method
        for method in (WholeNodes, RandomNodes, HerdingNodes, KCenterNodes, GCond, NodeDosCondX, NodeDosCond)
    }
)

__all__ = [
    "DCG",
    "METHODS",
    "NODE_METHODS",
    "Callback",
    "Callbacks",
    "Condenser",
    "Coreset",
    "DivergedError",
    "DosCond",
    "DosCondBi",
    "GCond",
    "Herding",
    "HerdingNodes",
    "HerdingSoft",
    "KCenter",
    "KCenterNodes",
    "Method",
    "NodeDosCond",
    "NodeDosCondX",
    "NodeMethod",
    "Pursuit",
    "RandomNodes",
    "RandomSelection",
    "RandomSoft",
    "Run",
    "Whole",
    "WholeNodes",
    "choose_at_random",
    "versions",
]
