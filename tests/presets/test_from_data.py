from __future__ import annotations

import torch
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.methods.rates import feature_spread
from graphcondense.presets import preset, preset_of
from graphcondense.presets.from_data import size_share
from tests.made_up import toy_nodes, toy_task


def rings(scale: float = 0.0) -> list[Data]:
    """Small and large rings: their size is all that tells the classes apart."""
    made = []
    source = torch.Generator().manual_seed(0)
    for position in range(80):
        nodes = 4 + position % 3 + 8 * (position % 2)
        ring = torch.stack([torch.arange(nodes), torch.arange(nodes).roll(-1)])
        x = torch.randn(nodes, 2, generator=source) * scale if scale else torch.ones(nodes, 1)
        made.append(Data(x=x, edge_index=torch.cat([ring, ring.flip(0)], 1), y=torch.tensor([position % 2])))
    return made


def test_usual_data_gets_the_usual_settings() -> None:
    for task in (toy_task(), gc.load("digits"), toy_nodes()):
        assert preset("default", task) == preset_of("default", task.name, isinstance(task, gc.NodeTask))


def test_pooling_follows_what_size_tells() -> None:
    task = gc.graph_task(rings())
    assert size_share(task) > 0.9 and size_share(toy_task()) < 0.1
    assert preset("default", task).network.pooling == "sum"
    assert preset("paper", task).network.pooling == preset_of("paper", "custom", False).network.pooling
    assert preset("default", task).protocol.network.pooling == "sum"


def test_the_rate_follows_the_spread_of_the_features() -> None:
    usual = preset_of("default", "custom", False).condense["feature_rate"]
    for scale, factor in ((300.0, 300), (1.0, 1), (0.002, 0.002)):
        rate = preset("default", gc.graph_task(rings(scale))).condense["feature_rate"]
        assert 0.7 < rate / (usual * factor) < 1.4
    assert feature_spread(toy_task()) is None  # 0 and 1 only
