"""Share groups (KIP-932) and streams groups (KIP-1071) in the output of `rackwise consumer`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from consumer_snapshots import cluster, document, group, member, said

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "consumers.md"


@pytest.fixture
def call(tmp_path):
    return partial(said, tmp_path)


def shared():
    """Two members have partition 0 of a leader in the first rack; 1 is led in the second rack."""
    return group(
        member("m", "use1-az1", [0, 1]),
        member("n", "use1-az3", [0]),
        name="jobs",
        protocol="share",
        assignor="simple",
    )


def streams():
    return group(
        member("m", "use1-az1", [0]),
        member("n", "use1-az3", [1]),
        name="app",
        protocol="streams",
        assignor=None,
    )


def test_a_share_group_reads_from_leaders_alone(call):
    code, out, err = call("evaluate", cluster([1, 2], shared()))
    assert (code, err) == (0, "")
    assert out in GUIDE.read_text()
    assert out == (
        "jobs  share simple  2 members  2 partitions with 3 readers  local 1 (33 %)  best unknown\n"
        "  rack      members  local  cross  unknown\n"
        "  use1-az1        1      1      1        0\n"
        "  use1-az3        1      0      1        0\n"
        "  a share group reads from leaders alone (KIP-932), "
        "and the broker assigns it without racks\n"
        "  to read locally: a consumer group with follower fetching, "
        "or one share group per rack on topics that are led there\n"
    )


@pytest.mark.parametrize("target", ["follower", "nearest", "leader"])
def test_other_replicas_of_a_share_group_do_not_count(call, target):
    value = cluster([1, 2], shared())
    rows = [replace(row, replicas=(*row.replicas, 3)) for row in value.partitions]
    value = replace(value, partitions=type(value.partitions).of(rows))
    _, out, _ = call("evaluate", value, "--json", "--target", target)
    (told,) = document(out)["groups"]
    assert (told["local"], told["cross"], told["by_broker"]) == (1, 2, [])


def test_a_streams_group(call):
    code, out, err = call("evaluate", cluster([1, 2], streams()))
    assert (code, err) == (0, "")
    assert out == (
        "app  streams  2 members  2 partitions  local 1 (50 %)  best unknown\n"
        "  rack      members  local  cross  unknown\n"
        "  use1-az1        1      1      0        0\n"
        "  use1-az3        1      0      1        0\n"
        "  busiest broker 1: 1 of 2 partitions\n"
        "  the broker assigns the tasks of a streams group without racks (KIP-1071)\n"
        "  to read locally: a replica of each partition in every rack of the members, or "
        "group.protocol=classic with rack.aware.assignment.strategy\n"
    )


class TestSimulate:
    def test_other_groups_are_simulated(self, call):
        plain = group(member("m", "use1-az1", [0]), member("n", "use1-az2", [1]))
        value = cluster([1, 2], streams(), plain, shared())
        code, out, err = call("simulate", value, "--json", "--assignor", "range")
        assert code == 0
        told = document(out)
        assert [each["group"] for each in told["groups"]] == ["billing"]
        assert [each["group"] for each in told["left_out"]] == ["app", "jobs"]
        assert "skipped: invalid group app: expected a consumer group, got a streams group" in err

    def test_a_named_one_is_rejected(self, call):
        plain = group(member("m", "use1-az1", [0]), member("n", "use1-az2", [1]))
        code, out, err = call("simulate", cluster([1, 2], shared(), plain), "--group", "jobs")
        assert (code, out) == (1, "")
        assert err.startswith(
            "error: invalid group jobs: expected a consumer group, got a share group\n"
            "hint: the broker alone assigns it; rackwise consumer evaluate measures what it reads"
        )

    def test_no_other_group_is_left(self, call):
        assert call("simulate", cluster([1, 2], shared()))[0] == 1
