"""Settings for datasets, as data: ``paper`` is faithful to the paper, ``default`` is the best that we know."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from graphcondense.errors import InputError, check_choice, suggestion
from graphcondense.evaluation import Protocol
from graphcondense.methods import METHODS, NODE_METHODS, Condenser, Method, NodeMethod
from graphcondense.models import NetworkConfig
from graphcondense.presets.from_data import condense_from, network_from
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training import Recipe

PRESETS = ("default", "paper")


@dataclass(frozen=True)
class Preset:
    """Settings of one preset for one dataset.

    Args:
        name: which preset.
        network: the network to condense with and to judge with.
        condense: settings of the condensation, by name.
        recipe: how the judge trains.
        dropout: of the judge's hidden units, for node tasks.
        nodes: whether it is for a node task.
        special: settings that single methods have of their own, by the method's name; ``model`` is the kind of network.
        judge: kind of network to judge with, where it is another than the one to condense with.
        usual: methods for those who name none, the best first.
    """

    name: str
    network: NetworkConfig
    condense: dict[str, Any]
    recipe: Recipe
    dropout: float = 0.0
    nodes: bool = False
    special: dict[str, dict[str, Any]] = field(default_factory=dict)
    judge: str | None = None
    usual: tuple[str, ...] = ("doscond",)

    @property
    def protocol(self) -> Protocol:
        """How results of this preset are judged."""
        network = self.network if self.judge is None else replace(self.network, kind=self.judge)
        return Protocol(network, self.recipe, self.dropout)

    @property
    def methods(self) -> Mapping[str, type[Method] | type[NodeMethod]]:
        """The methods for such a task, by name."""
        return NODE_METHODS if self.nodes else METHODS

    def with_model(self, kind: str) -> Preset:
        """The same settings with another kind of network."""
        special = {name: {k: v for k, v in own.items() if k != "model"} for name, own in self.special.items()}
        return replace(self, network=replace(self.network, kind=kind), judge=None, special=special)

    def check_method(self, name: str) -> str:
        """``name`` if there is such a method for such a task."""
        if name not in self.methods and name in (METHODS if self.nodes else NODE_METHODS):
            own, other = ("nodes", "graphs") if self.nodes else ("graphs", "nodes")
            known = ", ".join(self.methods)
            raise InputError(f"method {name!r} classifies {other}, this dataset is for {own}: use one of {known}")
        return check_choice("method", name, self.methods)

    def usual_method(self, settings: Iterable[str] = (), in_parts: bool = False) -> str:
        """The best method that has all of ``settings``, and can be spread over processes if it must.

        Args:
            settings: names of settings that were given.
            in_parts: whether the training graphs are in several processes.
        """
        given, having = set(settings), {name: {one.name for one in fields(self.methods[name])} for name in self.usual}
        fit = [name for name in self.usual if getattr(self.methods[name], "in_parts", True) or not in_parts]
        for name in fit:
            if given <= having[name]:
                return name
        if given <= set().union(*having.values()):
            owners = "; ".join(f"{name}: {', '.join(sorted(given & having[name]))}" for name in self.usual)
            raise InputError(f"no method has all settings that were given ({owners}): name one with --method")
        foreign = sorted(given - set().union(*having.values()))
        alike = [name for name in fit if get_close_matches(foreign[0], having[name])]
        return [*alike, *fit][0]  # which has not heard of it either, and says what it may have been

    def method(self, name: str, **settings: Any) -> Condenser:
        """A method with this preset's settings, as far as it has them; ``settings`` come on top and must fit.

        A setting of ``None`` means "as in the preset".
        """
        kind = self.methods[self.check_method(name)]
        known = {one.name for one in fields(kind) if one.init}
        given = {key: value for key, value in settings.items() if value is not None}
        for key in given:
            if key not in known:
                others = [other for other, its in self.methods.items() if key in {one.name for one in fields(its)}]
                owners = f": {', '.join(others)} {'has' if len(others) == 1 else 'have'} it"
                hint = owners if others else suggestion(key, sorted(known))
                raise InputError(f"method {name!r} has no setting {key!r}{hint}")
        values = {key: value for key, value in self.condense.items() if key in known}
        own = ("network", "recipe", "dropout")
        values |= {key: value for key, value in vars(self).items() if key in known and key in own}
        if "recipe" in known:  # it trains networks itself: those that it will be judged by
            values["network"] = self.protocol.network
        special = dict(self.special.get(name, {}))
        if "model" in special:
            values["network"] = replace(self.network, kind=special.pop("model"))
        values |= special
        return kind(**(values | given))


def preset(name: str, task: GraphTask | NodeTask) -> Preset:
    """The settings of preset ``name`` for the dataset of ``task``; unknown datasets get the general ones.

    Those of ``default`` come from the data itself where it is far from what is usual: see ``presets/from_data.py``.
    """
    found = preset_of(name, task.name, isinstance(task, NodeTask))
    if name != "default" or isinstance(task, NodeTask):
        return found
    network = replace(found.network, **network_from(task))
    return replace(found, network=network, condense=found.condense | condense_from(task, found.condense))


def preset_of(name: str, dataset: str, nodes: bool) -> Preset:
    """The same for a dataset that is known by name only; ``nodes`` says whether it is one graph."""
    check_choice("preset", name, PRESETS)
    table = tomllib.loads((files("graphcondense.presets") / f"{name}.toml").read_text(encoding="utf-8"))
    sections = [_readable(table["any-node" if nodes else "any"]), _readable(table.get(dataset, {}))]
    parts = {key: {} for key in ("network", "condense", "evaluate", "method")}  # type: dict[str, dict[str, Any]]
    usual = ("doscond",)
    for section in sections:
        for key, values in section.items():
            if key == "usual":
                usual = tuple(values)
            elif key == "method":
                parts[key] |= {method: parts[key].get(method, {}) | own for method, own in values.items()}
            else:
                parts[key] |= values
    dropout, judge = parts["evaluate"].pop("dropout", 0.0), parts["evaluate"].pop("model", None)
    network, recipe = NetworkConfig(**parts["network"]), Recipe(**parts["evaluate"])
    return Preset(name, network, parts["condense"], recipe, dropout, nodes, parts["method"], judge, usual)


def _readable(section: dict[str, Any]) -> dict[str, Any]:
    """The same section; TOML has no word for ``None``, so "never" stands for it."""
    return {
        key: _readable(value) if isinstance(value, dict) else None if value == "never" else value
        for key, value in section.items()
    }
