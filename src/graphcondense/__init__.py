"""graphcondense: a large graph dataset becomes a few small graphs that train a GNN nearly as well."""

from importlib.metadata import version

from graphcondense.datasets import ego_graphs, graph_task, load, resplit
from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.evaluation import Protocol, Scores, evaluate, pooled
from graphcondense.methods import DCG, DosCond, DosCondBi, Herding, KCenter, RandomSelection, Whole
from graphcondense.models import NetworkConfig
from graphcondense.presets import preset
from graphcondense.synthetic import CondensedDataset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe

__version__ = version("graphcondense")
__all__ = [
    "DCG",
    "CondensedDataset",
    "DosCond",
    "DosCondBi",
    "GraphTask",
    "GraphcondenseError",
    "Herding",
    "InputError",
    "KCenter",
    "NetworkConfig",
    "Protocol",
    "RandomSelection",
    "Recipe",
    "Scores",
    "Whole",
    "ego_graphs",
    "evaluate",
    "graph_task",
    "load",
    "pooled",
    "preset",
    "resplit",
]
