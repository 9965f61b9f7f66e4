"""The pages in a real browser, opened from disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphcondense.report.page import comparison_page, run_page
from graphcondense.report.page.folder import RunFolder
from tests.browser import CHROMIUM, Browser, chromium
from tests.report.page.made_up_runs import comparison, graph_run, node_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    task = graph_run(folder / "run")
    nodes = node_run(folder / "nodes")
    comparison(folder / "comparison")
    texts = {
        "run": run_page(RunFolder.read(folder / "run"), task, seeds=2, random=True).html,
        "nodes": run_page(RunFolder.read(folder / "nodes"), nodes, seeds=2).html,
        "comparison": comparison_page(folder / "comparison"),
    }
    for name, html in texts.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.mark.parametrize("name", ["run", "nodes", "comparison"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_page_opens_from_disk_and_asks_for_nothing(
    pages: dict[str, Path], browser: Browser, name: str, width: int, dark: bool
) -> None:
    browser.open(pages[name], width=width, dark=dark)
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [pages[name].as_uri()]
    sizes = browser.ask(
        "[...document.querySelectorAll('figure svg:not(.swatch)')].filter(one => !one.closest('details:not([open])'))"
        ".map(one => one.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    assert len(sizes) >= 2 and all(w > 40 and h > 40 for w, h in sizes)
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")  # nothing sticks out
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in paper.strip("rgb()").split(",")[:3])
    assert (brightness < 200) == dark


def test_no_request_could_leave_the_page(pages: dict[str, Path], browser: Browser) -> None:
    browser.open(pages["run"])
    blocked = browser.ask("fetch('http://192.0.2.1/').then(() => 'left', () => 'blocked')")
    assert blocked == "blocked"
    assert any("Content Security Policy" in text for text in browser.complaints)
    failed = browser.ask("new Promise(done => Object.assign(new Image(), {onerror: done, src: 'http://192.0.2.1/a'}))")
    assert failed is not None
    tried = {e["params"]["requestId"] for e in browser.events if e["method"] == "Network.requestWillBeSent"}
    reasons = [e["params"] for e in browser.events if e["method"] == "Network.loadingFailed"]
    assert {one.get("blockedReason") for one in reasons if one["requestId"] in tried} <= {"csp"}


def test_the_class_filter_filters(pages: dict[str, Path], browser: Browser) -> None:
    browser.open(pages["run"])
    shown = (
        "[...document.querySelectorAll('.tile')].filter(one => one.checkVisibility({contentVisibilityAuto: true}))"
        ".map(one => one.dataset.class)"
    )
    assert sorted(browser.ask(shown)) == ["0"] * 8 + ["1"] * 8  # two more of each behind a word
    browser.ask("document.querySelector('[data-filter=\"1\"]').click()")
    assert browser.ask(shown) == ["1"] * 10
    assert browser.ask("document.querySelector('[data-filter=\"1\"]').getAttribute('aria-pressed')") == "true"
    faint = browser.ask(
        "[...document.querySelectorAll('.point')]"
        ".every(one => (one.style.opacity !== '') === (one.dataset.class !== '1'))"
    )
    assert faint
    browser.ask("document.querySelector('[data-filter=all]').click()")
    assert len(browser.ask(shown)) == 16
    assert browser.complaints == []


def test_values_are_shown_under_the_pointer(pages: dict[str, Path], browser: Browser) -> None:
    browser.open(pages["run"])

    def over(selector: str) -> str:
        browser.ask(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
        browser.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # scrolled
        x, y = browser.ask(
            f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        browser.move(x, y)
        assert browser.ask("document.getElementById('tip').hidden") is False
        return str(browser.ask("document.getElementById('tip').textContent"))

    assert over("svg[data-lines]").startswith("iteration ")
    assert "taken for" in over("rect.cell")
    browser.move(2, 2)
    assert browser.ask("document.getElementById('tip').hidden") is True


def test_figures_can_be_enlarged_and_put_back(pages: dict[str, Path], browser: Browser) -> None:
    browser.open(pages["run"])
    before = browser.ask("document.querySelector('.tile svg').getBoundingClientRect().width")
    browser.ask("document.querySelector('.tile').click()")
    assert browser.ask("document.getElementById('large').open") is True
    assert browser.ask("document.querySelector('#held svg').getBoundingClientRect().width") > 2 * before
    browser.ask("document.getElementById('close').click()")
    assert browser.ask("document.getElementById('large').open") is False
    browser.ask("document.querySelector('.enlarge').click()")
    assert browser.ask("document.getElementById('large').open") is True


def test_without_scripts_the_figures_are_there(pages: dict[str, Path], browser: Browser, tmp_path: Path) -> None:
    browser.open(pages["run"], script=False)
    tree = browser.call("DOM.getDocument", depth=1)["root"]["nodeId"]
    figures = browser.call("DOM.querySelectorAll", nodeId=tree, selector="figure svg.chart")["nodeIds"]
    assert len(figures) >= 8
    for figure in figures:
        box = browser.call("DOM.getBoxModel", nodeId=figure)["model"]
        assert box["width"] > 100 and box["height"] > 60
    tiles = browser.call("DOM.querySelectorAll", nodeId=tree, selector=".tile")["nodeIds"]
    assert len(tiles) == 20
    assert browser.shoot(tmp_path / "page.png").stat().st_size > 20_000
