"""The report in a real browser: read, pointed at, clicked, typed at, narrow, dark, and alone without a network."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from partls import PartLSRegressor
from partls.report import write_report
from tests.hostile import NAMES

pytestmark = pytest.mark.browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
COLUMNS = [*NAMES[:8], "size", "weight", "age", "height"]
GROUPS = {NAMES[0]: COLUMNS[:3], NAMES[1]: COLUMNS[3:6], NAMES[4]: COLUMNS[6:9], "body": COLUMNS[9:]}
N_ROWS = 1500
MINUS = "\N{MINUS SIGN}"


def data() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N_ROWS, len(COLUMNS))) + rng.normal(size=(N_ROWS, 1)) + 0.5
    return pd.DataFrame(X, columns=COLUMNS), X @ rng.normal(size=len(COLUMNS)) + 7.0 * rng.normal(size=N_ROWS)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver: install Debian's chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs Selenium: install the dev extra")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def model() -> PartLSRegressor:
    return PartLSRegressor(GROUPS).fit(*data())


@pytest.fixture(scope="module")
def address(model, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "page.html"
    return model.report(path, title=NAMES[1], target=NAMES[0]).as_uri()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened in a wide and light window; at the end nothing may have gone wrong in it."""
    look(browser, 1200, "light")
    browser.get(address)
    yield Page(browser)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.hacked") is None


def look(browser, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


class Page:
    """What a reader does with the page."""

    def __init__(self, browser) -> None:
        self.browser = browser

    def run(self, script: str, *arguments):
        return self.browser.execute_script(script, *arguments)

    def all(self, selector: str):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector: str):
        return self.browser.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return self.one(selector).get_attribute("textContent")

    def tip(self) -> str:
        return "" if self.one("#tip").get_attribute("hidden") else self.text("#tip")

    def point_at(self, element) -> None:
        from selenium.webdriver import ActionChains

        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        self.settle()  # scrolling takes a tip away
        ActionChains(self.browser).move_to_element(element).perform()

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains, Keys

        for key in keys:
            ActionChains(self.browser).send_keys(getattr(Keys, key, key)).perform()

    def group(self, name: str):
        """The bar of a group."""
        return next(bar for bar in self.all("#effects button.row") if bar.text.startswith(name))

    def value(self, selector: str) -> float:
        return float(self.one(selector).get_attribute("data-value"))

    def contributions(self) -> dict[str, float]:
        bars = self.all(".answer li")
        return {bar.get_attribute("data-group"): float(bar.get_attribute("data-value")) for bar in bars}

    def settle(self) -> None:
        """Wait until the charts are drawn."""
        self.browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 50))")


def test_the_headline_says_what_was_proved(page, model):
    assert f"{100 * model.score(*data()):.3g}%" in page.text("#lead")
    assert "Proven optimal" in page.text("#proof")
    assert "Of the 16 ways" in page.text("#proof")
    assert [link.text for link in page.all("nav a")] == [
        "Groups", "Certainty", "Price", "Fit", "What if", "Data", "Search", "Settings", "Words",
    ]
    up = {name for name, sign in zip(model.group_names_, model.signs_, strict=True) if sign > 0}
    shown = page.text("#reading").split("Push it down")[0]
    assert {name for name in GROUPS if name in shown} >= up


def test_nothing_is_asked_of_the_network(page, browser, address):
    browser.get_log("performance")
    browser.get(address)
    Page(browser).settle()
    Page(browser).all("#effects button.row")[0].click()
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {address}
    assert page.run("return performance.getEntriesByType('resource').map((e) => e.name)") in ([], ["data:,"])
    blocked = page.run(
        "return new Promise((done) => fetch('http://127.0.0.1:9/').then(() => done('sent'), (e) => done(e.name)))"
    )
    assert blocked == "TypeError"
    browser.get_log("browser")  # the refusal that was just provoked


