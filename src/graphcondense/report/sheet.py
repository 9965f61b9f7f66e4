"""A table of texts, for the terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Group, JustifyMethod
from rich.table import Table
from rich.text import Text

_LONGER = 8  # letters that a column may be wider than its cells for its name


@dataclass(frozen=True)
class Sheet:
    """A table whose cells are texts already.

    Args:
        title: what stands above it.
        header: a name a column; the first column is aligned left, the others right.
        rows: as many texts each.
        notes: lines below it.
        left: further columns that are aligned left, by position.

    >>> print(Sheet("Scores", ["method", "score"], [["random", "0.5"]]).markdown())
    **Scores**
    <BLANKLINE>
    | method | score |
    | --- | --: |
    | random | 0.5 |
    <BLANKLINE>
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: Sequence[int] = field(default=())

    def rich(self) -> Group:
        """For the terminal, without the notes."""
        table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
        for place, name in enumerate(self.header):
            justify: JustifyMethod = "left" if self._is_left(place) else "right"
            widest = max((len(row[place]) for row in self.rows), default=len(name))
            table.add_column(_in_lines(name, widest), justify=justify, vertical="bottom", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return Group(Text(self.title), table)

    def markdown(self) -> str:
        """As Markdown, notes included."""
        lines = [f"**{_escaped(self.title)}**", "", _line(self.header)]
        lines.append(_line(["---" if self._is_left(place) else "--:" for place in range(len(self.header))]))
        lines += [_line([_escaped(cell) for cell in row]) for row in self.rows]
        for note in self.notes:
            lines += ["", _escaped(note)]
        return "\n".join(lines) + "\n"

    def _is_left(self, place: int) -> bool:
        return place == 0 or place in self.left


def _in_lines(name: str, widest: int) -> Text:
    """A name that is much longer than its cells takes several lines: a terminal is not wide."""
    return Text("\n".join(textwrap.wrap(name, widest + 2)) if len(name) > widest + _LONGER else name)


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("|", "\\|")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
