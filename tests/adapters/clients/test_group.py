"""One member of a group, whichever client it joins with."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from assignments import tps
from rackwise.adapters.clients.group import FRUITLESS, AssignorRule, Participant, ReportedMember
from rackwise.core.assignors import Assignment, Member
from rackwise.core.assignors.watch import RackView
from rackwise.core.wire.consumer import (
    LeaderNote,
    decode_leader_note,
    encode_blob,
    encode_leader_note,
)

VIEW = RackView(brokers={1: "a", 2: "b"}, replicas={"t": [[1], [2]]}, now_ms=0)
NEITHER = ({"m": tps("t-0"), "n": tps("t-1")}, {"m": tps("t-1"), "n": tps("t-0")})


class ToAndFro:
    """An assignor that never settles while it sees racks; it notes whether it did."""

    def __init__(self):
        self.heeded = []

    def __call__(self, members, _racks):
        self.heeded.append(any(member.rack for member in members.values()))
        return Assignment.of(NEITHER[len(self.heeded) % 2 if self.heeded[-1] else 0])


def member(**told):
    """A member that is given nothing, but for what is told."""
    made = {"decide": lambda _members, _racks: Assignment.of({"m": ()}), "clock": lambda: 0.0}
    return Participant(**{**made, **told})


def rounds(rule, count):
    """Which of the rounds of such a group heeded racks."""
    decide = ToAndFro()
    part = Participant(rule=rule, decide=decide, clock=lambda: 0.0, rack="a")
    owned = {"m": (), "n": ()}
    for _ in range(count):
        told = [
            ReportedMember(member_id=member, topics=("t",), owned=has, rack="a")
            for member, has in owned.items()
        ]
        owned = part.answer(told, VIEW).partitions
    return decide.heeded


def test_racks_are_left_out_once_four_rounds_have_moved_something():
    rule = AssignorRule(name="r", travel="owned", mode="cooperative", settles=True)
    assert rounds(rule, 5) == [True] * 4 + [False]


def test_a_rule_that_settles_by_itself_always_heeds_them():
    assert rounds(AssignorRule(name="r", travel="owned", mode="cooperative"), 6) == [True] * 6


def test_partitions_that_cannot_be_are_not_owned():
    part = member(
        rule=AssignorRule(name="r", travel="owned"),
        decide=lambda members, _racks: Assignment.of(
            {member: told.owned for member, told in members.items()}
        ),
    )
    told = ReportedMember(
        member_id="m", topics=("t",), owned=(*tps("t-0"), tps("t-1")[0]._replace(partition=-1))
    )
    assert part.answer([told], VIEW).partitions == {"m": tps("t-0")}


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


CHANGED = "changed racks of replicas lead to no new assignment"
WITHHELD = "what a round withholds may stay unread until the next one"
NO_RACK = "this member sends no rack"


@pytest.mark.parametrize(
    ("mode", "rack", "lost"),
    [
        ("eager", "a", [CHANGED]),
        ("eager", None, [NO_RACK, CHANGED]),
        ("cooperative", "a", [WITHHELD, CHANGED]),
    ],
)
def test_a_member_says_once_what_it_loses_because_it_is_not_attached(caplog, mode, rack, lost):
    part = member(rule=AssignorRule(name="r", mode=mode), rack=rack)
    for _ in range(2):
        part.subscription(["t"])
    cure = "create the consumer with rack_consumer, or call attach before the first poll"
    (told,) = warnings(caplog)
    assert told == f"r is not attached to its consumer: {', '.join(lost)}; {cure}"


@pytest.mark.parametrize("mode", ["eager", "cooperative"])
def test_an_attached_member_says_nothing(caplog, mode):
    part = member(rule=AssignorRule(name="r", mode=mode), rack="a", is_attached=True)
    part.subscription(["t"])
    part.settled((), 1, VIEW)
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("rack", "brokers", "problem", "cure"),
    [
        (None, VIEW.brokers, "has no rack", "set client_rack to the rack of this process"),
        (
            "A",
            VIEW.brokers,
            "is in rack A, and no broker is",
            'racks are compared with their case: write "a"',
        ),
        (
            "z",
            VIEW.brokers,
            "is in rack z, and no broker is",
            "set client_rack to a rack of the brokers: a, b",
        ),
        (
            "a",
            {1: None, 2: None},
            "is in rack a, and no broker has a rack",
            "set broker.rack on the brokers",
        ),
    ],
)
def test_a_consumer_in_an_unknown_rack_says_so_once(caplog, rack, brokers, problem, cure):
    part = member(rule=AssignorRule(name="r"), rack=rack, is_attached=True)
    for generation in (1, 2):
        part.subscription(["t"])
        part.settled((), generation, replace(VIEW, brokers=brokers))
    told = f"r: this consumer {problem}, so it reads from any rack; {cure}"
    assert warnings(caplog) == [told]


def test_a_rack_whose_brokers_are_away_is_not_unknown(caplog):
    part = member(rule=AssignorRule(name="r"), rack="a", is_attached=True)
    part.saw(VIEW.brokers)
    part.settled((), 1, replace(VIEW, brokers={2: "b"}))
    assert warnings(caplog) == []


def test_a_leader_that_is_given_nothing_round_after_round_says_so(caplog):
    part = member(rule=AssignorRule(name="r"))
    told = [ReportedMember(member_id="m", topics=("t",))]
    for answers, warned in ((FRUITLESS, 0), (1, 1), (FRUITLESS - 1, 1), (1, 2)):
        for _ in range(answers):
            part.answer(told, VIEW)
        assert len(warnings(caplog)) == warned
    assert warnings(caplog)[0].startswith("r: 5 rounds in a row")
    part.settled((), 1, None)
    part.answer(told, VIEW)
    assert (part.fruitless, len(warnings(caplog))) == (1, 2)


def test_user_data_that_cannot_be_read_leave_what_the_subscription_says():
    seen = {}
    part = member(
        rule=AssignorRule(name="r", travel="owned"),
        decide=lambda members, _racks: seen.update(members) or Assignment.of({"m": ()}),
    )
    told = ReportedMember(
        member_id="m",
        topics=("t",),
        user_data=b"RW\x01\x00",
        owned=tps("t-0"),
        generation=7,
        rack="a",
        instance_id="i",
    )
    part.answer([told], VIEW)
    assert seen["m"] == Member(
        topics=("t",), rack="a", instance_id="i", owned=tps("t-0"), generation=7
    )
    assert (part.unreadable, part.fallbacks) == (1, 0)


class TestAMemberThatComesBack:
    """A static member joins again without a round, so the leader reads nothing new (KIP-345)."""

    def settled(self, part, note):
        part.subscription(["t"])
        return part.settled(tps("t-0"), 1, VIEW, note)

    def come_back(self, rack, travel="no"):
        return member(
            rule=AssignorRule(name="r", travel=travel), rack=rack, instance_id="i", is_attached=True
        )

    @pytest.mark.parametrize("before", ["a", None])
    def test_in_another_rack_asks_once_with_other_bytes(self, before):
        part = self.come_back("b")
        first = part.subscription(["t"])
        note = encode_leader_note(before, is_leader=False)
        assert [self.settled(part, note) for _ in range(2)] == [True, False]
        assert part.subscription(["t"]) != first

    @pytest.mark.parametrize(
        ("rack", "note"),
        [
            ("a", encode_leader_note("a", is_leader=False)),
            (None, encode_leader_note("a", is_leader=False)),
            ("b", b""),
            ("b", None),
            ("b", b"RA\x01"),
        ],
        ids=["same rack", "no rack now", "another leader", "no user data", "unreadable"],
    )
    def test_asks_for_nothing(self, rack, note):
        part = self.come_back(rack)
        first = part.subscription(["t"])
        assert not self.settled(part, note)
        assert part.subscription(["t"]) == first
        assert part.unreadable == (note == b"RA\x01")

    @pytest.mark.parametrize("is_leader", [True, False])
    def test_watches_if_it_is_the_leader_from_the_first_whole_view_on(self, is_leader):
        part = self.come_back("a")
        part.subscription(["t"])
        note = encode_leader_note("a", is_leader=is_leader)
        early, moved = replace(VIEW, replicas={}), replace(VIEW, replicas={"t": [[1], [1]]})
        assert not part.settled(tps("t-0"), 1, early, note)
        assert part.is_watching == is_leader
        assert [part.observe(view) for view in (VIEW, VIEW, moved)] == [False, False, is_leader]

    def test_only_members_of_ours_receive_a_note_and_the_leader_knows_itself_by_its_instance(self):
        part = member(
            rule=AssignorRule(name="r"),
            decide=lambda members, _racks: Assignment.of(dict.fromkeys(members, ())),
            instance_id="i",
        )
        told = [
            ReportedMember(member_id="m", topics=("t",), user_data=encode_blob("a", "i", -1, ())),
            ReportedMember(member_id="n", topics=("t",), user_data=encode_blob("b", "j", -1, ())),
            ReportedMember(member_id="o", topics=("t",), rack="c"),
        ]
        part.answer(told, VIEW)
        notes = {each: decode_leader_note(part.note_for(each)) for each in "mno"}
        assert notes == {
            "m": LeaderNote(rack="a", is_leader=True),
            "n": LeaderNote(rack="b", is_leader=False),
            "o": None,
        }

    def test_a_leader_without_an_instance_is_no_leader_of_members_without_one(self):
        part = member(rule=AssignorRule(name="r"))
        told = ReportedMember(
            member_id="m", topics=("t",), user_data=encode_blob("a", None, -1, ())
        )
        part.answer([told], VIEW)
        assert decode_leader_note(part.note_for("m")) == LeaderNote(rack="a", is_leader=False)


@pytest.mark.parametrize(
    ("plug_in", "client", "others"),
    [
        ("kafka_python.group", "kafka", ("aiokafka", "confluent_kafka")),
        ("aiokafka.group", "aiokafka", ("kafka", "confluent_kafka")),
    ],
)
def test_a_plug_in_needs_its_own_client_and_no_other(plug_in, client, others):
    module = f"rackwise.adapters.clients.{plug_in}"
    blocked = "import sys; sys.modules.update(dict.fromkeys({}))"
    alone = [f"{blocked.format(others)}; import {module}; print('whole')"]
    alone += [
        f"{blocked.format((client,))}\ntry: import {module}\nexcept ImportError as e: print(e)"
    ]
    for script, told in zip(alone, ("whole", "is not installed"), strict=True):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            capture_output=True,
            text=True,
            check=True,
        )
        assert told in done.stdout


@pytest.mark.parametrize(
    ("door", "client", "names", "library", "extra"),
    [
        ("kafka_python", "kafka", ["RackOptimal", "RackAwareProducer"], "kafka-python", "kafka"),
        ("aiokafka", "aiokafka", ["RackOptimal", "RackAwareProducer"], "aiokafka", "aiokafka"),
        (
            "confluent",
            "confluent_kafka",
            ["RackAwareProducer"],
            "confluent-kafka",
            "confluent",
        ),
    ],
)
def test_a_front_door_without_its_client_says_how_to_install_it(
    door, client, names, library, extra
):
    script = f"""import sys
sys.modules[{client!r}] = None
import rackwise.{door} as door
from rackwise.core.errors import MissingClientError
for name in {names!r}:
    assert name in dir(door)
    try:
        getattr(door, name)
    except MissingClientError as error:
        print(error, error.hint)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    told = f"{library} is not installed pip install 'rackwise[{extra}]'"
    assert done.stdout.splitlines() == [told] * len(names)
