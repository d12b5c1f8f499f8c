"""A cluster that nobody could check is called neither safe nor unsafe."""

import pytest

from rackwise.report import html, terminal
from rackwise.report.cards import cards
from rackwise.report.clusters import chosen_clusters
from rackwise.report.safety import unchecked_clusters, unsafe, unsafe_text, why_open
from rackwise.report.sections import clusters
from rackwise.report.sentences import plain, verdict
from report.pages import Page
from report.summaries import summary

WHY = "no broker has a rack"


def unchecked(*names, rule="spread-even", reason=WHY):
    return [{"cluster": name, "rule": rule, "reason": reason} for name in names]


def of_one(count, not_checked=()):
    document = summary(has_traffic=False)
    document["clusters"][0]["partitions_unsafe"] = count
    document["verdict"]["partitions_unsafe"] = count
    document["findings"]["not_checked"] = [*not_checked]
    return document | {"plans": None, "actions": []}


def of_fleet(counts, whole, not_checked=()):
    document = summary(has_traffic=False, clusters=3)
    for row, count in zip(document["clusters"], counts, strict=True):
        row["partitions_unsafe"] = count
    document["verdict"]["partitions_unsafe"] = whole
    document["findings"]["not_checked"] = [*not_checked]
    return document | {"plans": None, "actions": []}


def card_of(document):
    (found,) = [each for each in cards(document) if each.label == "Partitions not rack-safe"]
    return found


@pytest.mark.parametrize("count", [None, 0])
def test_one_cluster_that_could_not_be_checked(count):
    document = of_one(count, unchecked("demo"))
    said = f"Whether all 600 partitions are rack-safe is not known: {WHY}"
    assert plain(verdict(document)) == said
    assert said in " ".join(terminal.render(document, width=200, color=False).split())
    page = Page(html.render(document))
    assert page.all("h1")[0].text == said
    card = card_of(document)
    assert (card.number, card.exact, card.tone) == ("not known", WHY, "")
    assert card.below.startswith(f"{WHY}; of 600; ")


def test_what_was_found_is_a_least_count_if_a_rule_could_not_be_checked():
    document = of_one(7, unchecked("demo"))
    assert plain(verdict(document)) == (
        "At least 7 of 600 partitions are not rack-safe; "
        f"whether all others are rack-safe is not known: {WHY}"
    )
    assert (card_of(document).number, card_of(document).tone) == ("at least 7", "bad")


def test_a_cluster_that_was_checked_is_called_safe():
    document = of_one(0, unchecked("demo", rule="leader-balance"))
    assert plain(verdict(document)) == "All 600 partitions are rack-safe"
    assert (card_of(document).number, card_of(document).tone) == ("0", "good")
    ignored = of_one(0, unchecked("demo", reason="ignored by the policy"))
    assert plain(verdict(ignored)) == "All 600 partitions are rack-safe"


def test_one_unsafe_partition_is_singular():
    assert plain(verdict(of_one(1))) == "1 of 600 partitions is not rack-safe"


def test_a_fleet_with_a_cluster_that_could_not_be_checked():
    names = [row["name"] for row in of_fleet((0, 0, 0), 0)["clusters"]]
    document = of_fleet((0, None, 0), None, unchecked(names[1]))
    partitions = document["verdict"]["partitions"]
    assert plain(verdict(document)) == (
        f"Whether all {partitions:,} partitions are rack-safe is not known: {WHY} ({names[1]})"
    )
    assert unchecked_clusters(document) == {names[1]: WHY}
    some = of_fleet((4, None, None), 4, unchecked(names[1], names[2]))
    assert unsafe(some).phrase() == "at least 4"
    assert why_open(some) == f"{WHY} ({names[1]}), and 1 more cluster"


def test_a_cluster_without_an_audit_is_not_known():
    document = of_fleet((0, None, 0), None)
    assert why_open(document).startswith("it was not audited (")


def test_the_table_of_clusters_lists_the_unknown_between_unsafe_and_safe():
    names = [row["name"] for row in of_fleet((0, 0, 0), 0)["clusters"]]
    document = of_fleet((0, None, 2), 2, unchecked(names[1]))
    shown = clusters(document).table
    place = [column.key for column in shown.columns].index("partitions_unsafe")
    assert [row[place].text for row in shown.rows] == ["2", "not known", "0"]


def test_the_facts_of_a_chosen_cluster_say_why():
    names = [row["name"] for row in of_fleet((0, 0, 0), 0)["clusters"]]
    document = of_fleet((0, None, 2), 2, unchecked(names[1]))
    facts = {each.name: dict(each.facts)["Not rack-safe"] for each in chosen_clusters(document)}
    assert facts == {names[0]: "0", names[1]: f"not known: {WHY}", names[2]: "2"}
    assert unsafe_text(2, WHY) == "at least 2"


def test_no_finding_is_not_no_broken_rule():
    document = of_one(None, unchecked("demo"))
    document["findings"]["by_rule"] = []
    text = terminal.render(document, width=200, color=False)
    assert "none: no rule that was checked is broken" in text
    found = Page(html.render(document)).by_id("findings").text
    assert f"No rule that was checked is broken. Not all rules were checked: {WHY}." in found


def test_a_reason_is_escaped():
    document = of_one(None, unchecked("demo", reason="no\x1b[31m rack"))
    assert "\x1b" not in plain(verdict(document))
