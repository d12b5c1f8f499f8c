"""One member of a group, whichever client it joins with."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assignments import tps
from rackwise.adapters.clients.group import Participant, Rule, Told
from rackwise.core.assignors import Assignment
from rackwise.core.assignors.watch import RackView

VIEW = RackView(brokers={1: "a", 2: "b"}, replicas={"t": [[1], [2]]}, now_ms=0)
NEITHER = ({"m": tps("t-0"), "n": tps("t-1")}, {"m": tps("t-1"), "n": tps("t-0")})


class ToAndFro:
    """An assignor that never settles while it sees racks; it notes whether it did."""

    def __init__(self):
        self.heeded = []

    def __call__(self, members, _racks):
        self.heeded.append(any(member.rack for member in members.values()))
        return Assignment.of(NEITHER[len(self.heeded) % 2 if self.heeded[-1] else 0])


def rounds(rule, count):
    """Which of the rounds of such a group heeded racks."""
    decide = ToAndFro()
    part = Participant(rule=rule, decide=decide, clock=lambda: 0.0, rack="a")
    owned = {"m": (), "n": ()}
    for _ in range(count):
        told = [
            Told(member_id=member, topics=("t",), owned=has, rack="a")
            for member, has in owned.items()
        ]
        owned = part.answer(told, VIEW).partitions
    return decide.heeded


def test_racks_are_left_out_once_four_rounds_have_moved_something():
    rule = Rule(name="r", travel="owned", mode="cooperative", settles=True)
    assert rounds(rule, 5) == [True] * 4 + [False]


def test_a_rule_that_settles_by_itself_always_heeds_them():
    assert rounds(Rule(name="r", travel="owned", mode="cooperative"), 6) == [True] * 6


def test_partitions_that_cannot_be_are_not_owned():
    part = Participant(
        rule=Rule(name="r", travel="owned"),
        decide=lambda members, _racks: Assignment.of(
            {member: told.owned for member, told in members.items()}
        ),
        clock=lambda: 0.0,
    )
    told = Told(
        member_id="m", topics=("t",), owned=(*tps("t-0"), tps("t-1")[0]._replace(partition=-1))
    )
    assert part.answer([told], VIEW).partitions == {"m": tps("t-0")}


@pytest.mark.parametrize(
    ("plug_in", "client", "others"),
    [
        ("kafka_python_group", "kafka", ("aiokafka", "confluent_kafka")),
        ("aiokafka_group", "aiokafka", ("kafka", "confluent_kafka")),
    ],
)
def test_a_plug_in_needs_its_own_client_and_no_other(plug_in, client, others):
    module = f"rackwise.adapters.clients.{plug_in}"
    blocked = "import sys; sys.modules.update(dict.fromkeys({}))"
    alone = [f"{blocked.format(others)}; import {module}; print('whole')"]
    alone += [
        f"{blocked.format((client,))}\ntry: import {module}\nexcept ImportError as e: print(e)"
    ]
    for script, told in zip(alone, ("whole", "is wanted; it is not installed"), strict=True):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            capture_output=True,
            text=True,
            check=True,
        )
        assert told in done.stdout
