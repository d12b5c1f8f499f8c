"""The summary for a terminal: 24 lines, within the width, complete without colour."""

import re
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.report import html, terminal
from rackwise.report.actions import actions
from rackwise.report.cards import cards
from rackwise.report.formats import columns
from rackwise.report.history import week
from rackwise.report.sections import top
from rackwise.report.sentences import loss, losses
from report.pages import Page
from report.summaries import hostile, saved, summary

CASES = {
    "a day": {},
    "a week": {"topics": 24, "days": 7},
    "two weeks": {"topics": 24, "days": 14, "has_bill": True},
    "no traffic": {"has_traffic": False},
    "no traffic, but a bill": {"has_traffic": False, "has_bill": True},
    "hostile": {"named": hostile, "topics": 12},
    "fleet": {
        "clusters": 3,
        "racks": ("/eu/a", "/eu/b", "/us/a"),
        "levels": ("region", "zone"),
        "topics": 2,
        "has_bill": True,
        "days": 9,
    },
}
DOCUMENTS = {name: summary(**case) for name, case in CASES.items()}
COLOR = re.compile(r"\x1b\[\d+m")


def lines(document, *, width=100, color=False):
    return terminal.render(document, width=width, color=color).split("\n")


@pytest.mark.parametrize("name", CASES)
@given(width=st.integers(1, 220))
def test_it_fits_the_terminal(name, width):
    shown = lines(DOCUMENTS[name], width=width)
    assert len(shown) <= 24
    assert max(map(columns, shown)) <= max(40, width)


@pytest.mark.parametrize("name", CASES)
def test_it_holds_no_control_character(name):
    assert all(line.isprintable() for line in lines(DOCUMENTS[name]))


@pytest.mark.parametrize("name", CASES)
def test_colour_changes_no_text(name):
    painted = terminal.render(DOCUMENTS[name], width=100, color=True)
    assert COLOR.search(painted)
    assert COLOR.sub("", painted) == terminal.render(DOCUMENTS[name], width=100, color=False)


def test_the_verdict_comes_first():
    assert " ".join(lines(DOCUMENTS["a week"])[:3]) == (
        "Cross-rack traffic costs between $328.49 and $330.71 per 30 days. Between $66.00 and "
        "$85.20 can be saved; $0.17 of it is not attributed (the client group is not known). "
        "153 of 600 partitions are not rack-safe; repair moves 153 replicas "
        "($0.80 once, +$12.30 per 30 days)"
    )


def test_the_banner_shows_the_quality_of_the_bytes():
    text = " ".join(" ".join(lines(DOCUMENTS["a week"])).split())
    assert "3.74 TiB of 4.74 TiB cross racks (78.9 %)" in text
    assert (
        "95.0 % measured, 5.0 % apportioned, 0 % estimated, 0.5 % unknown rack, "
        "3 rows quarantined, 12 rows known undercount" in text
    )


def test_the_first_topics_are_shown():
    document = DOCUMENTS["a week"]
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    names = [line.split()[0] for line in shown[start + 1 : start + 4]]
    assert names == [row["topic"] for row in document["by_topic"][:3]]
    assert shown[start + 4].startswith("savings   $66.00 to $85.20 per 30 days: ")
    document = document | {"unattributed": document["unattributed"] | {"bytes": 0}}
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    names = [line.split()[0] for line in shown[start + 1 : start + 6]]
    assert names == [row["topic"] for row in document["by_topic"][:5]]


def test_bytes_without_a_topic_are_one_row_and_no_topic():
    document = deepcopy(DOCUMENTS["a week"])
    for row in document["by_topic"][:-1]:
        row["topic"] = "(unknown)"
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    assert shown[start + 1].split()[0] == document["by_topic"][-1]["topic"]
    assert shown[start + 2].split() == ["not", "attributed", "2.00", "GiB", "$0.04", "-"]
    assert "(unknown)" not in "\n".join(shown)
    document["unattributed"] |= {"usd": None, "usd_high": None}
    assert "not known" in lines(document)[start + 2]


