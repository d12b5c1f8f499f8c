"""What a reader does with the page in a real browser: sort, filter, choose a cluster, read numbers.

Without a browser on PATH these tests are skipped, as those of `test_browser`.
"""

import csv
import json
from decimal import Decimal
from itertools import pairwise, product
from urllib.parse import urlencode

import pytest

from rackwise.report import html
from report import chromium
from report.large_pages import CLUSTERS, document_of, text_of
from report.summaries import hostile, summary
from report.test_browser import (
    SETTLE,
    WIDER_THAN_THE_PAGE,
    pytestmark,  # noqa: F401 (skips this file)
)

BY_TOPIC = ("bytes_cross", "bytes_local", "bytes_unknown", "usd", "usd_high", "share")
WIDTHS = (360, 390, 1280)
LOADED = [
    pytest.param(name, width, marks=() if width == 360 else pytest.mark.long)
    for name, width in product(("a week", "fleet", "hostile", "16 racks"), WIDTHS)
]
"""Pages by width. Every run has the narrowest, and most at 1280 where it looks at their matrix."""
CONTRAST = """
(() => {
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, under) => {
    const [r, g, b, a = 1] = top;
    return [r, g, b].map((value, i) => value * a + under[i] * (1 - a));
  };
  const light = rgb => rgb.map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(parts(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const bad = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, title, desc")) continue;
    if (!element.getClientRects().length) continue;
    count += 1;
    const style = getComputedStyle(element);
    const under = ground(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [over(parts(ink), under), under].map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) {
      const name = `${element.tagName}.${element.className.baseVal ?? element.className}`;
      bad[name] = `${ratio.toFixed(2)} ${walker.currentNode.data.trim().slice(0, 30)}`;
    }
  }
  return {bad, count};
})()
"""


def with_many_topics(count):
    """A summary of a cluster with this many topics; every seventh has unknown dollars."""
    document = summary(topics=3)
    first = document["by_topic"][0]
    document["by_topic"] = [
        first
        | {
            "topic": f"service-{place}.events",
            "bytes_cross": (place * 7919) % 10007 * 1_000_003,
            "usd": None if place % 7 == 3 else f"{(place * 104729) % 99991}.{place:09}",
        }
        for place in range(count)
    ]
    document["rows"]["by_topic"] = count
    return document


SHARED = ("a week", "fleet")
CASES = {
    "many": lambda: with_many_topics(5000),
    "hostile": lambda: summary(topics=3, clusters=8, days=2, named=hostile),
    "16 racks": lambda: summary(topics=2, racks=tuple(f"use1-az{n}" for n in range(1, 17))),
}


@pytest.fixture(scope="module")
def documents():
    made = {name: make() for name, make in CASES.items()}
    return made | {name: document_of(name) for name in SHARED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, documents):
    folder = tmp_path_factory.mktemp("run")
    for name, document in documents.items():
        text = text_of(name) if name in SHARED else html.render(document)
        (folder / f"{name}.html").write_text(text)
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with chromium.page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def opened(page, folder):
    def of(name, *, width=1280, dark=False):
        page.open(folder / f"{name}.html", width=width, dark=dark)
        ready = "document.documentElement.classList.contains('sortable')"
        page.run(f"new Promise(d => {{const w = () => {ready} ? d() : setTimeout(w, 20); w();}})")
        return page

    return of


def column(page, table, key):
    """(text, sort value) of each row that a column shows."""
    return page.run(
        f"""(() => {{
          const table = document.getElementById("{table}");
          const heads = [...table.tHead.rows[0].cells];
          const at = heads.findIndex(head => head.dataset.key === "{key}");
          return [...table.tBodies[0].rows].map(({{cells}}) =>
            [cells[at].innerText.trim(), cells[at].dataset.v ?? null, cells[at].title]);
        }})()"""
    )


def press(page, table, key):
    """Click a heading; the value of its `aria-sort`."""
    return page.run(
        f"""(() => {{
          const head = document.querySelector("#{table} th[data-key='{key}']");
          head.querySelector("button").click();
          return head.getAttribute("aria-sort");
        }})()"""
    )


