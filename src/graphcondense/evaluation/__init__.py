"""The judge: what a network trained on some graphs, or on the nodes of one, scores on the real test set."""

from typing import Any

from graphcondense.evaluation.look import Look, look
from graphcondense.evaluation.modules import ModuleSource
from graphcondense.evaluation.nodes import NODE_KINDS, NODE_PROTOCOL, evaluate_nodes
from graphcondense.evaluation.protocol import Protocol, Scores, evaluate, own_protocol, pooled
from graphcondense.tasks import GraphTask, NodeTask


def evaluate_any(graphs: Any, task: GraphTask | NodeTask, **options: Any) -> Scores:
    """Train networks on ``graphs`` and score them on the real test set of ``task``.

    Args:
        graphs: what was condensed, or plain PyG graphs.
        task: whose validation graphs (or nodes) choose the epoch and whose test graphs give the score.
        options: ``seeds``, how many trainings (10) or which; ``protocol``, network and recipe as a :class:`Protocol`;
            ``model``, another built-in kind or a function ``(in_features, outputs) -> torch.nn.Module``; ``progress``,
            called with epochs done and in all; see :func:`evaluate` for graph tasks, :func:`evaluate_nodes` for nodes.

    Returns:
        ``mean``, ``std`` and ``per_seed`` of the test scores.
    """
    return evaluate_nodes(graphs, task, **options) if isinstance(task, NodeTask) else evaluate(graphs, task, **options)


__all__ = [
    "NODE_KINDS",
    "NODE_PROTOCOL",
    "Look",
    "ModuleSource",
    "Protocol",
    "Scores",
    "evaluate",
    "evaluate_any",
    "evaluate_nodes",
    "look",
    "own_protocol",
    "pooled",
]
