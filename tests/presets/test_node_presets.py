from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from graphcondense.datasets import known
from graphcondense.errors import InputError
from graphcondense.evaluation import NODE_PROTOCOL, Protocol
from graphcondense.methods import NODE_METHODS, GCond, NodeDosCond, NodeDosCondX
from graphcondense.methods.node_selection import NodeCoreset
from graphcondense.models import NetworkConfig
from graphcondense.presets import PRESETS, preset
from graphcondense.tasks import NodeTask
from graphcondense.training import Recipe
from tests.made_up import toy_nodes

NAMES = [info.name for info in known() if info.task == "node"]
# Kind of network, iterations, distance, feature rate, structure rate.
PAPER = {
    "Cora": ("gcn", 5000, "relative-squared", 1e-3, 5e-2),
    "Citeseer": ("gcn", 3000, "relative-squared", 1e-3, 5e-2),
    "Pubmed": ("gcn", 2000, "relative-squared", 1e-3, 5e-2),
    "ogbn-arxiv": ("sgc", 1000, "layerwise-cosine", 1e-2, 2e-2),
    "Flickr": ("gcn", 1000, "relative-squared", 5e-3, 5e-3),
}


def task_named(name: str) -> NodeTask:
    return replace(toy_nodes(), name=name)


def method(name: str, dataset: str, kind: str = "doscond", **settings: Any) -> Any:
    return preset(name, task_named(dataset)).method(kind, **({"nodes": 9} | settings))


@pytest.mark.parametrize("dataset", PAPER)
def test_the_paper_preset_is_the_papers(dataset: str) -> None:
    kind, iterations, distance, feature_rate, structure_rate = PAPER[dataset]
    for name in ("doscond", "doscond-x"):
        made = method("paper", dataset, name)
        assert isinstance(made, NodeDosCond)
        assert made.network == NetworkConfig(kind, hidden=256, layers=2)
        assert (made.iterations, made.distance) == (iterations, distance)
        assert (made.feature_rate, made.structure_rate) == (feature_rate, structure_rate)
        assert made.restart_at is None
    assert method("paper", dataset).structure == "bernoulli"


@pytest.mark.parametrize("dataset", [*PAPER, "Photo", "my own"])
def test_the_paper_judges_every_dataset_alike(dataset: str) -> None:
    chosen = preset("paper", task_named(dataset))
    assert chosen.dropout == 0.5
    assert (chosen.recipe.epochs, chosen.recipe.weight_decay) == (600, 5e-4)
    assert (chosen.network.hidden, chosen.network.layers) == (256, 2)


def test_the_paper_judges_arxiv_by_a_gcn() -> None:
    assert preset("paper", task_named("ogbn-arxiv")).protocol.network.kind == "gcn"


@pytest.mark.parametrize("dataset", [*(name for name in PAPER if name != "ogbn-arxiv"), "my own"])
def test_the_paper_judges_by_a_gcn(dataset: str) -> None:
    assert preset("paper", task_named(dataset)).protocol == NODE_PROTOCOL


@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("name", PRESETS)
def test_gcond_is_bilevel_with_weights_read_off_features(name: str, dataset: str) -> None:
    made = method(name, dataset, "gcond")
    assert isinstance(made, GCond)
    assert (made.structure, made.distance, made.outer) == ("features", "layerwise-cosine", 20)
    assert 10 <= made.inner <= 15


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", [*NAMES, "my own"])
def test_every_method_builds_from_every_preset_for_every_dataset(name: str, dataset: str) -> None:
    chosen = preset(name, task_named(dataset))
    assert chosen.nodes and chosen.methods is NODE_METHODS
    for kind in NODE_METHODS:
        sizes: list[dict[str, Any]] = [{"nodes": 7}, {"ratio": 0.25}] if kind != "whole" else [{}]
        for size in sizes:
            made = chosen.method(kind, seed=4, **size)
            assert (made.name, made.seed, made.size) == (kind, 4, size.get("nodes"))
            if isinstance(made, GCond):
                assert made.network == replace(chosen.network, kind="sgc")
            elif isinstance(made, NodeDosCond):
                assert made.network == chosen.network
            elif isinstance(made, NodeCoreset):
                assert made.network == chosen.protocol.network
    judge = replace(chosen.network, kind=chosen.judge or chosen.network.kind)
    assert chosen.protocol == Protocol(judge, chosen.recipe, chosen.dropout)
    assert Protocol.from_dict(chosen.protocol.to_dict()) == chosen.protocol


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("kind", ["herding", "kcenter"])
def test_coresets_embed_with_the_network_that_judges(name: str, kind: str) -> None:
    chosen = preset(name, task_named("Cora"))
    made = chosen.with_model("sage").method(kind, nodes=9)
    assert isinstance(made, NodeCoreset)
    assert (made.network.kind, made.recipe, made.dropout) == ("sage", chosen.recipe, chosen.dropout)


@pytest.mark.parametrize("name", PRESETS)
def test_a_model_that_was_asked_for_is_taken_by_every_method(name: str) -> None:
    chosen = preset(name, task_named("Cora")).with_model("gcn")
    for kind in ("gcond", "doscond", "herding"):
        made: Any = chosen.method(kind, nodes=9)
        assert made.network.kind == "gcn"
    assert chosen.protocol.network.kind == "gcn"


def test_what_single_methods_have_of_their_own_does_not_leak_into_others() -> None:
    for name in PRESETS:
        chosen = preset(name, task_named("Cora"))
        plain, bare = chosen.method("doscond", nodes=9), chosen.method("doscond-x", nodes=9)
        assert isinstance(plain, NodeDosCond) and isinstance(bare, NodeDosCondX)
        for field in fields(NodeDosCond):
            if field.name != "structure":
                assert getattr(bare, field.name) == getattr(plain, field.name)
        assert (plain.structure, bare.structure) == ("bernoulli", "none")


def test_settings_come_on_top_and_wrong_ones_are_named() -> None:
    chosen = preset("paper", task_named("Cora"))
    assert chosen.method("doscond", nodes=9, iterations=7, feature_rate=None).feature_rate == 1e-3  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="method 'doscond-x' has no setting 'structure'"):
        chosen.method("doscond-x", nodes=9, structure="bernoulli")
    with pytest.raises(InputError, match="'graphs_per_class'"):
        chosen.method("doscond", graphs_per_class=3)
    with pytest.raises(
        InputError, match=r"method 'dcg' classifies graphs, this dataset is for nodes: use one of whole"
    ):
        chosen.method("dcg", nodes=9)
    with pytest.raises(InputError, match="give one of the two"):
        chosen.method("doscond")
    assert chosen.recipe != Recipe()


@pytest.mark.parametrize("kind", [NodeDosCond, NodeDosCondX, GCond])
def test_the_classes_have_the_default_presets_settings(kind: Any) -> None:
    made, plain = method("default", "my own", kind.name), kind(nodes=9)
    for field in fields(kind):
        assert getattr(made, field.name) == getattr(plain, field.name), field.name
