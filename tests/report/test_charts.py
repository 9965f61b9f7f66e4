from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from graphcondense.report.charts import Cloud, Curve, Panel, draw


def some_panels(count: int = 1) -> list[Panel]:
    curves = [Curve("score", [0, 0.1, 10], [1.0, 2.0, 3.0], [0.1, 0.1, 0.1]), Curve("b", [0, 0.1], [5, 6], right=True)]
    return [Panel(f"panel {i}", curves, "beta", "score", "density", log_x=True) for i in range(count)]


def test_the_same_figure_gives_the_same_files(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in draw(some_panels(), tmp_path / "one")]
    second = [path.read_bytes() for path in draw(some_panels(), tmp_path / "two")]
    assert first == second


def test_names_and_titles_are_in_the_picture(tmp_path: Path) -> None:
    (path,) = draw(some_panels(), tmp_path / "a.b", ["svg"])
    assert path.name == "a.b.svg"
    ElementTree.parse(path)
    text = path.read_text()
    assert all(f"<!-- {word} -->" in text for word in ("panel 0", "beta", "score", "density"))


@pytest.mark.parametrize("count", [1, 4, 5, 8])
def test_any_number_of_panels(count: int, tmp_path: Path) -> None:
    (path,) = draw(some_panels(count), tmp_path / "figure", ["svg"])
    assert path.read_text().count("<!-- panel ") == count


def test_clouds_have_no_axes(tmp_path: Path) -> None:
    panel = Panel("t", [Cloud("class 0", [1, 2], [3, 4]), Cloud("class 1", [5], [6])])
    text = draw([panel], tmp_path / "cloud", ["svg"])[0].read_text()
    assert "<!-- class 1 -->" in text and "xtick_1" not in text
