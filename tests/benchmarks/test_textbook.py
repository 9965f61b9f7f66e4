"""The yardstick is honest: the plainly written algorithm and ours compute the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphcondense.matching import Matcher, relative_squared
from graphcondense.methods import DosCond, choose_at_random
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import SyntheticGraphs
from tests.made_up import toy_task

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from textbook import Textbook, TextbookGCN


def names_in_textbook(network: Network) -> list[str]:
    """Our names of the textbook's weights, in its order."""
    names: list[str] = []
    for layer in range(1, network.config.layers + 1):
        names += [f"conv{layer}.bias", f"conv{layer}.weight"]
    return [*names, "head.weight", "head.bias"]


def same_weights(model: TextbookGCN, network: Network) -> dict[str, torch.Tensor]:
    """The textbook's weights in our names and shapes."""
    values = [*model.convs.parameters(), model.head.weight, model.head.bias]
    named = zip(names_in_textbook(network), values, strict=True)
    return {name: (value.T if value.dim() == 2 else value).detach().unsqueeze(0) for name, value in named}


@pytest.fixture
def double() -> Iterator[None]:
    """Double precision: the instance norm blows up rows that are nearly equal, and their rounding with them."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
@pytest.mark.parametrize("match", ["class", "joint"])
@pytest.mark.parametrize(
    ("pooling", "norm"), [("mean", "none"), ("sum", "none"), ("mean", "instance"), ("mean", "nodes")]
)
def test_same_class_gradients_and_same_matching_loss(
    match: str, pooling: str, norm: str, metric: str, double: None
) -> None:
    task = toy_task(metric=metric)
    task = replace(task, graphs=replace(task.graphs, x=task.graphs.x.double()))
    config = NetworkConfig(hidden=16, pooling=pooling, norm=norm)
    settings = DosCond(graphs_per_class=3, network=config, match=match, nodes=8, real_batch="all")
    start = choose_at_random(task, [3, 3], torch.Generator().manual_seed(0), most_nodes=8)
    torch.manual_seed(0)
    textbook = Textbook(task, settings, start)
    model = TextbookGCN(task.num_features, task.num_outputs, config)
    for bias in (conv.bias for conv in model.convs):
        torch.nn.init.uniform_(bias, -0.1, 0.1)
    adjacency = textbook.sample(0.5).detach()
    theirs = textbook.matching_loss(model, adjacency, textbook.classes)

    network = Network(config, task.num_features, task.num_outputs)
    synthetic = SyntheticGraphs(task.train.subset(start), 2, 8)
    joint = match == "joint"
    groups = 1 if joint else 2
    theta = same_weights(model, network)
    members = [(task.train.y == label).nonzero().flatten() for label in (0, 1)]
    sizes = [len(part) for part in members]
    batch = network.prepare(task.train, by_label=not joint).batch(torch.cat(members), None if joint else sizes)
    weights = torch.cat([torch.full((size,), 1 / (sum(sizes) if joint else size)) for size in sizes])
    matcher = Matcher(network, relative_squared)
    real = matcher.real(theta, [batch], [weights])
    for label in range(groups):
        graphs = [g for part in textbook.classes for g in part] if joint else textbook.classes[label]
        expected = [part.T if part.dim() == 2 else part for part in textbook.real_gradient(model, graphs)]
        ours = dict(zip(network.parameter_names, real.parts, strict=True))
        for name, gradient in zip(names_in_textbook(network), expected, strict=True):
            torch.testing.assert_close(ours[name][label], gradient, rtol=1e-5, atol=1e-9)
    dense = synthetic.batch(adjacency.view(2, 3, 8, 8), network.propagation, joint)
    labels = synthetic.labels.view(groups, -1)
    loss, _ = matcher.synthetic(theta, dense, labels, torch.full(labels.shape, 1 / labels.shape[1]), real)
    torch.testing.assert_close(loss, theirs)

    (slope,) = torch.autograd.grad(loss, [synthetic.x])
    (expected_slope,) = torch.autograd.grad(theirs, [textbook.x])
    torch.testing.assert_close(slope.flatten(0, 1), expected_slope)