def test_names_are_shown_as_text(page):
    assert page.text("h1") == NAMES[1] == page.browser.title
    assert {bar.find_element("css selector", "bdi").text for bar in page.all("#effects button.row")} == set(GROUPS)
    for bar in page.all("#effects button.row"):
        bar.click()
    shown = {name.get_attribute("textContent") for name in page.all(".detail bdi")}
    assert shown == set(COLUMNS)
    assert page.all("img, b[onerror], main script") == []
    headings = [cell.get_attribute("textContent") for cell in page.all("#rows th bdi")]
    assert set(GROUPS) <= set(headings)
    page.point_at(page.group(NAMES[0]))
    assert page.tip().startswith(NAMES[0])


def test_hover_and_click_lead_to_the_alphas(page, model):
    k = list(model.group_names_).index("body")
    bar = page.group("body")
    page.point_at(bar)
    assert f"β {shown(model.beta_[k])}" in page.tip()
    assert "3 features" in page.tip()
    assert bar.get_attribute("aria-expanded") == "false"
    bar.click()
    assert bar.get_attribute("aria-expanded") == "true"
    detail = page.one("#" + bar.get_attribute("aria-controls"))
    assert detail.is_displayed()
    rows = detail.find_elements("css selector", ".row")
    shares = {row.find_element("css selector", "bdi").text: row.text for row in rows}
    for name in GROUPS["body"]:
        alpha, coef = model.alpha_[COLUMNS.index(name)], model.coef_[COLUMNS.index(name)]
        assert f"{float(f'{100 * alpha:.3g}'):g}%" in shares[name]
        assert f"coefficient {shown(coef)}" in shares[name]
    bar.click()
    assert not detail.is_displayed()


def shown(value: float) -> str:
    """A figure as the page writes it: four digits, and the sign that mathematics uses."""
    return ("+" if value > 0 else "") + f"{float(f'{value:.4g}'):g}".replace("-", MINUS)


def test_the_largest_share_of_the_variance_comes_first(page):
    shares = page.run("return figures.groups.map((group) => [group.name, Math.abs(group.share)])")
    ranked = [name for name, _ in sorted(shares, key=lambda pair: -pair[1])]
    assert [bar.find_element("css selector", "bdi").text for bar in page.all("#effects button.row")] == ranked
    page.one("input[value=beta]").find_element("xpath", "..").click()
    betas = page.run("return figures.groups.map((group) => [group.name, Math.abs(group.beta)])")
    ranked = [name for name, _ in sorted(betas, key=lambda pair: -pair[1])]
    assert [bar.find_element("css selector", "bdi").text for bar in page.all("#effects button.row")] == ranked


def test_a_negative_share_is_explained_where_it_stands(page):
    negative = page.run("return figures.groups.filter((group) => group.share < 0).map((group) => group.name)")
    bar = page.group("body")
    assert "body" in negative
    assert "against the others" in bar.text
    assert "moves against the other parts" in page.text("#groups > .note:last-of-type")
    bar.click()
    assert "moves against the other parts" in page.text(".detail:not([hidden])")
    page.point_at(bar)
    assert "moves against the other parts" in page.tip()


def test_what_became_of_the_nodes_adds_up(page, model):
    figures = [int(cell.text.replace(",", "")) for cell in page.all("#closing td")]
    assert len(figures) > 2 and sum(figures[:-1]) == figures[-1] >= model.n_iter_


def test_terms_are_explained_where_they_stand(page):
    tiles = {tile.find_element("css selector", "dt").text.split("\n")[0]: tile.text for tile in page.all("#tiles div")}
    for name in ("R²", "typical error", "gap", "price of the constraint"):
        assert "\n" in tiles[name].partition(name)[2]
    assert "A node is a set of sign patterns" in page.text("#search .note")
    assert "share of variance is" in page.text("#groups .note") and "β, the effect, is" in page.text("#groups .note")
    assert "penalty on the effects" in page.text("#settings dl")


def broken(page) -> list[str]:
    """The pieces of names that do not stand on one line: a piece ends after a mark or before a capital."""
    return page.run("""
        const whole = (text) => {
            const range = document.createRange();
            range.selectNodeContents(text);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size < 2;
        };
        return [...document.querySelectorAll("bdi, th, h3, dt, .tag")].filter((e) => e.checkVisibility())
            .flatMap((e) => [...e.childNodes].filter((n) => n.nodeType === 3 && !/ /.test(n.data) && !whole(n)))
            .map((n) => n.data);
    """)


