"""Figures as inline SVG, coloured by the page's style sheet so that they fit light and dark.

Written by hand rather than with Plotly: its script alone is larger than a whole page may be. What moves (values under
the pointer, larger figures) is a small script in the page; without it the figures stand as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from graphcondense.report.charts import Cloud, Curve

WIDTH, HEIGHT = 380, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 12, 40
_COLOURS = 10
_MOST_NUMBERS = 12  # classes of a confusion matrix whose counts are written into it


@dataclass(frozen=True)
class Figure:
    """A figure with its words.

    Args:
        title: above it.
        svg: the drawing.
        text: what is to be seen, for those who cannot see it.
        legend: names in the order of the palette; empty where there is one thing only.
        note: below it.
        wide: whether it takes the whole width.
    """

    title: str
    svg: str
    text: str
    legend: Sequence[str] = ()
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Axis:
    """From values to places.

    Args:
        low: the smallest value.
        high: the largest value.
        start: place of the smallest.
        end: place of the largest.
        log: whether equal steps are equal factors.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @staticmethod
    def over(values: Sequence[float], start: float, end: float, *, log: bool = False, zero: bool = False) -> Axis:
        """An axis on which all ``values`` find room; a log axis wants them all above zero."""
        log = log and min(values) > 0
        low, high = min(values), max(values)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        elif not log:
            room = 0.05 * (high - low)
            low, high = low - (0 if zero and low == 0 else room), high + room
        return Axis(low, high, start, end, log)

    def __call__(self, value: float) -> float:
        """The place of ``value``."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        share = ((math.log(value) if self.log else value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values to write at the axis.

        >>> Axis(0, 10, 0, 1).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        >>> Axis(0.002, 30, 0, 1, log=True).ticks()
        [0.01, 0.1, 1.0, 10.0]
        """
        if self.log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            step = max(1, math.ceil(len(powers) / count))
            ticks = [10.0**power for power in powers[::step]]
            if len(ticks) > 1:
                return ticks
        rough = (self.high - self.low) / count
        unit = 10 ** math.floor(math.log10(rough))
        step_size = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
        first = math.ceil(self.low / step_size - 1e-9)
        last = math.floor(self.high / step_size + 1e-9)
        return [round(float(place * step_size), 12) for place in range(first, last + 1)]


