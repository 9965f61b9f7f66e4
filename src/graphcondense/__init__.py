"""graphcondense: a large graph dataset becomes a few small graphs that train a GNN nearly as well."""

from importlib.metadata import version

from graphcondense.checkup import check
from graphcondense.datasets import ego_graphs, graph_task, load, node_task, resplit, write_shards
from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.evaluation import Protocol, Scores, evaluate_nodes, pooled
from graphcondense.evaluation import evaluate_any as evaluate
from graphcondense.export import export, import_graphs, to_networkx
from graphcondense.machine import deterministic
from graphcondense.methods import (
    DCG,
    DosCond,
    DosCondBi,
    GCond,
    Herding,
    HerdingNodes,
    HerdingSoft,
    KCenter,
    KCenterNodes,
    NodeDosCond,
    NodeDosCondX,
    Pursuit,
    RandomNodes,
    RandomSelection,
    RandomSoft,
    Whole,
    WholeNodes,
)
from graphcondense.models import NetworkConfig
from graphcondense.presets import preset
from graphcondense.runs import callbacks
from graphcondense.synthetic import CondensedDataset, CondensedGraph, CondensedInMemory, load_condensed, snap
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Recipe

__version__ = version("graphcondense")
__all__ = [
    "DCG",
    "CondensedDataset",
    "CondensedGraph",
    "CondensedInMemory",
    "DosCond",
    "DosCondBi",
    "GCond",
    "GraphTask",
    "GraphcondenseError",
    "Herding",
    "HerdingNodes",
    "HerdingSoft",
    "InputError",
    "KCenter",
    "KCenterNodes",
    "NetworkConfig",
    "NodeDosCond",
    "NodeDosCondX",
    "NodeTask",
    "Protocol",
    "Pursuit",
    "RandomNodes",
    "RandomSelection",
    "RandomSoft",
    "Recipe",
    "Scores",
    "Whole",
    "WholeNodes",
    "callbacks",
    "check",
    "deterministic",
    "ego_graphs",
    "evaluate",
    "evaluate_nodes",
    "export",
    "graph_task",
    "import_graphs",
    "load",
    "load_condensed",
    "node_task",
    "pooled",
    "preset",
    "resplit",
    "snap",
    "to_networkx",
    "write_shards",
]
