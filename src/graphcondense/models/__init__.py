"""Networks: one set of weights, run sparse on real and dense on synthetic graphs."""

from graphcondense.models.kinds import KINDS, Parameters
from graphcondense.models.network import NORMS, POOLINGS, Network, NetworkConfig
from graphcondense.models.nodes import NodeNetwork
from graphcondense.models.views import GraphBatch, NodeRows, Rows

__all__ = [
    "KINDS",
    "NORMS",
    "POOLINGS",
    "GraphBatch",
    "Network",
    "NetworkConfig",
    "NodeNetwork",
    "NodeRows",
    "Parameters",
    "Rows",
]
