"""Groups of a snapshot as members for assignors, and the fields that groups do not report."""

import pytest

from assignments import tps
from rackwise.core.assignors.described import check_group, describe_group, find_group
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.errors import GroupNotFound, GroupNotStable
from rackwise.core.model import Group, GroupMember
from rackwise.core.racks import Rack


def seen(member_id, **known):
    return GroupMember(member_id=member_id, client_id=known.pop("client_id", "app-1"), **known)


def billing(*members, **known):
    return Group(group="billing", members=members or (seen("m"),), **known)


class TestWhichGroup:
    def test_by_name(self):
        assert find_group([billing(), Group(group="b")], "b") == Group(group="b")

    def test_an_unknown_one(self):
        with pytest.raises(
            GroupNotFound, match="group x is not among the 2 consumer groups"
        ) as raised:
            find_group([billing(), Group(group="b\n")], "x")
        assert raised.value.hint == r"use one of: b\x0a, billing"
        with pytest.raises(GroupNotFound) as raised:
            find_group([], "x")
        assert raised.value.hint == "take the snapshot without --no-groups"

    @pytest.mark.parametrize("group", [Group(group="g"), billing(state="Dead")])
    def test_one_without_members(self, group):
        with pytest.raises(
            GroupNotFound, match=r"invalid group \w+: expected at least 1 member, got none"
        ):
            check_group(group)

    @pytest.mark.parametrize("protocol", ["classic", None])
    def test_a_rebalancing_group_is_rejected(self, protocol):
        with pytest.raises(GroupNotStable) as raised:
            check_group(billing(protocol=protocol, state="PreparingRebalance"))
        assert raised.value.message == (
            "invalid group billing: expected state Stable, got PreparingRebalance"
        )
        assert raised.value.hint == "try again, or give a snapshot"

    @pytest.mark.parametrize(
        "group",
        [
            billing(protocol="classic", state="Stable"),
            billing(protocol="classic"),
            billing(),
            billing(protocol="consumer", state="Reconciling"),
        ],
    )
    def test_a_group_that_is_accepted(self, group):
        check_group(group)


class TestMembers:
    def test_members_have_all_reported_fields(self):
        group = billing(
            seen(
                "m",
                rack=Rack("a"),
                instance_id="i",
                topics=("t", "u"),
                generation=7,
                partitions=(("t", 1), ("t", 0)),
            )
        )
        found = describe_group(group)
        assert found.members == {
            "m": Member(
                topics=("t", "u"),
                rack="a",
                instance_id="i",
                owned=tps("t-1 t-0"),
                generation=7,
            )
        }
        assert found.assignment == Assignment.of({"m": tps("t-0 t-1")})
        assert (found.rackless, found.without_topics) == ((), ())

    def test_racks_come_from_the_mapping_then_the_group_then_the_client_id(self):
        group = billing(
            seen("said", rack=Rack("a")),
            seen("shown", rack=Rack("b")),
            seen("matched", client_id="app-c"),
            seen("unknown", client_id="other"),
        )
        found = describe_group(
            group, racks={"said": "z"}, client_racks=[("app-*", "c"), ("app-c", "d")]
        )
        assert {key: member.rack for key, member in found.members.items()} == {
            "said": "z",
            "shown": "b",
            "matched": "c",
            "unknown": None,
        }
        assert found.rackless == ("unknown",)

    def test_a_member_without_topics_gets_the_topics_of_the_group(self):
        group = billing(
            seen("m", topics=("t",)), seen("n", partitions=(("u", 0),)), seen("o", topics=())
        )
        found = describe_group(group)
        assert {key: member.topics for key, member in found.members.items()} == {
            "m": ("t",),
            "n": ("t", "u"),
            "o": (),
        }
        assert found.without_topics == ("n",)