def type_into(page, label, text):
    page.run(
        f"""(() => {{
          const input = document.querySelector(`input[aria-label={json.dumps(label)}]`);
          input.value = {json.dumps(text)};
          input.dispatchEvent(new Event("input", {{bubbles: true}}));
        }})()"""
    )


def status(page, table):
    return page.run(
        f"document.getElementById('{table}').parentElement.previousElementSibling"
        ".querySelector('output').textContent"
    )


def wait_for(page, expression, value):
    """Until an expression of the page has this value, for at most 20 s."""
    for _ in range(200):
        if (found := page.run(expression)) == value:
            return
        page.run("new Promise(done => setTimeout(done, 100))")
    assert found == value


def choose(page, name):
    """Choose a cluster with the select, as a reader does."""
    page.run(
        f"""(() => {{
          const select = document.getElementById("cluster");
          select.value = {json.dumps(name)};
          select.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})()"""
    )
    page.run("new Promise(done => setTimeout(done, 100))")


class TestSorting:
    def test_numbers_are_in_order_and_unknown_ones_are_last_in_both_directions(
        self, opened, documents
    ):
        page = opened("many")
        for key in ("bytes_cross", "usd"):
            known = [row[key] for row in documents["many"]["by_topic"] if row[key] is not None]
            for said, ordered in (
                ("descending", sorted(map(Decimal, known), reverse=True)),
                ("ascending", sorted(map(Decimal, known))),
            ):
                assert press(page, "table-topic", key) == said
                cells = column(page, "table-topic", key)
                shown = [Decimal(value or text) for text, value, _ in cells]
                assert shown == ordered[: len(shown)]
                assert len(shown) >= 50
        type_into(page, "Filter Topics", "service-1")
        unknown = [text for text, *_ in column(page, "table-topic", "usd")]
        first = unknown.index("not known") if "not known" in unknown else len(unknown)
        assert set(unknown[first:]) <= {"not known"}

    def test_unknown_dollars_are_last_among_few_rows(self, opened):
        page = opened("many")
        type_into(page, "Filter Topics", "service-10.")
        type_into(page, "Filter Topics", "service-100")
        for _ in range(2):
            press(page, "table-topic", "usd")
            texts = [text for text, *_ in column(page, "table-topic", "usd")]
            assert texts.count("not known") in {1, 2}
            assert texts[-1] == "not known"
            assert texts[0] != "not known"

    def test_dollars_that_differ_in_the_ninth_digit_are_in_order(self, page, tmp_path):
        document = summary(topics=3)
        amounts = ["9007199254740993.000000001", "9007199254740993.000000003"]
        amounts.insert(1, "9007199254740993.000000002")
        for row, usd in zip(document["by_topic"], amounts, strict=True):
            row["usd"] = usd
        (tmp_path / "report.html").write_text(html.render(document))
        page.open(tmp_path / "report.html", width=1280)
        page.run("new Promise(done => setTimeout(done, 200))")
        press(page, "table-topic", "usd")
        shown = [value for _, value, _ in column(page, "table-topic", "usd")]
        assert shown == sorted(amounts, reverse=True)

    def test_names_are_in_order_and_the_third_press_restores_the_page(self, opened):
        page = opened("a week")
        before = column(page, "table-topic", "topic")
        assert press(page, "table-topic", "topic") == "ascending"
        names = [text for text, *_ in column(page, "table-topic", "topic")]
        assert names.index("service-08.events") < names.index("service-23.events")
        assert names == sorted(names)
        assert press(page, "table-topic", "topic") == "descending"
        assert [text for text, *_ in column(page, "table-topic", "topic")] == names[::-1]
        assert press(page, "table-topic", "topic") == "none"
        assert column(page, "table-topic", "topic") == before

    def test_one_heading_at_a_time_says_that_it_sorts(self, opened):
        page = opened("a week")
        press(page, "table-topic", "topic")
        press(page, "table-topic", "usd")
        said = page.run("[...document.querySelectorAll('#table-topic th')].map(h => h.ariaSort)")
        assert sorted(set(said)) == ["descending", "none"]
        assert said.count("descending") == 1

    def test_the_keyboard_sorts(self, opened):
        page = opened("a week")
        page.run("document.querySelector('#table-topic th[data-key=usd] button').focus()")
        for kind in ("keyDown", "keyUp"):
            page.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key="Enter",
                code="Enter",
                windowsVirtualKeyCode=13,
                text="\r",
            )
        head = "document.querySelector('#table-topic th[data-key=usd]')"
        assert page.run(f"{head}.getAttribute('aria-sort')") == "descending"

    def test_severities_are_in_order_of_rank(self, opened):
        page = opened("a week")
        press(page, "table-worst", "severity")
        ranks = [int(value) for _, value, _ in column(page, "table-worst", "severity")]
        assert ranks == sorted(ranks, reverse=True)
        assert len(set(ranks)) > 1

    def test_every_table_sorts_by_every_column(self, opened):
        page = opened("a week")
        heads = page.run(
            """[...document.querySelectorAll("table.data")].flatMap(table =>
                 [...table.tHead.rows[0].cells].map(head => [table.id, head.dataset.key]))"""
        )
        rows = "[...document.querySelectorAll('table.data')].map(t => t.tBodies[0].rows.length)"
        before = page.run(rows)
        assert len(heads) > 80
        for table, key in heads:
            assert press(page, table, key) in {"ascending", "descending"}
        assert page.run(rows) == before
        assert page.complaints == []


