from __future__ import annotations

import math
import tomllib
from dataclasses import fields, replace
from importlib.resources import files
from typing import Any

import pytest

from graphcondense.datasets import known
from graphcondense.errors import InputError
from graphcondense.evaluation import Protocol
from graphcondense.methods import DCG, METHODS, NODE_METHODS, Coreset, DosCond, DosCondBi, NodeDosCond
from graphcondense.models import NetworkConfig
from graphcondense.presets import PRESETS, preset
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe
from tests.made_up import toy_task

NAMES = [info.name for info in known() if info.task == "graph"]
NODE_NAMES = [info.name for info in known() if info.task == "node"]
# What the paper leaves open and the authors' programs do. Columns: nodes of a synthetic graph, structure rate, match,
# pooling, norm, epochs and batch size of the judge, weight and horizon of the norm regulariser.
PAPER = {
    "MUTAG": (18, 0.1, "class", "mean", "none", 500, 128, 0, None),
    "NCI1": (30, 1, "class", "mean", "none", 500, 128, 0, None),
    "DD": (285, 2, "class", "mean", "none", 500, 128, 0, None),
    "ogbg-molbace": (34, 0.01, "joint", "mean", "none", 500, 128, 0, None),
    "ogbg-molbbbp": (24, 2, "class", "mean", "none", 500, 128, 0, None),
    "ogbg-molhiv": (26, 0.01, "class", "sum", "none", 100, 128, 1 / math.sqrt(2), 100),
    "CIFAR10": (118, 0.01, "joint", "mean", "nodes", 500, 512, 0, None),
}


def task_named(name: str) -> GraphTask:
    return replace(toy_task(20), name=name)


def names_of(kind: Any) -> set[str]:
    """Settings that can be given."""
    return {field.name for field in fields(kind) if field.init}


def doscond(name: str, dataset: str, **settings: Any) -> DosCond:
    method = preset(name, task_named(dataset)).method("doscond", **settings)
    assert isinstance(method, DosCond)
    return method


@pytest.mark.parametrize("dataset", PAPER)
def test_the_paper_preset_is_the_papers_table(dataset: str) -> None:
    nodes, rate, match, pooling, norm, epochs, batch_size, weight, horizon = PAPER[dataset]
    method = doscond("paper", dataset)
    assert (method.nodes, method.structure_rate, method.match) == (nodes, rate, match)
    assert method.norm_weight == pytest.approx(weight, rel=1e-12)
    if horizon is not None:
        assert method.horizon == horizon
    assert method.network == NetworkConfig("gcn", hidden=128, layers=3, pooling=pooling, norm=norm)
    recipe = preset("paper", task_named(dataset)).recipe
    assert recipe == Recipe(epochs=epochs, batch_size=batch_size, rate=1e-3, decay_at=0.5, weight_decay=0)


@pytest.mark.parametrize("dataset", [*PAPER, "digits", "my own"])
def test_what_the_paper_does_on_every_dataset(dataset: str) -> None:
    method = doscond("paper", dataset)
    assert method.pad
    assert (method.iterations, method.samples, method.real_batch, method.restart_at) == (1000, 1, 256, 400)
    assert (method.feature_rate, method.sparsity_weight, method.logit_strength) == (0.01, 0.1, 5)
    assert method.distance == "relative-squared"
    # From 1 to 0.01, geometrically, over the first 200 iterations.
    temperatures = [method.temperature(t) for t in (0, 50, 100, 200, 999)]
    assert temperatures == pytest.approx([1, 0.01**0.25, 0.1, 0.01, 0.01])


@pytest.mark.parametrize("name", PRESETS)
def test_an_unknown_dataset_gets_the_general_settings(name: str) -> None:
    table = tomllib.loads((files("graphcondense.presets") / f"{name}.toml").read_text())
    chosen = preset(name, task_named("nobody knows it"))
    assert chosen.condense == table["any"]["condense"]
    assert chosen.network == NetworkConfig(**table["any"]["network"])
    assert chosen.recipe == Recipe(**table["any"]["evaluate"])
    assert doscond(name, "nobody knows it").nodes is None


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", NAMES)
def test_every_method_builds_from_every_preset_for_every_dataset(name: str, dataset: str) -> None:
    chosen = preset(name, task_named(dataset))
    for method in METHODS:
        built = chosen.method(method, graphs_per_class=3, seed=4)
        assert (built.name, built.graphs_per_class, built.seed) == (method, 3, 4)
    assert chosen.protocol == Protocol(chosen.network, chosen.recipe)
    assert Protocol.from_dict(chosen.protocol.to_dict()) == chosen.protocol


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("method", ["herding", "kcenter"])
def test_coresets_embed_with_the_network_that_judges(name: str, dataset: str, method: str) -> None:
    chosen = preset(name, task_named(dataset))
    coreset = chosen.method(method)
    assert isinstance(coreset, Coreset)
    assert (coreset.network, coreset.recipe) == (chosen.network, chosen.recipe)
    other = chosen.with_model("gin").method(method, recipe=Recipe(epochs=7))
    assert isinstance(other, Coreset)
    assert (other.network.kind, other.recipe) == ("gin", Recipe(epochs=7))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", NAMES)