def cut(page) -> list[str]:
    """The elements whose text is cut off, or which stick out of the page, but for tables that say that they scroll."""
    return page.run("""
        const scrolls = (e) => e.closest(".scroll")?.previousElementSibling.matches(".hint:not([hidden])");
        return [...document.querySelectorAll("main *, header *")].filter((e) => e.checkVisibility()
                && !e.closest(".unseen, svg, select, .choice input") && !scrolls(e))
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
                || (getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1)
                || (getComputedStyle(e).overflowY !== "visible" && e.scrollHeight > e.clientHeight + 1))
            .map((e) => e.outerHTML.slice(0, 90));
    """)


SPELLED = ("PowerAndTemperature", "OverallQual_(missing)", "everything_below_the_ground", "like Garage", "age", "x")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light")])
@pytest.mark.parametrize("n_groups", [6, 71])
def test_nothing_is_cut_and_no_word_is_broken(page, browser, tmp_path, n_groups, width, scheme):
    rng = np.random.default_rng(n_groups)
    names = [f"{SPELLED[k % 6]}{k // 6 or ''}" for k in range(n_groups)]
    columns = [f"{name}_{part}" for name in names for part in ("WoodShingle", "Yes")]
    X = pd.DataFrame(rng.normal(size=(200, len(columns))) + rng.normal(size=(200, 1)), columns=columns)
    y = X @ rng.normal(size=len(columns)) + rng.normal(size=200)
    groups = {name: [c for c in columns if c.rsplit("_", 1)[0] == name] for name in names}
    model = PartLSRegressor(groups, time_limit=5).fit(X, y) if n_groups == 6 else None
    result = model or PartLSRegressor(groups, method="alternating", random_state=0).fit(X, y)
    look(browser, width, scheme)
    browser.get(write_report(result, tmp_path / "page.html", time_limit=10 if n_groups == 6 else 0).as_uri())
    page.settle()
    for button in page.all("button.quiet"):
        if button.text.startswith("Show"):
            button.click()
    for bar in page.all("#effects button.row")[:5]:
        bar.click()
    page.settle()
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert broken(page) == []
    assert cut(page) == []
    wide = page.run("return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1)")
    assert len(wide) == len(page.all(".hint:not([hidden])")) and (wide or width > 390)
    for table in wide:
        assert "more-right" in table.get_attribute("class")
        page.run("arguments[0].scrollLeft = 1e6", table)
        page.settle()
        assert "more-left" in table.get_attribute("class") and "more-right" not in table.get_attribute("class")


def test_bars_show_shares(page):
    figures = [bar.find_element("css selector", ".figure").text for bar in page.all("#effects button.row")]
    assert all("%" in figure.splitlines()[0] for figure in figures)
    assert page.run("return figures.groups.reduce((sum, group) => sum + group.share, 0)") == pytest.approx(1.0)


def test_the_keyboard_reaches_everything(page):
    page.press("TAB")
    assert page.run("return document.activeElement.className") == "skip"
    page.press("TAB")
    assert page.run("return document.activeElement.id") == "theme"
    outline = page.run("return getComputedStyle(document.activeElement).outline")
    assert "solid 3px" in outline or "3px solid" in outline
    bars = page.all("#effects button.row")
    page.run("arguments[0].focus()", bars[0])
    page.press("ARROW_DOWN")
    assert page.browser.switch_to.active_element == bars[1]
    page.press("END")
    assert page.browser.switch_to.active_element == bars[-1]
    page.press("HOME", "ENTER")
    assert bars[0].get_attribute("aria-expanded") == "true"
    page.press("SPACE")
    assert bars[0].get_attribute("aria-expanded") == "false"
    seen = set()
    for _ in range(80):
        page.press("TAB")
        seen.add(page.run("const e = document.activeElement; return e.closest('section')?.id + ' ' + e.localName"))
    assert {"groups input", "groups button", "fit svg", "what-if select", "what-if input", "what-if button"} <= seen
    assert {"data button", "search svg"} <= seen


