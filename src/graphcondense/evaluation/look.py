"""One more look at networks that were trained on condensed graphs: what they say of each test graph or node."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.evaluation.nodes import train_on_nodes
from graphcondense.evaluation.protocol import Scores, own_protocol, seed_list
from graphcondense.graphs import GraphStore
from graphcondense.metrics import METRICS
from graphcondense.models import Network
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Progress, train


@dataclass(frozen=True, eq=False)
class Look:
    """What networks trained on condensed graphs do with the test set.

    Args:
        scores: of every training.
        truth: class of each test graph or node.
        guesses: what the first network takes it for.
        embeddings: where the first network puts it; for node tasks its outputs.
        embed: the same for other graphs; ``None`` for node tasks.
    """

    scores: Scores
    truth: Tensor
    guesses: Tensor
    embeddings: Tensor
    embed: Callable[[GraphStore], Tensor] | None


def look(
    condensed: CondensedDataset | CondensedGraph,
    task: GraphTask | NodeTask,
    *,
    seeds: int | Sequence[int] = 3,
    progress: Progress | None = None,
) -> Look:
    """Train as :func:`graphcondense.evaluate` does, with the same scores, and keep what the first network says."""
    chosen, protocol = seed_list(seeds), own_protocol(condensed)
    started = time.perf_counter()
    if isinstance(task, NodeTask):
        assert isinstance(condensed, CondensedGraph)
        on_nodes, test = train_on_nodes(protocol.network.kind, condensed, task, chosen, protocol, progress)
        outputs, val, truth = on_nodes.outputs(test), on_nodes.val_scores, test.y
        embeddings, embed = outputs[0], None
    else:
        assert isinstance(condensed, CondensedDataset)
        network = Network(protocol.network, task.num_features, task.num_outputs)
        trained = train(network, condensed.graphs, task.val, chosen, protocol.recipe, task.metric, progress)
        outputs, val, truth = trained.outputs(task.test), trained.val_scores, task.test.y

        def embed(graphs: GraphStore) -> Tensor:
            return trained.embeddings(graphs)[0]

        embeddings = embed(task.test)
    guesses = (outputs[0, :, 0] > 0).long() if outputs.shape[-1] == 1 else outputs[0].argmax(-1)
    scores = METRICS[task.metric](outputs, truth)
    seconds = time.perf_counter() - started
    judged = Scores(task.metric, tuple(scores.tolist()), tuple(val.tolist()), seconds)
    return Look(judged, truth, guesses, embeddings.detach().to(torch.float32), embed)