class TestFiltering:
    def test_the_count_is_that_of_the_rows_that_match(self, opened, documents):
        page = opened("many")
        assert status(page, "table-topic") == "5,000 rows"
        type_into(page, "Filter Topics", "SERVICE-49")
        names = [row["topic"] for row in documents["many"]["by_topic"]]
        wanted = [name for name in names if "service-49" in name]
        assert status(page, "table-topic") == f"{len(wanted)} of 5,000"
        assert [text for text, *_ in column(page, "table-topic", "topic")] == wanted
        type_into(page, "Filter Topics", "no such topic")
        assert status(page, "table-topic") == "0 of 5,000"
        assert column(page, "table-topic", "topic") == []
        type_into(page, "Filter Topics", "")
        assert status(page, "table-topic") == "5,000 rows"

    def test_5000_rows_are_sorted_and_filtered_without_a_wait(self, opened):
        page = opened("many")
        took = page.run(
            """(() => {
              const start = performance.now();
              for (const key of ["usd", "topic", "bytes_cross"]) {
                document.querySelector(`#table-topic th[data-key=${key}] button`).click();
                document.body.offsetHeight;
              }
              const input = document.querySelector('input[aria-label="Filter Topics"]');
              input.value = "77";
              input.dispatchEvent(new Event("input"));
              document.body.offsetHeight;
              return performance.now() - start;
            })()"""
        )
        assert took < 4000

    def test_scrolling_shows_all_rows(self, opened):
        page = opened("many")
        count = page.run(
            """(async () => {
              const table = document.getElementById("table-topic");
              const rows = table.tBodies[0].rows;
              for (let step = 0; step < 60 && rows.length < 5000; step += 1) {
                table.parentElement.scrollTop = table.parentElement.scrollHeight;
                await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
              }
              return rows.length;
            })()"""
        )
        assert count == 5000

    def test_only_tables_with_more_than_ten_rows_have_a_filter(self, opened):
        page = opened("a week")
        found = page.run(
            """[...document.querySelectorAll("table.data")].map(table =>
                 [table.tBodies[0].rows.length > 10,
                  Boolean(table.parentElement.previousElementSibling?.matches(".filter"))])"""
        )
        assert {tuple(pair) for pair in found} == {(True, True), (False, False)}

    def test_without_scripts_the_rows_are_there_and_no_box_that_does_nothing(
        self, page, folder, tmp_path
    ):
        text = (folder / "many.html").read_text()
        (tmp_path / "bare.html").write_text(text[: text.index("<script id=")])
        page.open(tmp_path / "bare.html", width=1280)
        assert len(column(page, "table-topic", "topic")) == 50
        assert "4,950 more rows in csv/by_topic.csv" in page.run("document.body.innerText")
        assert page.run("document.querySelectorAll('input:not(.choice *), th button').length") == 0