@pytest.mark.parametrize(
    ("high", "text"),
    [
        (None, "at least $1,234.57"),
        ("2345.678000000", "$1,234.57 to $2,345.68"),
        ("1234.567000000", "$1,234.57"),
    ],
)
def test_a_cost_that_is_not_known_exactly_is_no_exact_amount(high, text):
    document = deepcopy(DOCUMENTS["a week"])
    document["by_topic"][0] |= {"usd": "1234.567000000", "usd_high": high}
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    assert f" {text} " in shown[start + 1]
    assert shown[start].index("USD") + 3 == shown[start + 1].index(text) + len(text)
    (chart,) = (each.figure for each in top(document) if each.figure.id == "chart-topic")
    assert chart.data[2]["text"][0].replace("&#36;", "$") == "$1,234.57"  # the axis says the rest
    assert chart.data[0]["hovertext"][0].replace("&#36;", "$").endswith(f"<br>{text}")
    assert chart.layout["xaxis"]["title"]["text"].endswith(", at least")


def test_a_narrow_terminal_shows_the_least_cost_under_a_heading_that_says_so():
    document = deepcopy(DOCUMENTS["a week"])
    document["by_topic"][0] |= {"usd": "1234.567000000", "usd_high": None}
    shown = lines(document, width=40)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    assert shown[start].split() == ["topics", "crossing", "at", "least", "share"]
    assert " $1,234.57 " in shown[start + 1]


def test_the_week_and_the_bill_take_the_place_of_topics():
    document = deepcopy(DOCUMENTS["two weeks"])
    document["history"]["week"] |= {
        "days": 7,
        "from": "2026-11-08",
        "to": "2026-11-14",
        "usd": "63.960000000",
        "usd_before": "60.120000000",
        "usd_change": 0.0639,
        "cross_share": 0.818,
        "cross_share_before": 0.8,
        "reason": None,
    }
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    assert shown[start + 2].startswith("savings ")
    changes = "$63.96 after $60.12 (+6.4 %); 81.8 % of the bytes cross racks after 80.0 %"
    assert week(document).endswith(f" (7 days are compared); {changes}")
    assert f"week      {changes}" in shown
    (bill,) = [line for line in shown if line.startswith("billed ")]
    assert bill == (
        "billed    Kafka explains 62.0 % to 65.0 % of the transfer between zones that AWS billed: "
        "$1.24 of .."
    )
    eight = summary(days=8)
    assert [line for line in lines(eight) if line.startswith("week ")]
    assert not [line for line in lines(DOCUMENTS["a week"]) if line.startswith("week ")]
    reason = eight["history"]["week"]["reason"]
    assert f"week      not known: {reason}" in lines(eight)


def test_empty_lines_are_removed_before_rules():
    document = deepcopy(DOCUMENTS["a week"])
    crowded = lines(document)
    assert crowded.count("") == 1
    assert len(crowded) == 24
    assert not any("more rule" in line for line in crowded)
    document["findings"]["by_rule"] = document["findings"]["by_rule"][:1]
    assert lines(document).count("") == 4


def test_savings_are_shown_if_there_is_a_price():
    document = deepcopy(DOCUMENTS["a week"])
    text = " ".join(" ".join(lines(document)).split())
    assert (
        "savings $66.00 to $85.20 per 30 days: follower-fetch $54.00, assignment $12.00 to $13.20, "
        "producing up to $18.00 (bound 10 %; without bound up to $36.00, fullest rack 2.50 x "
        "even)" in text
    )
    document["savings"]["total"] |= saved(0, 0)
    assert "savings   no change saves anything here" in lines(document)
    assert "No change saves anything; $0.17 of it" in " ".join(lines(document))
    document["verdict"] |= {"usd": None, "usd_high": None}
    assert not [line for line in lines(document) if line.startswith("savings")]


def test_findings_are_listed_by_rule_with_their_severity():
    shown = "\n".join(lines(DOCUMENTS["a week"]))
    for row in DOCUMENTS["a week"]["findings"]["by_rule"]:
        assert re.search(rf"  {row['severity']} +{row['rule']} +{row['count']}  ", shown)