def lines(
    title: str,
    curves: Sequence[Curve],
    x_name: str,
    y_name: str,
    text: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    note: str = "",
) -> Figure:
    """Curves over a common axis; with a band or bars of their spread where they have one."""
    xs = [x for curve in curves for x in curve.x]
    spreads = [(y, s) for curve in curves for y, s in zip(curve.y, curve.spread or [0.0] * len(curve.y), strict=True)]
    ys = [y - s for y, s in spreads] + [y + s for y, s in spreads]
    across = Axis.over(xs, _LEFT, WIDTH - _RIGHT, log=log_x)
    if not across.log:
        across = Axis(min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1, _LEFT, WIDTH - _RIGHT)
    up = Axis.over(ys, HEIGHT - _BOTTOM, _TOP, log=log_y)
    parts = [_axes(across, up, x_name, y_name, sorted(set(xs)) if log_x and len(set(xs)) <= 6 else None)]
    for number, curve in enumerate(curves):
        points = [(across(x), up(y)) for x, y in zip(curve.x, curve.y, strict=True)]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="line c{number % _COLOURS}" d="M{way}"/>')
        for (x, _), y, spread in zip(points, curve.y, curve.spread or (), strict=False):
            low, high = up(y - spread), up(y + spread)
            parts.append(f'<path class="whisker c{number % _COLOURS}" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
        if len(points) <= 20:
            parts += [f'<circle class="dot c{number % _COLOURS}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    data = {
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": HEIGHT - _BOTTOM,
        "x": x_name,
        "curves": [
            {
                "name": curve.name,
                "at": [round(across(x), 1) for x in curve.x],
                "x": [_short(x) for x in curve.x],
                "y": [_short(y) for y in curve.y],
            }
            for curve in curves
        ],
    }
    legend = [curve.name for curve in curves] if len(curves) > 1 else []
    return Figure(title, _svg(parts, text, data=json.dumps(data)), text, legend, note)


def histogram(
    title: str, names: Sequence[str], shares: Sequence[Sequence[float]], legend: Sequence[str], x_name: str, text: str
) -> Figure:
    """Bars side by side: for each name a share of each kind."""
    up = Axis.over([value for kind in shares for value in kind], HEIGHT - _BOTTOM, _TOP, zero=True)
    step = (WIDTH - _LEFT - _RIGHT) / len(names)
    every = max(1, math.ceil(len(names) * max(map(len, names)) / 42))
    parts = [_axes(None, up, x_name, "share (%)")]
    for place, name in enumerate(names):
        left = _LEFT + place * step
        for kind, values in enumerate(shares):
            width = 0.8 * step / len(shares)
            x, y = left + 0.1 * step + kind * width, up(values[place])
            tip = quoteattr(f"{legend[kind]}, {x_name} {name}: {values[place]:.1f}%")
            parts.append(
                f'<rect class="c{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{max(up(0) - y, 0):.1f}" data-tip={tip}/>'
            )
        if place % every == 0:
            parts.append(_word(left + step / 2, HEIGHT - _BOTTOM + 14, name, "middle"))
    return Figure(title, _svg(parts, text), text, legend)


def strips(
    title: str, rows: Sequence[tuple[str, Sequence[float], str]], x_name: str, text: str, note: str = ""
) -> Figure:
    """A row of dots a name, with a bar at their mean; the third part of a row is written at its end."""
    values = [value for _, dots, _ in rows for value in dots]
    height = 28 * len(rows) + _TOP + _BOTTOM
    left = 30 + 6.2 * max(len(name) for name, _, _ in rows)
    across = Axis.over(values, left, WIDTH - 92)
    parts = [_grid_across(across, height, x_name)]
    for place, (name, dots, end) in enumerate(rows):
        y = _TOP + 14 + 28 * place
        mean = across(sum(dots) / len(dots))
        parts.append(_word(left - 14, y + 4, name, "end"))
        parts.append(f'<path class="mean c{place % _COLOURS}" d="M{mean:.1f} {y - 9}V{y + 9}"/>')
        for number, value in enumerate(dots):
            tip = quoteattr(f"{name}, training {number}: {value:.4g}")
            parts.append(
                f'<circle class="dot c{place % _COLOURS}" cx="{across(value):.1f}" cy="{y}" r="4" data-tip={tip}/>'
            )
        parts.append(_word(WIDTH - 4, y + 4, end, "end"))
    return Figure(title, _svg(parts, text, height=height), text, note=note)


def cloud(title: str, clouds: Sequence[Cloud], text: str, note: str = "") -> Figure:
    """Points in the plane, a colour a class; the axes of such a plane mean nothing and are left out."""
    height = 300
    across = Axis.over([x for one in clouds for x in one.x], 10, WIDTH - 10)
    up = Axis.over([y for one in clouds for y in one.y], height - 10, 10)
    parts = [
        f'<circle class="point c{number % _COLOURS}" data-class="{number}" cx="{across(x):.1f}" cy="{up(y):.1f}" '
        f'r="3" data-tip={quoteattr(f"class {one.name}")}/>'
        for number, one in enumerate(clouds)
        for x, y in zip(one.x, one.y, strict=True)
    ]
    return Figure(title, _svg(parts, text, height=height), text, [one.name for one in clouds], note)


def confusion(title: str, counts: Sequence[Sequence[int]], names: Sequence[str], text: str, note: str = "") -> Figure:
    """Rows are true classes, columns are guesses; the darker, the larger its share of the row."""
    left = 26 + 6.2 * min(12, max(map(len, names)))
    cell = (WIDTH - left - 8) / len(names)
    tall = min(cell, 34.0) if len(names) <= 4 else cell
    top, height = 34, 34 + tall * len(names) + 8
    parts = [_word(left + cell * len(names) / 2, 12, "taken for", "middle", "name")]
    for row, numbers in enumerate(counts):
        y = top + row * tall
        if len(names) <= 2 * _MOST_NUMBERS:
            parts.append(_word(left - 6, y + tall / 2 + 4, _cut(names[row]), "end"))
            if len(names) <= _MOST_NUMBERS:
                parts.append(_word(left + (row + 0.5) * cell, top - 6, _cut(names[row], int(cell / 6)), "middle"))
        for column, number in enumerate(numbers):
            share = number / max(sum(numbers), 1)
            x = left + column * cell
            tip = quoteattr(f"{names[row]} taken for {names[column]}: {number} ({share:.0%})")
            parts.append(
                f'<rect class="cell{" right" if row == column else ""}" x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" '
                f'height="{tall - 1:.1f}" style="--share:{share:.3f}" data-tip={tip}/>'
            )
            if len(names) <= _MOST_NUMBERS and number:
                strong = " strong" if share > 0.5 else ""
                parts.append(_word(x + cell / 2, y + tall / 2 + 4, str(number), "middle", f"count{strong}"))
    return Figure(title, _svg(parts, text, height=height), text, note=note)


def _axes(across: Axis | None, up: Axis, x_name: str, y_name: str, marked: Sequence[float] | None = None) -> str:
    parts = []
    for tick in up.ticks():
        y = up(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        parts.append(_word(_LEFT - 6, y + 4, _short(tick), "end"))
    if across is not None:
        ticks = marked or across.ticks(4)
        for tick in ticks:
            x, text = across(tick), _short(tick)
            anchor = "end" if x + 3.2 * len(text) > WIDTH else "middle"
            parts.append(_word(min(x, WIDTH - 2) if anchor == "end" else x, HEIGHT - _BOTTOM + 14, text, anchor))
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    parts.append(_word((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 8, x_name, "middle", "name"))
    parts.append(
        f'<text class="name" transform="translate(11 {middle:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_name)}</text>"
    )
    return "".join(parts)


def _grid_across(across: Axis, height: float, x_name: str) -> str:
    parts = []
    for tick in across.ticks(4):
        x = across(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{height - _BOTTOM}"/>')
        parts.append(_word(x, height - _BOTTOM + 14, _short(tick), "middle"))
    parts.append(_word((across.start + across.end) / 2, height - 8, x_name, "middle", "name"))
    return "".join(parts)


def _word(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _cut(text: str, most: int = 12) -> str:
    return text if len(text) <= max(most, 2) else text[: max(most, 2) - 1] + "…"


def _short(value: float) -> str:
    """A number in as few signs as it needs.

    >>> _short(1000.0), _short(0.25), _short(1e-7), _short(123456)
    ('1,000', '0.25', '1e-07', '123,456')
    """
    if value and (abs(value) < 1e-4 or abs(value) >= 1e7):
        return f"{value:.3g}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def _svg(parts: Sequence[str], text: str, *, height: float = HEIGHT, data: str = "") -> str:
    extra = f" data-lines={quoteattr(data)}" if data else ""
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label={quoteattr(text)}{extra}>'
        f"{''.join(parts)}</svg>"
    )
