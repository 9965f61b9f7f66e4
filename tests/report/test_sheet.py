from __future__ import annotations

import io

from rich.console import Console

from graphcondense.report.sheet import Sheet


def test_a_sheet_shows_every_cell_in_the_terminal() -> None:
    screen = io.StringIO()
    sheet = Sheet("Title [of] it", ["name", "value"], [["a[b]", "1"], ["c", "22"]])
    Console(file=screen, width=80, highlight=False).print(sheet.rich())
    text = screen.getvalue()
    assert all(part in text for part in ("Title [of] it", "name", "a[b]", "22"))


def test_a_name_much_longer_than_its_cells_takes_two_lines() -> None:
    screen = io.StringIO()
    rows = [["a", "0.726 ± 0.015", "1"]]
    Console(file=screen, width=80).print(Sheet("T", ["x", "GCN, 512 units, rate 0.003", "seconds"], rows).rich())
    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    assert lines[1:3] == ["  GCN, 512 units,", "x      rate 0.003 seconds"]


def test_markdown_escapes_what_markdown_would_read() -> None:
    lines = Sheet("T", ["a", "b"], [["*", "x|y"]], ["a * note"]).markdown().splitlines()
    assert lines[4] == "| \\* | x\\|y |" and lines[-1] == "a \\* note"


def test_columns_can_be_aligned_left() -> None:
    assert "| --- | --: | --- |" in Sheet("T", ["a", "b", "c"], [], left=[2]).markdown()
