"""Who says what there is to learn: a regression on all graphs, or networks that were trained on them for a while."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from graphcondense.metrics import METRICS
from graphcondense.models import Network, NetworkConfig
from graphcondense.seeding import generator
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Teacher, TrainedNetworks, train

_UNLIKE_OTHERS = 2 * 10**6  # networks that teach start from other weights than those of users, the judge and trials
_LOOKS = 25  # at the validation graphs, in all
_DRAWS = 200  # of validation graphs, to see how far a difference is to be trusted


def fit_teacher(task: GraphTask, kind: NetworkConfig, networks: int, hidden: int, seed: int) -> Teacher:
    """A regression of ``task``; ROC-AUC does not care how many graphs a class has, so neither does it.

    Args:
        task: whose training graphs it is fitted to.
        kind: the kind of its untrained networks.
        networks: how many.
        hidden: their width.
        seed: decides their weights.
    """
    network = Network(replace(kind, hidden=hidden), task.num_features, task.num_outputs)
    balanced = task.metric == "roc_auc"
    return Teacher.fit(network, task.train, task.num_classes, networks=networks, balanced=balanced, seed=seed)


def train_teacher(
    task: GraphTask, kind: NetworkConfig, recipe: Recipe, networks: int, steps: int, seed: int
) -> TrainedNetworks:
    """Networks that were trained on the whole training set, shortly: what they say is what few graphs can teach, too.

    Networks that learn for long come to say more than a network could learn from few graphs. What they say early
    differs little from one to the next, so a few of them are enough.

    Args:
        task: its training graphs teach, its validation graphs choose the epoch.
        kind: of the networks.
        recipe: how the judge trains; epochs are left out.
        networks: how many.
        steps: of training at most, but one epoch at least.
        seed: decides their weights.
    """
    an_epoch = math.ceil(len(task.train) / recipe.batch_size)
    epochs = min(recipe.epochs, max(1, steps // an_epoch))
    short = replace(recipe, epochs=epochs, validate_every=max(1, epochs // _LOOKS))
    seeds = [_UNLIKE_OTHERS + networks * seed + number for number in range(networks)]
    return train(Network(kind, task.num_features, task.num_outputs), task.train, task.val, seeds, short, task.metric)


def networks_are_as_good(task: GraphTask, networks: TrainedNetworks, regression: Teacher, seed: int) -> bool:
    """Whether networks are right on validation graphs as often as a regression, or less by less than a standard error.

    What networks came to say, networks can learn: they teach unless the regression plainly knows more. Not where both
    know all: networks that had nothing more to learn after an epoch or two say little.

    Args:
        task: whose validation graphs are asked about.
        networks: who may teach.
        regression: who would teach otherwise.
        seed: of the draws of graphs that the standard error is from.
    """
    metric, y = METRICS[task.metric], task.val.y
    said = torch.stack([teacher.probabilities(task.val).double() for teacher in (networks, regression)])
    members = [(y == label).nonzero().flatten() for label in range(task.num_classes)]
    source = generator(seed, "draws of validation graphs")
    ahead = []
    for _ in range(_DRAWS):
        drawn = torch.cat([own[torch.randint(len(own), own.shape, generator=source)] for own in members if len(own)])
        of_networks, of_regression = metric(said[:, drawn], y[drawn])
        ahead.append(of_networks - of_regression)
    of_networks, of_regression = metric(said, y)
    return bool(of_networks > of_regression - torch.stack(ahead).std())
