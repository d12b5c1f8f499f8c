"""Throttles: their values for a move, merged lists, and restoring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.applying.model import Entry, ThrottleKey
from rackwise.core.applying.throttle_configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ThrottleRestore,
    bytes_per_s,
    merge_lists,
    merge_value,
    restore,
    throttle_values,
    throttled_move,
    throttled_replicas,
    update_entry,
)
from vectors import planner_vectors

VECTORS = planner_vectors()
RATE = ThrottleKey("broker", "4", FOLLOWER_RATE)
LIST = ThrottleKey("topic", "t", LEADER_REPLICAS)


def _partition(name: str) -> tuple[str, int]:
    topic, number = name.rsplit("-", 1)
    return topic, int(number)


def _throttled_moves():
    for row in VECTORS["moving"]["moves"]:
        kept = [each for each in row["replicas"] if each not in row["removing"]]
        target = kept if row["target"] is None else row["target"]
        yield (
            row,
            throttled_move(_partition(row["partition"]), row["replicas"], row["adding"], target),
        )


class TestProposedMoveMap:
    """`ReassignPartitionsCommand.calculateProposedMoveMap` and what follows from it."""

    def test_sources_hold_the_data_and_destinations_do_not(self):
        for row, flow in _throttled_moves():
            assert (list(flow.sources), list(flow.destinations)) == (
                row["sources"],
                row["destinations"],
            ), row["partition"]

    def test_lists_are_sorted_as_text(self):
        leaders, followers = throttled_replicas(flow for _, flow in _throttled_moves())
        assert leaders == VECTORS["moving"]["leader_throttled_replicas"]
        assert followers == VECTORS["moving"]["follower_throttled_replicas"]

    def test_brokers_of_both_ends_get_a_rate(self):
        wanted = throttle_values((flow for _, flow in _throttled_moves()), 5)
        brokers = {int(key.name) for key in wanted if key.kind == "broker"}
        assert sorted(brokers) == VECTORS["moving"]["throttled_brokers"]

    def test_ten_comes_before_two(self):
        leaders, _ = throttled_replicas(
            [throttled_move(("t", 2), (1,), (), (3,)), throttled_move(("t", 10), (1,), (), (3,))]
        )
        assert leaders == {"t": "10:1,2:1"}


def test_rates_are_set_for_brokers_that_copy_bytes():
    flows = [
        throttled_move(("t", 0), (1, 2), (), (1, 3)),
        throttled_move(("u", 0), (4, 5), (), (5, 4)),
    ]
    assert throttle_values(flows, 9) == {
        ThrottleKey("broker", "1", LEADER_RATE): "9",
        ThrottleKey("broker", "2", LEADER_RATE): "9",
        ThrottleKey("broker", "3", FOLLOWER_RATE): "9",
        ThrottleKey("topic", "t", LEADER_REPLICAS): "0:1,0:2",
        ThrottleKey("topic", "t", FOLLOWER_REPLICAS): "0:3",
    }


class TestMerging:
    @pytest.mark.parametrize(
        ("now", "expected"),
        [
            (None, "0:1,0:4"),
            ("", "0:1,0:4"),
            ("7:9", "0:1,0:4,7:9"),
            ("*", "*"),
            ("0:4, 10:1", "0:1,0:4,10:1"),
        ],
    )
    def test_lists_are_merged_and_a_star_stays(self, now, expected):
        assert merge_lists(now, "0:1,0:4") == expected
        assert merge_value(LIST, "0:1,0:4", now, None, "keep") == expected

    @pytest.mark.parametrize(
        ("now", "over", "expected"),
        [
            (None, "keep", "100"),
            ("50", "keep", "50"),
            ("50", "max", "100"),
            ("500", "max", "500"),
            ("nonsense", "max", "100"),
            ("500", "ours", "100"),
        ],
    )
    def test_an_operators_rate_is_kept_by_default(self, now, over, expected):
        assert merge_value(RATE, "100", now, None, over) == expected

    def test_our_own_rate_is_replaced(self):
        entry = Entry(prior=None, ours=("70", "80"))
        assert merge_value(RATE, "100", "70", entry, "keep") == "100"
        assert merge_value(RATE, "100", "71", entry, "keep") == "71"

    @pytest.mark.parametrize(
        ("text", "expected"), [("12", 12), (" 12 ", 12), (None, -1), ("-4", -1), ("x", -1)]
    )
    def test_rates_are_read_as_kafka_reads_them(self, text, expected):
        assert bytes_per_s(text) == expected


class TestEntries:
    def test_the_first_entry_keeps_the_prior_value(self):
        assert update_entry(LIST, None, "7:9", "0:1,7:9") == Entry(prior="7:9", ours=("0:1,7:9",))

    @pytest.mark.parametrize("now", ["0:1,7:9", "7:9"])
    def test_later_entries_keep_the_first_prior_value(self, now):
        entry = Entry(prior="7:9", ours=("0:1,7:9",))
        assert update_entry(LIST, entry, now, "0:1,2:2,7:9") == Entry(
            prior="7:9", ours=("0:1,7:9", "0:1,2:2,7:9")
        )

    def test_a_value_of_others_is_the_new_prior_value_without_our_part(self):
        entry = Entry(prior="7:9", ours=("0:1,7:9",))
        assert update_entry(LIST, entry, "0:1,7:9,8:8", "0:1,2:2,7:9,8:8").prior == "7:9,8:8"
        rate = Entry(prior=None, ours=("70",))
        assert update_entry(RATE, rate, "71", "100").prior == "71"

    def test_a_value_cleared_by_others_stays_cleared(self):
        assert update_entry(LIST, Entry(prior="7:9", ours=("0:1,7:9",)), None, "0:1").prior is None

    def test_a_value_that_is_set_again_is_the_last(self):
        entry = Entry(prior=None, ours=("5", "6"))
        assert update_entry(RATE, entry, "6", "5").ours == ("6", "5")


class TestRestoring:
    @pytest.mark.parametrize(
        "row",
        VECTORS["throttle_restore"],
        ids=[f"{row['prior']}-{row['now']}" for row in VECTORS["throttle_restore"]],
    )
    def test_the_vectors(self, row):
        entry = Entry(prior=row["prior"], ours=(row["ours"],))
        result = restore(LIST, entry, row["now"])
        assert (result.act, result.value) == (row["action"], row.get("value"))

    @pytest.mark.parametrize(
        ("key", "entry", "now", "expected"),
        [
            (RATE, Entry(prior=None, ours=("5",)), "5", ThrottleRestore(act="delete")),
            (RATE, Entry(prior="9", ours=("5", "6")), "5", ThrottleRestore(act="set", value="9")),
            (RATE, Entry(prior="9", ours=("5",)), "9", ThrottleRestore(act="none")),
            (
                RATE,
                Entry(prior="9", ours=("5",)),
                "7",
                ThrottleRestore(act="none", is_changed=True),
            ),
            (
                LIST,
                Entry(prior=None, ours=("0:1",)),
                "8:2",
                ThrottleRestore(act="none", is_changed=True),
            ),
            (
                LIST,
                Entry(prior=None, ours=("0:1",)),
                "*",
                ThrottleRestore(act="none", is_changed=True),
            ),
            (
                LIST,
                Entry(prior=None, ours=("0:1,0:2",)),
                "0:1",
                ThrottleRestore(act="delete", is_changed=True),
            ),
            (
                LIST,
                Entry(prior="", ours=("0:1,0:2",)),
                "0:1",
                ThrottleRestore(act="set", value="", is_changed=True),
            ),
            (
                LIST,
                Entry(prior="7:9", ours=("0:1,7:9", "0:1,0:2,7:9")),
                "0:1,0:2,9:9",
                ThrottleRestore(act="set", value="9:9", is_changed=True),
            ),
        ],
    )
    def test_only_our_own_part_is_removed(self, key, entry, now, expected):
        assert restore(key, entry, now) == expected

    entries = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=5).map(
        lambda pairs: ",".join(sorted(f"{a}:{b}" for a, b in pairs))
    )

    @given(prior=st.none() | entries | st.just("*"), ours=entries)
    def test_setting_and_restoring_gives_the_prior_value(self, prior, ours):
        value = merge_lists(prior, ours)
        result = restore(LIST, update_entry(LIST, None, prior, value), value)
        after = {"none": value, "set": result.value, "delete": None}[result.act]
        assert after == prior