def test_a_tip_stays_while_the_page_scrolls_to_the_focus(page):
    page.settle()
    page.press("TAB")  # so that the focus is shown
    bar = page.all("#effects button.row")[-1]
    page.run("arguments[0].focus(); scrollBy(0, 200)", bar)
    page.settle()
    assert "click to see" in page.tip()
    assert 0 < page.one("#tip").rect["y"] - bar.rect["y"] < 200
    chart = page.one("#fit svg")
    page.run("arguments[0].focus()", chart)
    page.press("ARROW_RIGHT")
    page.run("scrollBy(0, 100)")
    page.settle()
    assert page.tip().startswith("row ")
    page.press("ESCAPE")
    page.run("scrollBy(0, -100)")
    page.settle()
    assert page.tip() == ""


def test_charts_are_read_by_keys_and_pointer(page, model):
    X, y = data()
    predicted = model.predict(X)
    page.settle()
    charts = page.all("#fit svg")
    assert len(charts) == 3
    assert len(charts[0].find_elements("css selector", "circle.dot")) == 1000
    page.run("arguments[0].focus()", charts[0])
    page.press("ARROW_RIGHT", "ARROW_RIGHT", "ARROW_LEFT")
    first = page.run("return figures.rows.number.slice(1)")
    lowest = min(first, key=lambda number: predicted[number - 1])
    assert page.tip().splitlines()[0] == f"row {lowest:,}"
    assert page.text("#live") == page.tip()
    actual = page.tip().splitlines()[1].removeprefix("actual ").replace(MINUS, "-").replace(",", "")
    assert float(actual) == pytest.approx(y[lowest - 1], rel=1e-4)
    page.press("ENTER")
    assert page.value("#prediction") == pytest.approx(predicted[lowest - 1], rel=1e-9)
    page.press("ESCAPE")
    assert page.tip() == ""
    page.point_at(charts[2])
    assert "residual" in page.tip() and "row" in page.tip()
    page.run("arguments[0].focus()", page.one("#search svg"))
    page.settle()  # the page scrolls there, under a pointer that still rests on another chart
    page.press("END")
    assert f"best {model.objective_:,.6g}"[:9] in page.tip()