def test_rules_stay_in_the_order_of_their_consequences():
    document = summary()
    wanted = [row["rule"] for row in document["findings"]["by_rule"]]
    words = [word for line in lines(document) for word in line.split()[:2]]
    assert [word for word in words if word in wanted] == wanted
    assert wanted.index("rack-loss-offline") < wanted.index("spread-even")


def test_rules_without_room_are_counted():
    document = summary()
    document["findings"]["by_rule"] *= 4
    assert re.search(r"  \.\. +1\d more rules with \d+ findings", "\n".join(lines(document)))
    assert len(lines(document)) == 24


def test_the_worst_loss_and_the_repair_are_the_last_lines():
    text = " ".join(" ".join(lines(DOCUMENTS["a week"])).split())
    assert text.endswith(
        "blast losing rack use1-az4 takes 24 partitions offline, leaves 102 below min ISR "
        "and moves 186 leaders "
        "plans repair moves 153 replicas (42.0 GiB); proved: no plan costs less "
        "first Repair cluster demo: move 153 replicas (costs $0.80 once, +$12.30 per 30 days)"
    )


@pytest.mark.parametrize(
    ("known", "unknown", "said"),
    [
        (None, 1, "change per 30 days not known"),
        ("-1.500000000", 2, "-$1.50 per 30 days without 2 plans of unknown change"),
    ],
)
def test_an_unknown_monthly_change_is_said_and_is_no_zero(known, unknown, said):
    document = deepcopy(DOCUMENTS["a week"])
    document["plans"]["monthly"] = {
        "usd": None,
        "usd_known": known,
        "unknown": unknown,
        "reason": "demo: why; cure",
    }
    text = " ".join(" ".join(lines(document)).split())
    assert text.count(f"$0.80 once, {said}") == 1
    document["plans"]["usd"] = None
    once = "" if known is None else f" (once: not known, {said})"
    assert f"repair moves 153 replicas{once} demo:" in " ".join(" ".join(lines(document)).split())


def test_clusters_without_a_plan_are_counted():
    text = " ".join(" ".join(lines(summary(clusters=3))).split())
    assert "proved: no plan costs less; no plan for 1 cluster first Repair cluster" in text


def test_without_plans_there_is_no_line():
    assert not any(line.startswith("plans") for line in lines(summary() | {"plans": None}))


def test_without_traffic_it_names_the_missing_input():
    text = " ".join(" ".join(lines(DOCUMENTS["no traffic"])).split())
    assert "Take a second snapshot an hour later" in text
    assert "--flows PATH" in text
    assert "--rates FILE" in text
    assert "Cross-rack traffic" not in text
    assert text.count("$") == 4
    assert text.count("$0.80 once, +$12.30 per 30 days") == 2


def test_without_an_action_there_is_no_line_for_one():
    assert not any(line.startswith("first") for line in lines(summary() | {"actions": []}))


def test_no_findings_and_no_racks_are_shown():
    document = summary()
    document["findings"]["by_rule"] = []
    document["blast"] = []
    text = "\n".join(lines(document))
    assert "none: no rule is broken" in text
    assert "no broker has a rack" in text


def test_columns_are_aligned_with_wide_characters():
    document = summary(named=lambda kind, _, name: f"日本{name}" if kind == "topic" else name)
    shown = lines(document)
    start = next(i for i, line in enumerate(shown) if line.startswith("topics"))
    assert len({columns(line) for line in shown[start : start + 4]}) == 1


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_the_first_screen_of_the_page_says(name):
    document = DOCUMENTS[name]
    text = " ".join(" ".join(lines(document, width=220)).split())
    page = Page(html.render(document))
    assert page.all("h1")[0].text in text
    for card in cards(document):
        for amount in re.findall(r"[$<>]*\d[\d.,]*(?: (?:%|[KMGT]iB))?", card.number):
            assert amount in text, card.label
    first = actions(document)[0]
    assert first.title in page.by_id("first").text
    assert first.money in page.by_id("first").text
    assert f"{first.title} ({first.money})" in text
    (worst,) = [
        loss(row, with_cluster=len(document["clusters"]) > 1) for row in losses(document)[:1]
    ]
    assert worst in text
    assert worst[1:] in page.by_id("blast").text
