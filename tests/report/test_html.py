"""The parsed page: offline, with a strict policy, complete, and safe with hostile names."""

import json
import os
import re
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from decimal import Decimal
from hashlib import sha256

import pytest

from rackwise.core.text import escaped
from rackwise.report import html
from report.large_pages import FLEET, document_of, text_of
from report.pages import Page
from report.summaries import HOSTILE, KEYS, hostile, summary

SECTIONS = [
    *("verdict", "first", "quality", "matrix", "top", "days"),
    *("savings", "findings", "blast", "plans", "method"),
]
TRAFFIC_CHARTS = {
    "chart-topic",
    "chart-group",
    "chart-owner",
    "chart-pair",
    "chart-kind",
    "chart-day",
    "chart-history",
    "chart-steps",
}
ADDRESSES = ("href", "src", "action", "srcset", "data", "poster", "formaction", "background")
MB = 10**6


def _lists(value):
    """The lists of objects in a document."""
    inside = value.values() if isinstance(value, dict) else value
    for each in inside if isinstance(value, dict | list) else ():
        if isinstance(each, list) and each and isinstance(each[0], dict):
            yield each
        elif isinstance(each, dict):
            yield from _lists(each)


def page_of(document):
    return Page(html.render(document))


@pytest.fixture(scope="module")
def document():
    return document_of("a week")


@pytest.fixture(scope="module")
def page():
    return Page(text_of("a week"))


def figures(page):
    return json.JSONDecoder().decode(page.by_id("figures").text)


def attribute(page, name, key):
    return page.by_id(name).attributes[f"data-{key}"]


def unpacked(page):
    return zlib.decompress(b64decode(page.by_id("plotly").text)).decode()


def hash_of(text):
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


class TestOffline:
    def test_addresses_are_sections_and_files_beside_the_report(self, page):
        found = {
            value
            for element in page.elements
            for name, value in element.attributes.items()
            if name in ADDRESSES
        }
        assert {value for value in found if not value.startswith("#")} <= {
            *("csv/by_topic.csv", "csv/by_group.csv", "csv/by_owner.csv", "csv/by_pair.csv"),
            *("csv/findings.csv", "csv/plans.csv", "csv/savings.csv", "csv/reconciliation.csv"),
            *("plans/0001-00000000.json", "summary.json"),
        }

    def test_every_csv_file_and_every_plan_has_a_link(self, page, document):
        found = {a.attributes["href"] for a in page.all("a")}
        assert found >= set(document["csv"])
        assert found >= {row["file"] for row in document["plans"]["rows"]}

    @pytest.mark.parametrize(
        "name",
        ["javascript:alert(1)", "//example.com/x", "csv/../../x", "plans/a b.json", "/csv/x.csv"],
    )
    def test_another_name_is_no_link(self, name):
        document = summary()
        document["csv"] = [name]
        document["plans"]["rows"][0]["file"] = name
        page = page_of(document)
        assert name not in {a.attributes["href"] for a in page.all("a")}
        assert name in page.by_id("method").text
        assert name in page.by_id("table-plans").text

    def test_no_element_loads_anything(self, page):
        tags = {element.tag for element in page.elements}
        assert not tags & {"link", "img", "iframe", "object", "embed", "base", "form", "video"}

    def test_links_lead_to_sections(self, page):
        targets = [a.attributes["href"] for a in page.all("a")]
        assert [name[1:] for name in targets if name[0] == "#"] == ["first", *SECTIONS[3:]]

    def test_plotly_is_inlined_once(self, page):
        assert "plotly.js v" in unpacked(page)
        assert sum(len(script.text) > MB for script in page.all("script")) == 1

    def test_the_licence_of_plotly_can_be_read(self, document):
        text = html.render(document)
        assert "plotly.js\nCopyright (c) Plotly, Inc." in text
        assert "Permission is hereby granted, free of charge" in text
        assert text.index("Permission is hereby") < text.index('<script id="plotly"')


@pytest.fixture(scope="module")
def policy(page):
    (meta,) = [m for m in page.all("meta") if m.attributes.get("http-equiv")]
    assert meta.attributes["http-equiv"] == "Content-Security-Policy"
    rules = [rule.split() for rule in meta.attributes["content"].split(";")]
    return {rule[0]: rule[1:] for rule in rules}