def test_the_table_sorts(page):
    def column(c: int) -> list[float]:
        return [float(cell.get_attribute("data-value")) for cell in page.all(f"#rows td:nth-child({c + 1})")]

    residuals = page.run("return figures.rows.actual.map((a, i) => a - figures.rows.predicted[i]).slice(1)")
    head = page.all("#rows th")[3]
    head.find_element("css selector", "button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(3) == sorted(residuals, reverse=True)[:15]
    page.run("arguments[0].focus()", head.find_element("css selector", "button"))
    page.press("ENTER")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(3) == sorted(residuals)[:15]
    page.all(".pager button")[1].click()
    assert column(3) == sorted(residuals)[15:30]
    assert "16 to 30 of 1,000" in page.text(".pager")
    page.all("#rows th button")[0].click()
    assert page.all("#rows th")[0].get_attribute("aria-sort") == "ascending"
    assert column(0) == sorted(column(0))


def test_samples_are_told(page):
    for section in ("fit", "data"):
        assert "a random sample of 1,000 of the 1,500 rows" in page.text(f"#{section} .limited")


def test_what_if_is_the_models_arithmetic(page, model):
    X, _ = data()
    number = page.run("return figures.rows.number[7]")
    page.run("select(7)")
    row = X.iloc[[number - 1]].copy()
    assert page.value("#prediction") == pytest.approx(model.predict(row)[0], rel=1e-9)
    assert page.contributions() == pytest.approx(contributions(model, row), rel=1e-9, abs=1e-12)
    box = next(box for box in page.all("#movers input[type=number]") if box.get_attribute("data-feature") == "height")
    box.clear()
    box.send_keys("-3.25")
    row["height"] = -3.25
    assert page.value("#prediction") == pytest.approx(model.predict(row)[0], rel=1e-9)
    slider = next(s for s in page.all("#movers input[type=range]") if s.get_attribute("data-feature") == NAMES[0])
    before = float(slider.get_attribute("value"))
    page.run("arguments[0].focus()", slider)
    page.press("ARROW_RIGHT", "ARROW_RIGHT", "PAGE_UP")
    beside = slider.find_element("xpath", "../input[@type='number']")
    row[NAMES[0]] = float(beside.get_attribute("value"))
    step = float(slider.get_attribute("max")) - float(slider.get_attribute("min"))
    assert row[NAMES[0]].iloc[0] == pytest.approx(before + 0.12 * step, abs=1e-5 * step)
    assert page.value("#prediction") == pytest.approx(model.predict(row)[0], rel=1e-9)
    assert page.contributions() == pytest.approx(contributions(model, row), rel=1e-9, abs=1e-12)
    assert "by the move" in page.text(".answer")
    page.one("#reset").click()
    assert page.value("#prediction") == pytest.approx(model.predict(X.iloc[[number - 1]])[0], rel=1e-9)


def test_what_if_speaks_in_the_units_of_the_data(browser, tmp_path, monkeypatch):
    """The command line, with --standardize: the prediction is that of the saved model for the values in the boxes."""
    from typer.testing import CliRunner

    from partls.cli import app

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"area": rng.normal(1500, 400, 80), "rooms": rng.integers(1, 9, 80), "noise": rng.random(80)})
    table["price"] = 90 * table["area"] + 5e3 * table["rooms"] - 4e4 * table["noise"] + rng.normal(0, 9e3, 80)
    table.to_csv("d.csv", index=False)
    (tmp_path / "g.toml").write_text('[groups]\nsize = ["area", "rooms"]\nnoise = ["noise"]\n')
    command = "fit d.csv --target price --groups g.toml --standardize --out m.json --report page.html"
    assert CliRunner().invoke(app, command.split()).exit_code == 0
    model = PartLSRegressor.load("m.json")
    look(browser, 1200, "light")
    browser.get((tmp_path / "page.html").as_uri())
    page = Page(browser)
    assert "in the units of the data" in page.text("#what-if .note")
    boxes = {box.get_attribute("data-feature"): box for box in page.all("#movers input[type=number]")}
    assert float(boxes["area"].get_attribute("value")) == pytest.approx(table["area"].mean(), rel=1e-4)
    page.run("select(3)")
    row = table.iloc[[page.run("return figures.rows.number[3]") - 1]][["area", "rooms", "noise"]].copy()
    boxes = {box.get_attribute("data-feature"): box for box in page.all("#movers input[type=number]")}
    boxes["area"].clear()
    boxes["area"].send_keys("2000")
    row["area"] = 2000.0
    assert page.value("#prediction") == pytest.approx(model.predict(row)[0], rel=1e-9)
    assert browser.get_log("browser") == []


def contributions(model: PartLSRegressor, row: pd.DataFrame) -> dict[str, float]:
    parts = model.contributions(row)
    return {name: float(value) for name, value in zip(parts.names, parts.values[0], strict=True) if name in GROUPS}


def test_a_row_of_the_table_starts_the_panel(page, model):
    X, _ = data()
    start = page.all("#rows td button")[4]
    number = int(start.text)
    page.run("arguments[0].scrollIntoView({block: 'center'})", start)
    start.click()
    assert page.value("#prediction") == pytest.approx(model.predict(X.iloc[[number - 1]])[0], rel=1e-9)
    assert page.run("return document.activeElement.id") == "start-row"
    page.settle()
    assert page.one("#fit circle.picked").get_attribute("visibility") == "visible"


