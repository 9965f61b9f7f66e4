"""Anybody's network as judge: modules that follow PyG's ``forward(x, edge_index, batch)``, one seed at a time."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch_geometric.loader import DataLoader

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore
from graphcondense.metrics import METRICS
from graphcondense.models import NetworkConfig
from graphcondense.tasks import GraphTask
from graphcondense.training import Progress, Recipe, graph_losses

ModuleSource = Callable[[int, int], nn.Module]


def train_modules(
    source: ModuleSource,
    graphs: GraphStore,
    task: GraphTask,
    seeds: Sequence[int],
    recipe: Recipe,
    progress: Progress | None = None,
) -> tuple[Tensor, Tensor]:
    """Test and validation scores, ``S`` each, of one fresh module a seed, trained by ``recipe``.

    Args:
        source: called with the number of features and of outputs, returns a module with fresh weights.
        graphs: the training graphs.
        task: whose validation graphs choose the epoch and whose test graphs give the score.
        seeds: one a module; they decide weights, dropout and the order of the batches.
        recipe: epochs, rates, batches.
        progress: called with epochs done and epochs in all.
    """
    if isinstance(source, NetworkConfig):
        raise InputError(f"model={source!r} is a NetworkConfig: pass protocol=Protocol(NetworkConfig(...)) instead")
    if isinstance(source, nn.Module) or not callable(source):
        raise InputError(
            f"model={type(source).__name__} must be a function (in_features, outputs) -> torch.nn.Module, so that "
            "every seed gets fresh weights: pass lambda i, o: YourNet(i, o)"
        )
    metric = METRICS[task.metric]
    held_out = [DataLoader(list(part), batch_size=512) for part in (task.val, task.test)]
    test_scores, val_scores = [], []
    total = recipe.epochs * len(seeds)
    for position, seed in enumerate(seeds):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = source(task.num_features, task.num_outputs).to(graphs.x.device)
            _check_forward(module)
            optimiser = torch.optim.Adam(module.parameters(), recipe.rate, weight_decay=recipe.weight_decay)
            loader = DataLoader(list(graphs), batch_size=recipe.batch_size, shuffle=True)
            best, weights = -1.0, copy.deepcopy(module.state_dict())
            for epoch in range(recipe.epochs):
                recipe.set_rate(optimiser, epoch)
                module.train()
                for batch in loader:
                    optimiser.zero_grad()
                    outputs = module(batch.x, batch.edge_index, batch.batch)
                    _check_outputs(outputs, batch.num_graphs, task.num_outputs)
                    torch.autograd.backward(graph_losses(outputs, batch.y).mean())
                    optimiser.step()
                if recipe.validates(epoch):
                    score = float(metric(_outputs(module, held_out[0]), task.val.y))
                    if score > best:
                        best, weights = score, copy.deepcopy(module.state_dict())
                if progress is not None:
                    progress(position * recipe.epochs + epoch + 1, total)
            recipe.check_trained({name: value.unsqueeze(0) for name, value in module.named_parameters()}, [seed])
            module.load_state_dict(weights)
            val_scores.append(best)
            test_scores.append(float(metric(_outputs(module, held_out[1]), task.test.y)))
    return torch.tensor(test_scores, dtype=torch.float64), torch.tensor(val_scores, dtype=torch.float64)


@torch.no_grad()
def _outputs(module: nn.Module, loader: DataLoader) -> Tensor:
    module.eval()
    return torch.cat([module(batch.x, batch.edge_index, batch.batch) for batch in loader])


def _check_forward(module: nn.Module) -> None:
    try:
        inspect.signature(module.forward).bind("x", "edge_index", "batch")
    except TypeError as error:
        raise InputError(f"the model's forward must take (x, edge_index, batch): {error}") from None


def _check_outputs(outputs: object, graphs: int, width: int) -> None:
    if not isinstance(outputs, Tensor) or outputs.shape != (graphs, width):
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InputError(
            f"the model's forward(x, edge_index, batch) must give {graphs} graphs x {width} outputs, it gave {got}: "
            "pool the node rows by batch"
        )
