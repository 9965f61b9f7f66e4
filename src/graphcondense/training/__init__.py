"""Training: many seeds at once, on real or on condensed graphs."""

from graphcondense.training.losses import graph_losses, probabilities, residual_change, residuals
from graphcondense.training.nodes import TrainedNodeNetworks, train_nodes
from graphcondense.training.store import FolderStore, Store
from graphcondense.training.tangent import adam_scales, tangent_kernel, tangent_rows
from graphcondense.training.teacher import Ridge, Teacher
from graphcondense.training.trainer import Progress, Recipe, TrainedNetworks, predict, prediction_batches, train

__all__ = [
    "FolderStore",
    "Progress",
    "Recipe",
    "Ridge",
    "Store",
    "Teacher",
    "TrainedNetworks",
    "TrainedNodeNetworks",
    "adam_scales",
    "graph_losses",
    "predict",
    "prediction_batches",
    "probabilities",
    "residual_change",
    "residuals",
    "tangent_kernel",
    "tangent_rows",
    "train",
    "train_nodes",
]
