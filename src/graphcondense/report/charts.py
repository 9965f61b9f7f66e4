"""Figures as SVG and PNG: curves and clouds of points, side by side."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from graphcondense.files import write_aside
from graphcondense.report.colours import PALETTE

_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.hashsalt": "graphcondense",  # the same figure always gives the same file
}


_OPTIONS: dict[str, Any] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 150}}
_IN_A_ROW = 4
_MOST_MARKS = 8  # so many values on an axis are written each; more by powers of ten


@dataclass(frozen=True)
class Curve:
    """A line through points.

    Args:
        name: in the legend.
        x: positions.
        y: heights.
        spread: half of the band's height at each point, if there is one.
        right: whether it belongs to the axis on the right.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    right: bool = False


@dataclass(frozen=True)
class Cloud:
    """Points of one kind.

    Args:
        name: in the legend.
        x: positions.
        y: heights.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One part of a figure.

    Args:
        title: above it.
        shapes: what is drawn, in the order of the palette.
        x_name: below it; nothing is written at the axes where it is empty.
        y_name: at its left.
        right_name: at its right, where a curve belongs there.
        log_x: whether equal steps to the right are equal factors.
        log_y: the same for the height.
    """

    title: str
    shapes: Sequence[Curve | Cloud]
    x_name: str = ""
    y_name: str = ""
    right_name: str = ""
    log_x: bool = False
    log_y: bool = False


def draw(panels: Sequence[Panel], stem: Path, endings: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Draw panels side by side, four in a row, into ``stem.svg`` and ``stem.png``."""
    columns = min(len(panels), _IN_A_ROW)
    lines = math.ceil(len(panels) / columns)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(3.6 * columns + 0.4, 3.0 * lines), layout="constrained")
        places = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, panel in zip(places, panels, strict=False):
            _draw_panel(axes, panel)
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        paths = []
        for ending in endings:
            content = io.BytesIO()
            figure.savefig(content, format=ending, **_OPTIONS[ending])
            paths.append(write_aside(stem.with_name(f"{stem.name}.{ending}"), content.getvalue()))
    return paths


def _draw_panel(axes: Any, panel: Panel) -> None:
    other = axes.twinx() if any(isinstance(shape, Curve) and shape.right for shape in panel.shapes) else None
    for shape, colour in zip(panel.shapes, PALETTE * (1 + len(panel.shapes) // len(PALETTE)), strict=False):
        if isinstance(shape, Cloud):
            axes.scatter(shape.x, shape.y, s=9, alpha=0.8, linewidths=0, color=colour, label=shape.name)
            continue
        place = other if shape.right and other is not None else axes
        marker = "o" if len(shape.x) <= 20 else None
        place.plot(shape.x, shape.y, marker=marker, markersize=3.5, color=colour, label=shape.name, lw=1.4)
        if shape.spread:
            low = [y - s for y, s in zip(shape.y, shape.spread, strict=True)]
            high = [y + s for y, s in zip(shape.y, shape.spread, strict=True)]
            place.fill_between(shape.x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_name)
    axes.set_ylabel(panel.y_name)
    if panel.log_x:
        axes.set_xscale("symlog" if any(0 in shape.x for shape in panel.shapes) else "log", **_linear_part(panel))
        marked = sorted({x for shape in panel.shapes for x in shape.x})
        axes.xaxis.set_minor_formatter(NullFormatter())
        if len(marked) <= _MOST_MARKS and marked[-1] >= 1.5 * marked[0]:
            axes.set_xticks(marked, [f"{x:.3g}" for x in marked])
            axes.set_xticks([], minor=True)
    if panel.log_y:
        axes.set_yscale("log")
    if not panel.x_name:
        axes.set_xticks([])
        axes.set_yticks([])
    handles, names = axes.get_legend_handles_labels()
    if other is not None:
        other.spines["right"].set_visible(True)
        other.grid(visible=False)
        other.set_ylabel(panel.right_name)
        more = other.get_legend_handles_labels()
        handles, names = handles + more[0], names + more[1]
    axes.legend(handles, names, fontsize=8)


def _linear_part(panel: Panel) -> dict[str, float]:
    """For an axis with a zero on it: up to the smallest other value it is linear."""
    values = [x for shape in panel.shapes for x in shape.x]
    return {"linthresh": min(x for x in values if x > 0)} if 0 in values else {}
