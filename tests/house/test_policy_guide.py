"""The recipes of the policy guide run: commands print what is shown, plans keep the policy."""

from __future__ import annotations

from collections import Counter

import pytest

from rackwise.adapters import files
from refusals import called
from shown_commands import ROOT, blocks_of, missing_lines, shown_commands

GUIDE = ROOT / "docs" / "guides" / "policy.md"
SNAPSHOT = ROOT / "examples" / "policy" / "snapshot.json"
RACKS = {1: "/eu/a", 2: "/eu/a", 3: "/eu/b", 4: "/eu/b", 5: "/us/a", 6: "/us/a"}


def only_followers_in_us(lists):
    assert all(RACKS[row[0]] != "/us/a" for name, row in lists.items() if name[0] in "op")


def next_leaders_outside_eu_a(lists):
    assert all(RACKS[broker] != "/eu/a" for row in lists.values() for broker in row[:2])


def two_of_three_in_eu(lists):
    for name, row in lists.items():
        if name.startswith("payments"):
            racks = [RACKS[broker] for broker in row]
            assert len(set(racks)) == 3
            assert sum(rack.startswith("/eu") for rack in racks) == 2


def pinned(lists):
    assert 2 in lists["payments-0"]
    assert 1 in lists["payments-1"]


def topics_even(lists):
    for topic in {name.rpartition("-")[0] for name in lists}:
        rows = [row for name, row in lists.items() if name.rpartition("-")[0] == topic]
        held = Counter(broker for row in rows for broker in row)
        assert max(held.values()) == -(-3 * len(rows) // 6)


def internal_topics_unchanged(lists):
    table = files.read_snapshot(SNAPSHOT).partitions
    for row in range(len(table)):
        if table.name(row).startswith("__"):
            assert lists[table.name(row)] == table.placed.row(row)


def twice_the_load(lists):
    held = Counter(broker for row in lists.values() for broker in row)
    assert held == {1: 8, 2: 4, 3: 8, 4: 4, 5: 8, 6: 4}


CHECKS = {
    "Only followers in a rack": only_followers_in_us,
    "No leaders in a rack, also after a failure": next_leaders_outside_eu_a,
    "Two of three replicas in one region": two_of_three_in_eu,
    "Pin partitions to brokers": pinned,
    "Spread each topic over all brokers": topics_even,
    "Leave internal topics alone": internal_topics_unchanged,
    "Brokers of different sizes": twice_the_load,
}
"""Heading of a recipe -> what the lists after its plan keep."""


def test_every_recipe_has_a_policy_commands_and_a_check():
    assert [heading for heading, _ in blocks_of(GUIDE, "toml")] == list(CHECKS)
    assert {shown.heading for shown in shown_commands(GUIDE)} == {"Write a policy", *CHECKS}


@pytest.mark.parametrize("recipe", ["Write a policy", *CHECKS])
def test_the_commands_of_a_recipe_print_what_is_shown_and_reach_the_policy(
    tmp_path, monkeypatch, recipe
):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    policy = dict(blocks_of(GUIDE, "toml")).get(recipe)
    if policy is not None:
        (tmp_path / "policy.toml").write_text(policy)
    for shown in shown_commands(GUIDE):
        if shown.heading == recipe:
            code, out, err = called(*shown.words)
            assert missing_lines(shown, out) == [], shown.words
            assert code in {0, 2}, err
    if policy is not None:
        CHECKS[recipe](lists_after("plan.json"))
        proof = called("proof", "plan.json", "--snapshot", SNAPSHOT, "--policy", "policy.toml")
        assert proof[0] == 0, proof


def lists_after(plan):
    """`orders-0` -> its brokers after the plan."""
    table = files.read_snapshot(SNAPSHOT).partitions
    lists = {table.name(row): table.placed.row(row) for row in range(len(table))}
    moves = files.read_plan(plan).moves
    return lists | {f"{move.topic}-{move.partition}": move.after for move in moves}
