"""Settings for datasets, as data: ``paper`` is faithful to the paper, ``default`` is the best that we know."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import Any

from graphcondense.errors import InputError, check_choice, suggestion
from graphcondense.evaluation import Protocol
from graphcondense.methods import METHODS, Method
from graphcondense.models import NetworkConfig
from graphcondense.tasks import GraphTask
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
    """

    name: str
    network: NetworkConfig
    condense: dict[str, Any]
    recipe: Recipe

    @property
    def protocol(self) -> Protocol:
        """How results of this preset are judged."""
        return Protocol(self.network, self.recipe)

    def with_model(self, kind: str) -> Preset:
        """The same settings with another kind of network."""
        return replace(self, network=replace(self.network, kind=kind))

    def method(self, name: str, **settings: Any) -> Method:
        """A method with this preset's settings, as far as it has them; ``settings`` come on top and must fit.

        A setting of ``None`` means "as in the preset".
        """
        kind = METHODS[check_choice("method", name, METHODS)]
        known = {field.name for field in fields(kind) if field.init}
        given = {key: value for key, value in settings.items() if value is not None}
        for key in given:
            if key not in known:
                raise InputError(f"method {name!r} has no setting {key!r}{suggestion(key, sorted(known))}")
        values = {key: value for key, value in self.condense.items() if key in known}
        values |= {key: value for key, value in vars(self).items() if key in known and key in ("network", "recipe")}
        return kind(**(values | given))


def preset(name: str, task: GraphTask) -> Preset:
    """The settings of preset ``name`` for the dataset of ``task``; unknown datasets get the general ones."""
    check_choice("preset", name, PRESETS)
    table = tomllib.loads((files("graphcondense.presets") / f"{name}.toml").read_text(encoding="utf-8"))
    sections = [table["any"], table.get(task.name, {})]
    parts = {key: {} for key in ("network", "condense", "evaluate")}  # type: dict[str, dict[str, Any]]
    for section in sections:
        for key, values in section.items():
            parts[key] |= values
    return Preset(name, NetworkConfig(**parts["network"]), parts["condense"], Recipe(**parts["evaluate"]))