class TestChoice:
    NAME = "cluster-117"

    def test_every_cluster_can_be_chosen(self, opened, documents):
        page = opened("fleet")
        names = page.run("[...document.querySelectorAll('#cluster option')].map(o => o.value)")
        assert names == ["", *(row["name"] for row in documents["fleet"]["clusters"])]
        assert len(names) == CLUSTERS + 1

    def test_the_search_narrows_the_choice_and_enter_takes_it(self, opened):
        page = opened("fleet")
        type_into(page, "Search clusters", "R-11")
        options = page.run("[...document.querySelectorAll('#cluster option')].map(o => o.text)")
        assert options == ["All clusters", *(f"cluster-11{n}" for n in range(10))]
        count = page.run("document.getElementById('cluster-count').textContent")
        assert count == f"10 of {CLUSTERS}"
        type_into(page, "Search clusters", self.NAME)
        page.run(
            """document.getElementById("cluster-search").dispatchEvent(
                 new KeyboardEvent("keydown", {key: "Enter", bubbles: true}))"""
        )
        page.run("new Promise(done => setTimeout(done, 100))")
        assert page.run("location.hash") == f"#cluster={self.NAME}"
        assert page.run("document.querySelector('#chosen h2').textContent").endswith(self.NAME)

    def test_its_numbers_are_those_of_the_csv(self, opened, documents, tmp_path):
        rows = documents["fleet"]["by_topic"]
        with (tmp_path / "by_topic.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        with (tmp_path / "by_topic.csv").open(newline="") as file:
            wanted = [row for row in csv.DictReader(file) if row["cluster"] == self.NAME]
        page = opened("fleet")
        choose(page, self.NAME)
        assert [text for text, *_ in column(page, "table-topic", "cluster")] == [self.NAME] * 2
        assert [text for text, *_ in column(page, "table-topic", "topic")] == [
            row["topic"] for row in wanted
        ]
        for key in BY_TOPIC:
            shown = [Decimal(value or text) for text, value, _ in column(page, "table-topic", key)]
            assert shown == [Decimal(row[key]) for row in wanted], key

    def test_each_section_is_of_the_cluster_and_totals_stay_those_of_the_fleet(
        self, opened, documents
    ):
        page = opened("fleet")
        headline = page.run("document.querySelector('h1').textContent")
        fleet_chart = page.run("document.getElementById('chart-topic').innerHTML.length")
        choose(page, self.NAME)
        tables = page.run(
            """[...document.querySelectorAll("table.data")]
              .filter(table => table.querySelector("th[data-key=cluster]"))
              .map(table => table.id)"""
        )
        assert {"table-topic", "table-group", "table-pair", "table-blast", "table-worst"} <= {
            *tables
        }
        for table in tables:
            assert {text for text, *_ in column(page, table, "cluster")} <= {self.NAME}, table
        for table in ("table-topic", "table-group", "table-pair", "table-blast", "table-worst"):
            assert column(page, table, "cluster"), table
        maps = "[...document.querySelectorAll('.heat-map')].map(map => ({...map.dataset}))"
        shown = page.run(maps)
        assert {one["cluster"] for one in shown} == {self.NAME}
        zone = [
            row
            for row in documents["fleet"]["matrix"]
            if row["cluster"] == self.NAME and row["level_name"] == "zone"
        ]
        assert sum(row["bytes"] for row in zone) in {int(one["bytes"]) for one in shown}
        days = [
            row for row in documents["fleet"]["history"]["clusters"] if row["cluster"] == self.NAME
        ]
        assert [value for _, value, _ in column(page, "table-history", "usd")] == [
            row["usd"] for row in days[::-1]
        ]
        facts = page.run("document.querySelector('#chosen dl').innerText")
        (cluster,) = [row for row in documents["fleet"]["clusters"] if row["name"] == self.NAME]
        assert cluster["cluster_id"] in facts
        assert "153" in facts
        assert page.run("document.querySelector('h1').textContent") == headline
        assert f"all {CLUSTERS} clusters" in page.run("document.getElementById('chosen').innerText")
        assert page.run("document.getElementById('chart-topic').innerHTML.length") != fleet_chart
        assert page.complaints == []
        choose(page, "")
        assert page.run("document.getElementById('chosen').hidden") is True
        assert len({text for text, *_ in column(page, "table-topic", "cluster")}) > 10
        assert len({one["cluster"] for one in page.run(maps)}) > 1

    def test_a_link_keeps_the_choice_and_a_section_keeps_it_too(self, page, folder):
        file = folder / "fleet.html"
        page.open(folder / "a week.html", width=1280)
        fragment = urlencode({"cluster": self.NAME, "at": "blast"})
        page.open_at(file, fragment)
        wait_for(page, "document.getElementById('cluster').value", self.NAME)
        assert {text for text, *_ in column(page, "table-blast", "cluster")} == {self.NAME}
        page.run("document.querySelector('nav a[href=\"#plans\"]').click()")
        wait_for(page, "location.hash", f"#cluster={self.NAME}&at=plans")
        assert page.run("document.getElementById('cluster').value") == self.NAME
        page.run("history.back()")
        page.run("new Promise(done => setTimeout(done, 200))")
        assert page.run("document.getElementById('cluster').value") == self.NAME

    def test_a_cluster_that_is_not_there_is_said(self, opened):
        page = opened("fleet")
        page.run("location.hash = 'cluster=nobody'")
        page.run("new Promise(done => setTimeout(done, 100))")
        assert page.run("document.getElementById('cluster').value") == ""
        assert "no cluster nobody" in page.run(
            "document.getElementById('cluster-count').textContent"
        )

    def test_a_hostile_name_stays_text(self, opened):
        page = opened("hostile")
        names = page.run("[...document.querySelectorAll('#cluster option')].map(o => o.value)")
        assert any("<" in name for name in names)
        for name in names[1:]:
            choose(page, name)
            assert page.run("document.querySelector('#chosen h2').textContent") == f"Cluster {name}"
            assert {text for text, *_ in column(page, "table-blast", "cluster")} == {name}
        assert page.run("window.ran") is None
        assert page.run("document.querySelectorAll('img, iframe').length") == 0
        assert page.complaints == []


def check_width(page):
    """The page is not wider than the screen, as it is and with its first cluster chosen."""
    assert page.run(WIDER_THAN_THE_PAGE) is False
    first = page.run("document.querySelector('#cluster option:nth-child(2)')?.value ?? ''")
    if first:
        choose(page, first)
        assert page.run(WIDER_THAN_THE_PAGE) is False


class TestWidth:
    @pytest.mark.parametrize("name", ["a week", "16 racks", "fleet"])
    def test_the_matrix_and_the_page_fit_at_1280(self, opened, name):
        page = opened(name)
        boxes = page.run(
            """[...document.querySelectorAll(".heat-map")].map(map => map.parentElement)
                 .map(box => box.scrollWidth - box.clientWidth)"""
        )
        assert boxes
        assert max(boxes) == 0
        check_width(page)

    @pytest.mark.parametrize(("name", "width"), LOADED)
    def test_the_page_is_never_wider_than_the_screen(self, opened, name, width):
        check_width(opened(name, width=width))


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_every_text_has_enough_contrast_in_both_schemes(opened, width, dark):
    page = opened("fleet", width=width, dark=dark)
    choose(page, "cluster-007")
    for is_dark in (dark, not dark):
        page.scheme(dark=is_dark)
        page.run(SETTLE)
        assert page.run("matchMedia('(prefers-color-scheme: dark)').matches") is is_dark
        found = page.run(CONTRAST)
        assert found["count"] > 500
        assert found["bad"] == {}


def test_sorted_pairs_are_compared():
    """The order that the tests of sorting want is one that a wrong order does not have."""
    rows = with_many_topics(50)["by_topic"]
    assert any(a["bytes_cross"] < b["bytes_cross"] for a, b in pairwise(rows))
    assert any(a["bytes_cross"] > b["bytes_cross"] for a, b in pairwise(rows))
