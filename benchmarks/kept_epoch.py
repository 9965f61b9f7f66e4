"""Does it matter which epoch's weights are kept? On ogbg-molbbbp condensed to one graph a class: no.

Reads the condensed sets that ``graphcondense reproduce table1 --full`` left in ``runs/reproduce/full``, trains on them
by the paper's recipe, and writes the mean test score for several ways to choose the epoch to
``benchmarks/results/kept-epoch.json``.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

import graphcondense as gc
from graphcondense.metrics import roc_auc
from graphcondense.models import Network
from graphcondense.training import graph_losses, predict, prediction_batches

RECIPE, SEEDS = gc.Recipe(), 10


def curves(task: gc.GraphTask, condensed: gc.CondensedDataset) -> tuple[torch.Tensor, torch.Tensor]:
    """Validation and test scores after each epoch, ``epochs x seeds``."""
    network = Network(gc.NetworkConfig(), task.num_features, task.num_outputs)
    weights = {name: weight.requires_grad_() for name, weight in network.draw_seeds(range(SEEDS)).items()}
    optimiser = torch.optim.Adam(list(weights.values()), RECIPE.rate)
    batch = network.prepare(condensed.graphs).batch()
    held_out = [(prediction_batches(network, part), part.y) for part in (task.val, task.test)]
    scores: list[list[torch.Tensor]] = [[], []]
    for epoch in range(RECIPE.epochs):
        RECIPE.set_rate(optimiser, epoch)
        optimiser.zero_grad()
        graph_losses(network(weights, batch), batch.y).mean(-1).sum().backward()
        optimiser.step()
        for column, (batches, y) in zip(scores, held_out, strict=True):
            column.append(roc_auc(predict(network, weights, {}, batches), y))
    return torch.stack(scores[0]), torch.stack(scores[1])


def main() -> None:
    """Train, choose, write."""
    torch.set_num_threads(1)
    task = gc.load("ogbg-molbbbp")
    sets = [
        gc.CondensedDataset.load(Path(f"runs/reproduce/full/table1/ogbg-molbbbp/doscond-1-{s}.safetensors"))
        for s in range(5)
    ]
    val, test = (torch.cat(part, dim=1) for part in zip(*(curves(task, condensed) for condensed in sets), strict=True))

    def kept(every: int) -> float:
        best = val[every - 1 :: every].argmax(0, keepdim=True)
        return float(test[every - 1 :: every].gather(0, best).mean())

    result = {"first best of all": kept(1)} | {f"best of every {k}th": kept(k) for k in (5, 10, 20, 50, 100)}
    result["last"] = float(test[-1].mean())
    path = Path(__file__).resolve().parent / "results" / "kept-epoch.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