@pytest.mark.parametrize(
    ("case", "groups", "target", "options"),
    [
        ("perfect fit", GROUPS, lambda X: X @ np.ones(12), {}),
        ("constant target", GROUPS, lambda X: np.full(len(X), 3.0), {}),
        ("one group", None, lambda X: X[:, 0], {}),
        ("free columns", {"body": COLUMNS[:4]}, lambda X: X[:, 0] - X[:, 5] + np.sin(9 * X[:, 1]), {}),
        ("a zero group", GROUPS, lambda X: np.sin(9 * X[:, 1]), {"eta": 1e4, "penalty": "l1"}),
        ("no time", GROUPS, lambda X: np.sin(9 * X[:, 1]), {}),
    ],
)
def test_every_kind_of_page_opens(page, browser, tmp_path, case, groups, target, options):
    X = data()[0].iloc[:40]
    model = PartLSRegressor(groups, ungrouped="free", **options).fit(X, target(X.to_numpy()))
    limit = 0 if case == "no time" else 30
    browser.get(write_report(model.result_, tmp_path / "page.html", time_limit=limit).as_uri())
    page.settle()
    for bar in page.all("#effects button.row"):
        bar.click()
    assert all(len(section.text) > 60 for section in page.all("main section")), case
    assert "NaN" not in page.text("main") and "undefined" not in page.text("main")
    exact = case in ("perfect fit", "constant target", "one group")
    assert ("fitted exactly (up to rounding)" in page.text("#proof")) == exact
    assert ("%" in page.text("#certainty") + page.text("#price")) == (not exact and case != "no time")
    assert "∞" not in page.text("main")
    assert page.value("#prediction") == pytest.approx(model.predict(X.mean().to_frame().T)[0], rel=1e-9, abs=1e-9)
    assert ("Left out" in page.text("#certainty")) == ("Left out" in page.text("#price")) == (case == "no time")
    assert ("no common sign" in page.text("#groups")) == (case == "free columns")


@pytest.mark.parametrize("width", [320, 375, 768])
def test_a_narrow_screen_needs_no_sideways_scroll(page, browser, address, width):
    look(browser, width, "light")
    browser.get(address)
    page.settle()
    for bar in page.all("#effects button.row"):
        bar.click()
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run("return innerWidth") == width
    sticking_out = page.run(
        "return [...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll, .unseen')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert sticking_out == []


def test_a_long_name_stays_beside_its_mark(page, browser, tmp_path):
    X = data()[0].iloc[:40].set_axis([f"x{j}" for j in range(len(COLUMNS))], axis=1)
    model = PartLSRegressor({"PowerAndTemperatureAndMore": list(X.columns)}).fit(X, X["x0"])
    look(browser, 375, "light")
    browser.get(model.report(tmp_path / "page.html").as_uri())
    page.settle()
    name, text = page.one("#effects .name"), page.one("#effects .name bdi")
    assert text.rect["y"] - name.rect["y"] < 5


def test_minus_zero_is_zero(page):
    assert page.run("return [number(-0), signed(-0), percent(-0)]") == ["0", "0", "0%"]


def test_light_and_dark(page, browser, address):
    def colours() -> tuple[float, float]:
        found = page.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
        return luminance(found[0]), luminance(found[1])

    paper, ink = colours()
    assert paper > 0.9 > 0.1 > ink
    look(browser, 1200, "dark")
    browser.get(address)
    paper, ink = colours()
    assert paper < 0.1 and ink > 0.7
    assert page.one("#theme").text.endswith("Light")
    page.one("#theme").click()
    paper, ink = colours()
    assert paper > 0.9 > 0.1 > ink


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(page, browser, address, scheme):
    """WCAG AA: 4.5 to 1 for text of normal size, against the nearest background behind it."""
    look(browser, 1200, scheme)
    browser.get(address)
    page.settle()
    page.all("#effects button.row")[0].click()
    pairs = page.run("""
        const behind = (e) => {
            for (; e; e = e.parentElement) {
                const colour = getComputedStyle(e).backgroundColor;
                if (!/, 0\\)$/.test(colour)) return colour;
            }
        };
        const ink = (e) => getComputedStyle(e)[e.namespaceURI.includes("svg") ? "fill" : "color"];
        const written = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        return [...document.querySelectorAll("body *")]
            .filter((e) => e.checkVisibility() && written(e) && !e.closest("[disabled], .tip, option, script"))
            .map((e) => [ink(e), behind(e), e.outerHTML.slice(0, 80)]);
    """)
    assert len(pairs) > 200
    ratios = [(contrast(text, paper), where) for text, paper, where in pairs]
    assert min(ratios)[0] >= 4.5, min(ratios)


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
