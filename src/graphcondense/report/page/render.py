"""Template, style and script become one file."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from graphcondense.report.colours import PALETTE


def render(template: str, **values: Any) -> str:
    """The page of ``template`` with everything in it; whatever text comes in is escaped."""
    folder = files("graphcondense.report.page")

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    names = ("base.html", "run.html", "comparison.html")
    environment.loader = DictLoader({name: read(name) for name in names})
    palette = "".join(f".c{place}{{--own:{colour}}}" for place, colour in enumerate(PALETTE))
    return environment.get_template(template).render(
        style=Markup(read("style.css") + palette), script=Markup(read("script.js")), palette=PALETTE, **values
    )