def test_bilevel_methods_have_the_settings_of_doscond_and_dcg_real_structures(name: str, dataset: str) -> None:
    chosen = preset(name, task_named(dataset))
    plain, bi, dcg = doscond(name, dataset), chosen.method("doscond-bi"), chosen.method("dcg")
    assert isinstance(bi, DosCondBi) and isinstance(dcg, DCG)
    for field in fields(DosCond):
        assert getattr(bi, field.name) == getattr(plain, field.name)
        if field.name != "structure_rate":
            assert getattr(dcg, field.name) == getattr(plain, field.name)
    assert plain.structure_rate > 0 == dcg.structure_rate
    with pytest.raises(InputError, match="method 'dcg' has no setting 'structure_rate'"):
        chosen.method("dcg", structure_rate=plain.structure_rate)


@pytest.mark.parametrize("name", PRESETS)
def test_the_files_name_known_datasets_and_settings_only(name: str) -> None:
    table = tomllib.loads((files("graphcondense.presets") / f"{name}.toml").read_text())
    assert set(table) <= {"any", *NAMES, "any-node", *NODE_NAMES}
    for dataset, section in table.items():
        nodes = dataset in ("any-node", *NODE_NAMES)
        methods: dict[str, Any] = dict(NODE_METHODS if nodes else METHODS)
        evaluate = names_of(Recipe) | ({"dropout", "model"} if nodes else set())
        condense = names_of(NodeDosCond if nodes else DosCond)
        allowed = {"network": names_of(NetworkConfig), "condense": condense, "evaluate": evaluate}
        assert set(section.pop("usual", ())) <= set(methods)
        for method, values in section.pop("method", {}).items():
            assert set(values) <= names_of(methods[method]) | {"model"}
        assert set(section) <= set(allowed)
        for part, values in section.items():
            assert set(values) <= allowed[part]


def test_settings_come_on_top_and_none_is_as_in_the_preset() -> None:
    method = doscond("paper", "MUTAG", iterations=7, nodes=None, structure_rate=None)
    assert (method.iterations, method.nodes, method.structure_rate) == (7, 18, 0.1)


def test_one_dataset_does_not_leak_into_the_next() -> None:
    before = preset("paper", task_named("NCI1"))
    preset("paper", task_named("ogbg-molhiv"))
    assert preset("paper", task_named("NCI1")) == before


def test_with_model_changes_the_network_and_nothing_else() -> None:
    chosen = preset("paper", task_named("CIFAR10"))
    other = chosen.with_model("gin")
    assert other.network == replace(chosen.network, kind="gin")
    assert replace(other, network=chosen.network) == chosen
    method = other.method("doscond")
    assert isinstance(method, DosCond)
    assert method.network.kind == other.protocol.network.kind == "gin"
    with pytest.raises(InputError, match=r"unknown model 'gim': did you mean 'gin'\?"):
        chosen.with_model("gim")


def test_unknown_names_are_errors_with_the_nearest_known_one() -> None:
    chosen = preset("paper", task_named("MUTAG"))
    with pytest.raises(InputError, match=r"unknown preset 'papr': did you mean 'paper'\?"):
        preset("papr", task_named("MUTAG"))
    with pytest.raises(InputError, match=r"unknown method 'doscnd': did you mean 'doscond'\?"):
        chosen.method("doscnd")
    with pytest.raises(InputError, match=r"'feature_ratee'.*did you mean 'feature_rate'\?"):
        chosen.method("doscond", feature_ratee=1)


def test_a_setting_that_a_method_does_not_have_is_an_error() -> None:
    with pytest.raises(InputError, match=r"'iterations': .*doscond.* have it"):
        preset("paper", task_named("MUTAG")).method("random", iterations=5)


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": 0},
        {"nodes": -1},
        {"graphs_per_class": "3"},
        {"feature_rate": "fast"},
        {"match": "both"},
        {"final_temperature": "low"},
        {"network": "gin"},
        {"pad": "yes"},
        {"real_batch": "some"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_value_that_does_not_fit_is_named(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(InputError, match=name):
        preset("paper", task_named("MUTAG")).method("doscond", **settings)
