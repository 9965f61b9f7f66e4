"""Real graphs in: known datasets, folders in TU format, and the user's own PyG graphs, all as a ``GraphTask``."""

from graphcondense.datasets.catalogue import DatasetInfo, known
from graphcondense.datasets.custom import graph_task, graphs_for
from graphcondense.datasets.ego import ego_graphs
from graphcondense.datasets.loading import load, load_part
from graphcondense.datasets.node_tasks import node_task
from graphcondense.datasets.places import cache_root, data_root
from graphcondense.datasets.shards import own_part, split_task, write_shards
from graphcondense.datasets.splits import resplit

__all__ = [
    "DatasetInfo",
    "cache_root",
    "data_root",
    "ego_graphs",
    "graph_task",
    "graphs_for",
    "known",
    "load",
    "load_part",
    "node_task",
    "own_part",
    "resplit",
    "split_task",
    "write_shards",
]
