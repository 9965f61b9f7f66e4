"""Training: many seeds at once, on real or on condensed graphs."""

from graphcondense.training.losses import graph_losses, residual_change, residuals
from graphcondense.training.nodes import TrainedNodeNetworks, train_nodes
from graphcondense.training.store import FolderStore, Store
from graphcondense.training.trainer import Progress, Recipe, TrainedNetworks, predict, prediction_batches, train

__all__ = [
    "FolderStore",
    "Progress",
    "Recipe",
    "Store",
    "TrainedNetworks",
    "TrainedNodeNetworks",
    "graph_losses",
    "predict",
    "prediction_batches",
    "residual_change",
    "residuals",
    "train",
    "train_nodes",
]