class TestPolicy:
    def test_only_listed_sources_are_allowed(self, policy):
        assert policy["default-src"] == ["'none'"]
        assert policy["img-src"] == ["data:"]
        assert set(policy) == {
            "default-src",
            "style-src",
            "script-src",
            "img-src",
            "base-uri",
            "form-action",
        }

    def test_the_policy_has_the_hash_of_each_script(self, page, policy):
        (own,) = [s for s in page.all("script") if "type" not in s.attributes]
        assert policy["script-src"] == [hash_of(unpacked(page)), hash_of(own.text)]

    def test_the_policy_has_the_hash_of_the_stylesheet(self, page, policy):
        assert policy["style-src"] == [hash_of(style.text) for style in page.all("style")]

    def test_no_inline_handler_and_no_inline_style(self, page):
        names = {name for element in page.elements for name in element.attributes}
        assert not [name for name in names if name.startswith("on") or name == "style"]

    def test_plotly_finds_the_elements_for_its_styles(self, page):
        (style,) = page.all("style")
        assert style.attributes["id"] == "plotly.js-style-global"
        name = page.by_id("plotly").attributes["data-id"]
        assert f'getElementById("{name}")' in unpacked(page)


class TestStructure:
    def test_sections_are_in_order(self, page):
        assert [s.attributes["id"] for s in page.all("section")] == SECTIONS

    def test_every_element_is_closed(self, page):
        assert page.unmatched == []

    def test_ids_are_unique(self, page):
        ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids))

    def test_the_verdict_is_the_title_and_the_headline(self, page):
        sentence = (
            "Cross-rack traffic costs between $328.49 and $330.71 per 30 days. Between $66.00 and "
            "$85.20 can be saved; $0.17 of it is not attributed (the client group is not known). "
            "153 of 600 partitions are not rack-safe; repair moves 153 replicas "
            "($0.80 once, +$12.30 per 30 days)"
        )
        assert page.all("h1")[0].text == sentence
        assert page.all("title")[0].text == f"Rackwise: {sentence}"

    def test_the_method_explains_what_cannot_be_saved(self, page):
        assert (
            "With RF 3 in 3 racks, replication always crosses racks for 2 x ingress; "
            "only client traffic can be saved" in page.by_id("method").text
        )

    def test_the_method_lists_prices_outcomes_and_the_run(self, page, document):
        method = page.by_id("method").text
        for price in document["method"]["prices"]:
            assert price["valid_from"] in method
            assert price["source"] in method
        assert "unchecked price" in method
        for outcome in document["method"]["outcomes"]:
            assert outcome["reason"] in method
            assert f"{outcome['rows']:,}" in method
        assert page.by_id("run-id").text == document["run_id"]
        for version in document["method"]["versions"].values():
            assert version in method

    def test_rows_that_nobody_counted_are_not_zero(self, document):
        method = document["method"] | {"rows_in": None, "bytes_in": None}
        shown = page_of(document | {"method": method}).by_id("rows-in")
        assert shown.text == "not known"
        assert not {"data-rows", "data-bytes"} & set(shown.attributes)

    def test_known_undercount_is_in_the_banner(self, page):
        assert "12 rows" in page.by_id("quality").text
        assert "SKIPDATA" in page.by_id("quality").text

    def test_a_table_shows_50_rows_and_says_where_the_others_are(self, page, document):
        assert "239 more rows in csv/findings.csv" in page.by_id("findings").text
        assert len(document["findings"]["worst"]) == 50

    def test_every_table_that_shows_50_of_its_rows_packs_the_others(self):
        document = summary(topics=3)
        for rows in _lists(document):
            rows.extend(rows * (60 // len(rows)))
        text = html.render(document)
        page = Page(text)
        content = zlib.decompress(b64decode(page.by_id("packed").text)).decode()
        packed = json.JSONDecoder().decode(content)["rows"]
        shown = [
            element.attributes["id"]
            for element in page.all("table")
            if element.attributes.get("class") == "data"
            and int(element.attributes["data-all"]) > 50
        ]
        assert len(shown) >= 20
        assert set(packed) == set(shown)
        assert packed["table-topic"].count("<tr>") == len(document["by_topic"]) - 50

    def test_fewer_than_50_rows_have_no_note(self, page):
        assert "more row" not in page.by_id("top").text

    def test_rounded_values_have_their_exact_value_as_tooltip(self, page, document):
        row = document["by_topic"][0]
        titles = {e.attributes.get("title") for e in page.elements}
        assert f"{row['usd']} USD" in titles
        assert f"{row['bytes_cross']} bytes" in titles

    def test_the_same_summary_gives_the_same_bytes(self, document):
        again = json.JSONDecoder().decode(json.dumps(document))
        assert html.render(again) == text_of("a week")


class TestSums:
    @pytest.mark.parametrize("key", ["bytes_total", "bytes_local", "bytes_cross", "bytes_unknown"])
    def test_bytes_of_the_verdict(self, page, document, key):
        shown = attribute(page, "verdict", key.replace("_", "-"))
        assert int(shown) == document["verdict"][key]

    @pytest.mark.parametrize("key", ["usd", "usd_30d"])
    def test_dollars_of_the_verdict(self, page, document, key):
        assert attribute(page, "verdict", key.replace("_", "-")) == document["verdict"][key]

    @pytest.mark.parametrize("key", ["partitions", "partitions_unsafe", "findings"])
    def test_counts_of_the_verdict(self, page, document, key):
        shown = attribute(page, "verdict", key.replace("_", "-"))
        assert int(shown) == document["verdict"][key]

    @pytest.mark.parametrize("noun", ["topic", "group", "pair", "kind", "day"])
    def test_each_roll_up_sums_to_the_verdict(self, page, document, noun):
        for key in ("bytes_cross", "bytes_local", "bytes_unknown"):
            shown = attribute(page, f"table-{noun}", key.replace("_", "-"))
            assert int(shown) == document["verdict"][key]
        assert attribute(page, f"table-{noun}", "usd") == document["verdict"]["usd"]

    def test_the_matrix_sums_to_the_verdict(self, page, document):
        assert int(attribute(page, "heat-1", "bytes")) == document["verdict"]["bytes_total"]
        assert int(attribute(page, "heat-1", "bytes-cross")) == document["verdict"]["bytes_cross"]
        assert attribute(page, "heat-1", "usd") == document["verdict"]["usd"]

    def test_kinds_are_summed_over_the_clusters_of_a_fleet(self):
        document = summary(clusters=3, **FLEET)
        page = page_of(document)
        assert page.by_id("table-kind").text.count("replicate") == 1
        assert attribute(page, "table-kind", "usd") == document["verdict"]["usd"]

    def test_clusters_of_a_fleet_have_their_cost_and_their_repair(self):
        document = summary(clusters=3, **FLEET)
        document["clusters"][1]["usd"] = "9999.000000000"
        page = page_of(document)
        text = page.by_id("table-clusters").text
        assert text.index("cluster-001") < text.index("cluster-000")
        assert attribute(page, "table-clusters", "partitions-unsafe") == str(3 * 153)
        assert "$9,999.00" in text
        assert "152" in text
        bars = figures(page)["chart-clusters"]["data"]
        assert bars[0]["x"][0] == 9999
        assert bars[1]["text"][0] == "cluster-001"


class TestCharts:
    def test_each_figure_has_an_element_a_title_a_description_and_a_table(self, page):
        drawn = figures(page)
        assert set(drawn) == TRAFFIC_CHARTS | {"chart-rules", "chart-blast"}
        captions = [f.text.strip() for f in page.all("figcaption")]
        assert all(captions)
        assert len(captions) == len(drawn)
        for name in drawn:
            place = page.by_id(name)
            assert place.attributes["role"] == "img"
            assert place.attributes["aria-label"]
            assert page.by_id(name.replace("chart-", "table-"))

    def test_each_numeric_axis_has_its_unit(self, page):
        titles = {
            name: [
                figure["layout"][axis]["title"]["text"]
                for axis in ("xaxis", "yaxis")
                if "title" in figure["layout"][axis]
            ]
            for name, figure in figures(page).items()
        }
        assert titles["chart-day"] == ["day of 2026 (UTC)", "USD per day"]
        assert titles["chart-topic"] == ["USD over 7 days observed, at least"]
        assert titles["chart-rules"] == ["findings (count)"]
        assert titles["chart-blast"] == ["partitions (count)"]

    def test_one_day_has_a_table_and_no_chart(self):
        page = page_of(summary(days=1))
        assert "chart-day" not in figures(page)
        assert "2026-11-01" in page.by_id("table-day").text

    def test_charts_show_bytes_if_nothing_is_priced(self):
        page = page_of(unpriced(summary(days=2)))
        axis = figures(page)["chart-topic"]["layout"]["xaxis"]["title"]["text"]
        assert axis == "crossing bytes, GiB, over 2 days observed"
        assert figures(page)["chart-day"]["layout"]["yaxis"]["title"]["text"] == (
            "crossing bytes, GiB per day"
        )


def unpriced(document):
    parts = [document["verdict"], document["unattributed"], document["savings"]["total"]]
    parts += document["savings"]["steps"] + document["savings"]["rows"]
    for name, rows in document.items():
        if name.startswith("by_") or name == "matrix":
            parts += rows
    for part in parts:
        part.update({key: None for key in part if key.startswith("usd")})
    return document


class TestActions:
    """Do this first: up to five actions, each with its reason, its money and its commands."""

    def test_each_has_its_reason_its_money_and_its_lines(self, page, document):
        section = page.by_id("first")
        assert attribute(page, "first", "actions") == "3"
        for one in document["actions"]:
            assert one["title"] in section.text
            for step in one["steps"]:
                assert step["line"] in section.text
        assert "is lost; costs $0.80 once, +$12.30 per 30 days." in section.text
        assert "saves between $5.00 and $7.50 per 30 days." in section.text
        assert "The monthly change of a repair is not known." in section.text

    @pytest.mark.parametrize(
        ("low", "high", "said"),
        [
            ("5.000000000", "5.000000000", "saves $5.00 per 30 days"),
            (None, "5.000000000", "saves at most $5.00 per 30 days"),
            ("5.000000000", None, "saves at least $5.00 per 30 days"),
            (None, None, ""),
        ],
    )
    def test_what_is_not_known_of_a_saving_is_no_zero(self, low, high, said):
        document = summary()
        document["actions"] = document["actions"][1:2]
        document["actions"][0] |= {"saves_low_usd": low, "saves_high_usd": high}
        text = page_of(document).by_id("first").text
        assert said in text
        assert text.count("$") == said.count("$")

    def test_a_repair_of_unknown_price_says_so(self):
        document = summary()
        document["actions"] = document["actions"][:1]
        document["actions"][0] |= {"usd_once": None}
        assert "a price not known once, +$12.30 per" in page_of(document).by_id("first").text
        document["actions"][0] |= {"usd_once": "0.100000000", "usd_monthly": None}
        assert "$0.10 once, change per 30 days not known" in page_of(document).by_id("first").text
        document["actions"][0] |= {"usd_once": None}
        assert "costs" not in page_of(document).by_id("first").text

    def test_without_actions_there_is_no_section(self, document):
        page = page_of(document | {"actions": []})
        assert "Do this first" not in page.by_id("verdict").text
        assert "first" not in [s.attributes["id"] for s in page.all("section")]


class TestPlans:
    def test_one_plan_has_its_proof_its_cost_and_its_commands(self, page, document):
        section = page.by_id("plans")
        assert (
            "Repair moves 153 replicas (42.0 GiB, $0.80 once, +$12.30 per 30 days); proved"
            in section.text
        )
        assert "+$12.30" in page.by_id("table-plans").text
        assert "The change of reads in 30 days is not known for 1 plan. demo: consumers" in (
            section.text
        )
        assert "The change of replication" not in section.text
        assert attribute(page, "plans", "moves") == "153"
        assert attribute(page, "table-plans", "moves") == "153"
        file = document["plans"]["rows"][0]["file"]
        assert f"rackwise proof {file} --snapshot SNAPSHOT" in section.text
        assert f"rackwise apply {file} --bootstrap-server HOST:PORT" in section.text
        assert "Clusters without a plan" not in section.text
        assert "Replicas to move, repair153proved: no plan costs less" in page.by_id("verdict").text

    def test_a_fleet_lists_the_largest_plan_first_and_clusters_without_plan(self):
        page = page_of(summary(clusters=75, **FLEET))
        text = page.by_id("plans").text
        assert "no plan for 25 clusters" in text
        shown = page.by_id("table-plans").text
        assert shown.index("cluster-000") < shown.index("cluster-001") < shown.index("cluster-003")
        assert "expected 3 distinct zones, got 2 usable" in page.by_id("table-unplanned").text

    def test_a_gap_and_a_bound_in_the_unit_of_its_plan(self):
        document = summary(clusters=3, **FLEET)
        first, second, _ = document["plans"]["rows"]
        first |= {"verdict": "gap 3", "lower_bound": 150}
        second |= {"minimise": "bytes", "lower_bound": 2 * 2**30}
        document["plans"]["proved"] = 1
        page = page_of(document)
        assert "1 of 2 plans proved; no plan for 1 cluster" in page.by_id("plans").text
        shown = page.by_id("table-plans").text
        assert "gap 3" in shown
        assert "2.00 GiB" in shown
        second |= {"minimise": "usd", "lower_bound": 1_500_000_000}
        assert "$1.50" in page_of(document).by_id("table-plans").text

    def test_no_plan_and_no_plan_requested(self):
        document = summary()
        none = {"planned": 0, "proved": 0, "moves": 0, "bytes": 0, "usd": None}
        (row,) = document["plans"]["rows"]
        document["plans"] |= none
        row |= {"status": "refused", "reason": "expected a cluster at rest", "hint": None}
        page = page_of(document)
        assert "No plan for 1 cluster." in page.by_id("plans").text
        assert "Replicas to move" not in page.by_id("verdict").text
        assert "--no-plans" in page_of(document | {"plans": None}).by_id("plans").text


@pytest.fixture(scope="module")
def without_traffic():
    return page_of(summary(has_traffic=False))


class TestPoorer:
    @pytest.mark.parametrize("section", ["quality", "matrix", "top", "days", "savings"])
    def test_without_traffic_sections_name_the_missing_input(self, without_traffic, section):
        text = without_traffic.by_id(section).text
        assert "second snapshot" in text
        assert "--flows PATH" in text
        assert "--rates FILE" in text

    def test_without_traffic_the_verdict_is_about_placement(self, without_traffic):
        assert without_traffic.all("h1")[0].text == (
            "153 of 600 partitions are not rack-safe; repair moves 153 replicas "
            "($0.80 once, +$12.30 per 30 days)"
        )
        assert not TRAFFIC_CHARTS & set(figures(without_traffic))
        assert "Crossing racks costs" not in without_traffic.by_id("verdict").text

    def test_without_price_the_page_names_the_missing_input(self):
        page = page_of(unpriced(summary()))
        assert "--prices FILE" in page.by_id("quality").text
        assert page.all("h1")[0].text == (
            "315 GiB crossed racks in 1 day, not priced. Between 110 GiB and 142 GiB can be saved; "
            "2.00 GiB of it is not attributed (the client group is not known). 153 of 600 "
            "partitions are not rack-safe; repair moves 153 replicas "
            "($0.80 once, +$12.30 per 30 days)"
        )

    def test_dollars_that_are_not_known_have_their_cause_and_no_zero(self):
        document = summary()
        low = {"bytes_low": None, "usd_low": None, "usd_low_30d": None}
        document["savings"]["total"] |= low | {"reason": KEYS}
        document["verdict"] |= {"usd_high": None, "usd_high_30d": None}
        text = page_of(document).all("h1")[0].text
        assert text.startswith(
            "Cross-rack traffic costs at least $189.00 per 30 days. At most $85.20 can be saved; "
            f"the least that can be saved is not known ({KEYS}); $1.20 of it is not attributed"
        )
        document["verdict"] |= {"usd": None, "usd_30d": None, "usd_high_30d": "7.000000000"}
        document["verdict"]["usd_high"] = "0.200000000"
        document["savings"]["total"] |= {"usd_low_30d": "1.000000000", "usd_high_30d": None}
        text = page_of(document).all("h1")[0].text
        assert text.startswith(
            "Cross-rack traffic costs at most $7.00 per 30 days. At least $1.00 can be saved; the "
            f"most that can be saved is not known ({KEYS}); "
        )

    def test_less_than_an_hour_is_not_stated_per_30_days(self):
        document = summary()
        why = "less than one hour was observed: add --extrapolate"
        document["observed"]["seconds"] = 1800
        document["verdict"] |= {"usd_30d": None, "usd_high_30d": None, "reason_30d": why}
        parts = [document["unattributed"], document["savings"]["total"]]
        parts += document["savings"]["steps"] + document["savings"]["rows"]
        for part in parts:
            part.update({key: None for key in part if key.endswith("_30d")})
        page = page_of(document)
        assert page.all("h1")[0].text.startswith(
            f"Cross-rack traffic cost between $6.30 and $6.34 in 30 minutes observed ({why}). "
            "Between $2.20 and $2.84 can be saved; $0.04 of it is not attributed"
        )
        assert "per 30 days" not in page.by_id("savings").text
        assert figures(page)["chart-steps"]["data"][0]["x"][0] == pytest.approx(6.3, abs=0.1)

    def test_a_safe_cluster(self):
        document = summary()
        document["verdict"] |= {"partitions_unsafe": 0, "findings": 0}
        document["findings"] = {"by_rule": [], "by_topic": [], "worst": [], "not_checked": []}
        document["plans"]["moves"] = 0
        page = page_of(document)
        assert page.all("h1")[0].text.endswith(". All 600 partitions are rack-safe")
        assert "No rule is broken" in page.by_id("findings").text

    def test_without_racks_there_is_no_rack_loss(self):
        document = summary()
        document["blast"] = []
        assert "broker.rack" in page_of(document).by_id("blast").text

    def test_an_only_rack_does_not_count_as_a_loss(self):
        racks = ("/eu/a", "/eu/b", "/eu/c")
        document = summary(racks=racks, levels=("region", "zone"))
        document["blast"][0] |= {"partitions_offline": 600}
        assert document["blast"][0]["rack"] == "/eu"
        page = page_of(document)
        assert "600 partitions offline" not in page.by_id("verdict").text
        assert "/eu" in page.by_id("table-blast").text

    def test_unreadable_snapshots_are_listed(self):
        document = summary()
        document["failed"] = [
            {"snapshot": "old.json", "error": "InvalidSnapshot", "message": "cut", "hint": None}
        ]
        page = page_of(document)
        assert "1 snapshot" in page.by_id("quality").text
        assert "old.json" in page.by_id("table-failed").text


class TestSavings:
    def test_steps_are_in_order_and_add_up(self, page, document):
        drawn = figures(page)["chart-steps"]
        bars = drawn["data"][0]
        today, *steps, left = bars["x"]
        assert len(steps) == 4
        assert today - sum(steps) == pytest.approx(left)
        assert bars["base"] == pytest.approx(
            [0, *(today - sum(steps[: n + 1]) for n in range(4)), 0]
        )
        assert today == pytest.approx(float(document["verdict"]["usd_30d"]))
        total = document["savings"]["total"]
        for key in ("bytes_low", "usd_low", "usd_low_30d"):
            for place in ("savings", "table-steps"):
                assert attribute(page, place, key.replace("_", "-")) == str(total[key])

    def test_requirements_of_a_change_and_why_it_is_not_applied(self, page):
        text = page.by_id("savings").text
        assert "replica.selector.class=org.apache.kafka.common.replica" in text
        assert "partitioner.rack.aware=true" in text
        assert "Not applied: it would cost 0.120000000 USD" in text
        assert "only client traffic can be saved" in text
        assert "are assumed to stay the same" in text

    def test_each_change_alone_each_bound_and_the_stock_assignor(self, page):
        assert "$24.00" in page.by_id("table-steps").text
        assert "$7.20" in page.by_id("table-steps").text
        assert "2.50" in page.by_id("table-bounds").text
        assert "53 more rows in csv/savings.csv" in page.by_id("savings").text

    def test_without_a_price_charts_show_bytes(self):
        document = unpriced(summary())
        page = page_of(document)
        axis = figures(page)["chart-steps"]["layout"]["xaxis"]["title"]["text"]
        assert axis.endswith("B per 1 day observed, at least")
        assert "save between 110 GiB and 142 GiB of 1 day observed" in page.by_id("savings").text

    def test_without_a_change_that_saves(self):
        document = summary()
        document["savings"]["rows"] = []
        document["savings"]["steps"] = []
        page = page_of(document)
        assert figures(page)["chart-steps"]["data"][0]["x"][0] > 0
        assert "Where changes save most" not in page.by_id("savings").text


class TestSize:
    def test_200_clusters_fit_in_3_megabytes(self):
        text = text_of("fleet")
        assert len(document_of("fleet")["clusters"]) == 200
        assert len(text.encode()) <= 3 * MB
        page = Page(text)
        assert "150 more rows in summary.json" in page.by_id("top").text
        assert "394 more tables" in page.by_id("matrix").text

    @pytest.mark.long
    def test_rendering_needs_at_most_200_megabytes(self):
        done = subprocess.run(
            [sys.executable, "-c", PEAK],
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        )
        assert int(done.stdout) * 1024 <= 200 * MB


PEAK = f"""
from pathlib import Path
from rackwise.report import html
from report.summaries import summary
html.render(summary(clusters=200, days=2, **{FLEET}))
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.fixture(scope="module")
def hostile_text():
    return text_of("hostile")


@pytest.fixture(scope="module")
def hostile_page(hostile_text):
    return Page(hostile_text)


class TestHostileNames:
    def test_they_give_the_same_elements_as_harmless_ones(self, hostile_page):
        assert hostile_page.tree == Page(text_of("harmless")).tree

    def test_they_add_no_attribute(self, hostile_page):
        harmless = Page(text_of("harmless"))
        names = {name for element in hostile_page.elements for name in element.attributes}
        assert names == {name for element in harmless.elements for name in element.attributes}

    @pytest.mark.parametrize("index", range(len(HOSTILE)))
    def test_they_are_shown_as_text(self, hostile_page, index):
        name = hostile("topic", index, "xx")
        topics = hostile_page.by_id("table-topic").text
        assert escaped(name.removesuffix(f"xx{index}")) in topics

    def test_no_control_and_no_bidi_character_is_in_the_page(self, hostile_text):
        ours, _, _ = hostile_text.partition("<script id=")
        assert [c for c in ours if not c.isprintable() and c != "\n"] == []

    def test_embedded_data_cannot_end_its_script(self, hostile_page):
        assert not re.search("[<>&\u2028\u2029]", hostile_page.by_id("figures").text)

    def test_labels_have_no_markup_except_line_breaks(self, hostile_page):
        def strings(value):
            if isinstance(value, dict):
                value = list(value.values())
            if isinstance(value, list):
                return [text for item in value for text in strings(item)]
            return [value] if isinstance(value, str) else []

        texts = [text.replace("<br>", "") for text in strings(figures(hostile_page))]
        assert any("&lt;b&gt;" in text for text in texts)
        assert [text for text in texts if "<" in text or ">" in text] == []

    def test_texts_outside_tables_are_hostile_too(self):
        document = summary()
        document["clusters"][0]["name"] = "".join(HOSTILE)
        document["failed"] = [
            {"snapshot": name, "error": name, "message": name, "hint": name} for name in HOSTILE
        ]
        document["method"]["options"] = {name: name for name in HOSTILE}
        document["notes"] = document["csv"] = document["levels"] = list(HOSTILE)
        document["run_id"] = document["version"] = HOSTILE[4]
        document["observed"]["from"] = HOSTILE[8]
        ours, _, _ = html.render(document).partition("<script id=")
        assert [c for c in ours if not c.isprintable() and c != "\n"] == []
        assert {e.tag for e in Page(ours).elements} <= {e.tag for e in page_of(summary()).elements}


def test_dollars_of_the_page_equal_the_sums_of_its_rows(page, document):
    shown = sum(Decimal(row["usd"]) for row in document["by_topic"])
    assert attribute(page, "table-topic", "usd") == f"{shown:.9f}"
