"""What groups read: the records between two commits."""

import pytest
from hypothesis import given

from metered_clusters import changed_worlds, orders
from rackwise.core.meter import REASONS, Reason, growth, look_pair, reads

PLACE = ("orders", 0)


def read(before, after, added=(), start=None):
    """(records, bytes, reason) of what a group read."""
    world, log = orders(commits={"g": {PLACE: before}})
    first = world.look()
    log.sizes += added
    log.start = log.start if start is None else start
    world.commits["g"][PLACE] = after
    pair = look_pair(first, world.look(minute=1))
    found = reads(pair, growth(pair))
    return found.records[0], found.bytes[0], Reason(found.reason[0])


@pytest.mark.parametrize(
    ("before", "after", "added", "wanted"),
    [
        (10, 12, [7, 8], (2, 15, Reason.EXACT)),
        (10, 10, [7, 8], (0, 0, Reason.EXACT)),
        (0, 10, [300, 300], (10, 3000, Reason.OTHER_RECORDS)),
        (0, 10, [], (10, 1000, Reason.OTHER_RECORDS)),
        (10, 4, [7], (-1, -1, Reason.RESET)),
        (None, 10, [7], (-1, -1, Reason.NO_COMMIT)),
        (10, None, [7], (-1, -1, Reason.NO_COMMIT)),
    ],
)
def test_one_group(before, after, added, wanted):
    assert read(before, after, added) == wanted


def test_records_that_were_gone_before_are_not_read():
    world, log = orders(commits={"g": {PLACE: 2}})
    log.start = 6
    first = world.look()
    world.commits["g"][PLACE] = 10
    pair = look_pair(first, world.look(minute=1))
    assert reads(pair, growth(pair)).records.tolist() == [4]


def test_an_estimate_of_what_was_written_is_one_of_what_was_read():
    assert read(10, 20, [200] * 10, start=10) == (10, 2000, Reason.MEAN)


def test_older_records_of_a_compacted_topic_take_the_mean_of_the_end_of_its_log():
    world, log = orders(commits={"g": {PLACE: 0}}, policies={"orders": "compact"}, reads_tails=True)
    log.kept = {9: 100}
    first = world.look()
    world.commits["g"][PLACE] = 10
    pair = look_pair(first, world.look(minute=1))
    assert reads(pair, growth(pair)).bytes.tolist() == [1000]


def test_a_recreated_topic_is_not_known():
    world, _ = orders(commits={"g": {PLACE: 1}})
    first = world.look()
    world.ids["orders"] = "id-2"
    pair = look_pair(first, world.look(minute=1))
    assert reads(pair, growth(pair)).reason.tolist() == [Reason.RECREATED]


def test_records_without_bytes_are_not_known():
    world, _ = orders(commits={"g": {PLACE: 0}})
    first = world.look()
    world.commits["g"][PLACE] = 10
    second = world.look(minute=1)
    for cluster in (first, second):
        cluster.partitions.bytes[:] = -1
    pair = look_pair(first, second)
    found = reads(pair, growth(pair))
    assert (found.records[0], found.bytes[0]) == (10, -1)
    assert found.reason[0] == Reason.NO_BYTES


def test_commits_without_offsets_are_estimated_or_not_known():
    world, _ = orders(commits={"g": {PLACE: 0}})
    first = world.look()
    world.commits["g"][PLACE] = 10
    second = world.look(minute=1)
    for cluster in (first, second):
        object.__setattr__(cluster.partitions, "offsets", None)
    pair = look_pair(first, second)
    assert reads(pair, growth(pair)).reason.tolist() == [Reason.NO_BYTES]


def test_commits_of_a_topic_that_is_not_in_the_snapshot_are_left_out():
    world, _ = orders(commits={"g": {("secret", 0): 4}})
    pair = look_pair(world.look(), world.look(minute=1))
    assert len(reads(pair, growth(pair)).row) == 0


@given(changed_worlds())
def test_exact_is_exact_and_unknown_has_a_reason(case):
    first, second, _, truth = case
    pair = look_pair(first, second)
    found = reads(pair, growth(pair))
    for number, row in enumerate(found.row.tolist()):
        place = second.partitions[row]
        group = found.groups[found.group[number]]
        reason = REASONS[found.reason[number]]
        assert (found.bytes[number] >= 0) == reason.is_known
        if reason.name == "exact" and truth[group, place.topic, place.partition] is not None:
            start = max(0, first.partitions[int(pair.row[row])].start_offset)
            commit = dict(
                zip(
                    range(9),
                    next(g for g in first.groups if g.group == group).committed[place.topic],
                    strict=False,
                )
            )[place.partition]
            if commit >= start:
                assert found.bytes[number] == truth[group, place.topic, place.partition]
