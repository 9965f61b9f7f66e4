"""Real graphs in: known datasets, folders and files of any usual form, and graphs in Python, all as a task."""

from graphcondense.datasets.catalogue import DatasetInfo, known
from graphcondense.datasets.custom import graph_task, graphs_for
from graphcondense.datasets.ego import ego_graphs
from graphcondense.datasets.loading import has_one_graph, load, load_part
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
    "has_one_graph",
    "known",
    "load",
    "load_part",
    "node_task",
    "own_part",
    "resplit",
    "split_task",
    "write_shards",
]
