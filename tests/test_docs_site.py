"""The guide builds without a warning, links to nothing that is not there, and can be read without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.test_report_page import browser, contrast, look  # noqa: F401

pytestmark = pytest.mark.docs
ROOT = Path(__file__).resolve().parents[1]
LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
WIDTHS, SCHEMES = (1300, 390), ("light", "dark")


class Links(HTMLParser):
    """What a page names, points to and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            if name in ("href", "src") and value:
                self.targets.append(value)
                if (tag, name) in LOADING:
                    self.loaded.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the guide with the one command of its front page."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {path: Links(path) for path in site.rglob("*.html")}


def test_every_link_inside_leads_somewhere(site: Path, pages: dict[Path, Links]) -> None:
    assert len(pages) > 30
    missing = []
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                missing.append(f"{path.relative_to(site)}: {target}")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].ids:
                missing.append(f"{path.relative_to(site)}: {target} (no such place in the page)")
    assert not missing, "\n".join(sorted(set(missing)))


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Links]) -> None:
    outside = {target for links in pages.values() for target in links.loaded if urlsplit(target).netloc}
    assert not outside
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "url(http" not in text.replace('"', "").replace("'", ""), sheet
        assert "@import" not in text, sheet


HIDDEN = """
    const done = arguments[0], wide = document.documentElement.clientWidth, scroller = "pre, .table-wrapper, div.math";
    const measured = () => [...document.querySelectorAll(".content *")]
        .filter((e) => e.checkVisibility() && !e.closest("mjx-assistive-mml, svg")).filter((e) => {
            const clips = getComputedStyle(e).overflowX !== "visible";
            const hides = clips && e.clientWidth && e.scrollWidth > e.clientWidth + 1;
            const shows = e.matches(scroller) && e.classList.contains("more-right") && e.tabIndex === 0;
            return (hides && !shows) || (e.getBoundingClientRect().right > wide + 1 && !e.closest(scroller));
        }).map((e) => e.outerHTML.slice(0, 100));
    const wait = window.MathJax?.startup?.promise ?? Promise.resolve();
    const look = (left) => {
        const found = measured();
        if (found.length && left) setTimeout(() => look(left - 1), 100); else done(found);
    };
    wait.then(() => requestAnimationFrame(() => setTimeout(() => look(30), 60)));
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_hides_anything(site: Path, pages: dict[Path, Links], browser, width: int) -> None:  # noqa: F811
    """On every page: nothing sticks out, and what is wider than the page scrolls, shows it and takes the keyboard."""
    look(browser, width, "light")
    found = {}
    for path in pages:
        if not {"_static", "_downloads"} & set(path.parts):
            browser.get(path.as_uri())
            found[str(path.relative_to(site))] = browser.execute_async_script(HIDDEN)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert len(found) > 30
    assert {name: hidden for name, hidden in found.items() if hidden} == {}


@pytest.mark.browser
@pytest.mark.parametrize(("name", "width"), [("index", 390), ("index", 1280), ("how-fast", 1280)])
def test_what_fits_need_not_scroll(site: Path, browser, name: str, width: int) -> None:  # noqa: F811
    """The formula of the front page fits a phone, the table of speeds a laptop; cards have a border to be seen."""
    look(browser, width, "light")
    browser.get((site / f"{name}.html").as_uri())
    assert browser.execute_async_script(HIDDEN) == []
    assert browser.find_elements("css selector", ".more-right") == []
    for card in browser.find_elements("css selector", ".sd-card"):
        border = browser.execute_script("return getComputedStyle(arguments[0]).borderTopColor", card)
        assert contrast(border, "rgb(255, 255, 255)") >= 3.0


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index", "your-table", "theory/model", "theory/search", "how-fast", "gallery/index"])
def test_a_page_shows_alone_on_any_screen(site: Path, browser, name: str) -> None:  # noqa: F811
    """Wide and narrow, light and dark: no request leaves, formulas are drawn, nothing sticks out, nothing fails."""
    formulas = {"index": 1, "theory/model": 10, "theory/search": 10}
    browser.get_log("performance")  # what the browser did before
    for width in WIDTHS:
        for scheme in SCHEMES:
            look(browser, width, scheme)
            browser.get((site / f"{name}.html").as_uri())
            browser.execute_async_script(
                "const done = arguments[0]; (window.MathJax?.startup?.promise ?? Promise.resolve()).then(() => done())"
            )
            drawn = browser.find_elements("css selector", "mjx-container svg")
            assert len(drawn) >= formulas.get(name, 0)
            assert all(formula.size["width"] > 0 for formula in drawn)
            assert browser.find_elements("css selector", "mjx-merror") == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (max(map(int, background[4:-1].split(",")[:3])) < 100) == (scheme == "dark")
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert urls
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:", "chrome:"))] == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
