"""Plans of `drain` and `set-rf` on real brokers, while a producer writes with acks from all.

Laws: every acknowledged record is there afterwards, those from before the run among them; each
partition has the replicas of the plan, all in sync; configs are those from before.
"""

from __future__ import annotations

from itertools import chain

import pytest

from acked_records import Writing
from hand_made_plans import configs, lists, shown
from kafka_topics import NAME
from kafka_traffic import create, produce, until
from producers import read_values
from rackwise.adapters.files import read_plan
from rackwise.adapters.kafka.applying.metadata import read_replica_logs
from rackwise.core.planning.model import Drain, SetReplication

DRAINED = 3
RACK_OF = {0: "a", 1: "b", 2: "c", 3: "a"}
TWO = [[0, 1], [3, 1], [3, 2], [2, 1], [1, 3], [0, 2]]
THREE = [[0, 1, 2], [3, 1, 2], [2, 3, 1], [1, 2, 0], [1, 2, 3], [0, 2, 1]]
RECORDS, SIZE = 200, 1_000
"""Records of each partition from before the run, and their bytes."""

pytestmark = pytest.mark.kafka


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


def in_sync(admin):
    """Partition -> its replicas in sync, ascending."""
    (found,) = admin.describe_topics([NAME])
    return {each["partition_index"]: sorted(each["isr_nodes"]) for each in found["partitions"]}


def brokers_with_logs(admin):
    """The brokers with a log of the topic on disk."""
    found = read_replica_logs(admin, sorted(RACK_OF), {NAME: [*range(len(TWO))]})
    return {broker for sizes in found.bytes.values() for broker in sizes}


@pytest.mark.parametrize(
    ("before", "words", "goal", "size"),
    [
        pytest.param(THREE, ["drain", str(DRAINED)], Drain((DRAINED,)), 3, id="drain"),
        pytest.param(TWO, ["set-rf", f"{NAME}=3"], SetReplication(((NAME, 3),)), 3, id="rf-up"),
        pytest.param(THREE, ["set-rf", f"{NAME}=2"], SetReplication(((NAME, 2),)), 2, id="rf-down"),
    ],
)
def test_a_goal_is_reached_and_no_record_is_lost(
    admin, cluster, called, state, tmp_path, before, words, goal, size
):
    create(admin, NAME, before, min_insync_replicas="2")
    numbers = range(len(before))
    produce(cluster.bootstrap, {(NAME, number): RECORDS for number in numbers}, size=SIZE)
    were = configs(admin, NAME)
    out = str(tmp_path / "plan.json")
    with Writing(cluster.bootstrap, NAME, len(before)):
        code, _, err = called("plan", *words, "--topics", NAME, "--out", out)
        assert code == 2, err
        made = read_plan(out)
        assert (made.goal, made.verdict.is_proved) == (goal, True)
        code, printed, err = called("apply", out, "--throttle", "500kB")
        moves = len(made.moves)
        assert (code, printed) == (
            0,
            f"{moves} move{'s' * (moves != 1)}: {moves} done, 0 failed, 0 skipped, 0 dropped\n",
        ), err
    wanted = dict(enumerate(before)) | {move.partition: [*move.after] for move in made.moves}
    shown(admin, NAME, wanted)
    until(
        lambda: (
            in_sync(admin) == {number: sorted(row) for number, row in lists(admin, NAME).items()}
        ),
        "all replicas to be in sync",
    )
    assert {len(row) for row in wanted.values()} == {size}
    assert all(len({RACK_OF[each] for each in row}) == size for row in wanted.values())
    if words[0] == "drain":
        assert DRAINED not in chain(*wanted.values())
        until(lambda: brokers_with_logs(admin) == {0, 1, 2}, "the drained broker to be empty")
    (journal,) = state.glob("*/*.journal")
    is_copied = any(move.added for move in made.moves)
    assert ('"throttle_set"' in journal.read_text()) is is_copied
    until(lambda: configs(admin, NAME) == were, "configs as before")
    read = read_values(cluster.bootstrap, NAME, len(before))
    assert {n: sum(len(value) == SIZE for value in read[n]) for n in numbers} == dict.fromkeys(
        numbers, RECORDS
    )
    code, printed, err = called("plan", *words, "--topics", NAME)
    assert code == 0, err
