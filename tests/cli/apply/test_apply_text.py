"""The outcome of a run as text: counts that add up, escaped names, the next command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rackwise.cli.apply.meter import progress_text
from rackwise.cli.apply.options import ApplyOptions
from rackwise.cli.apply.run import may_continue
from rackwise.cli.apply.text import ORDER_REJECTED, outcome_text, resume_line, throttle_text
from rackwise.core.applying.model import Outcome, ThrottleKey
from rackwise.core.applying.progress import Eta, Remaining
from rackwise.core.applying.status import Status
from rackwise.core.errors import InvalidConfig

RATE = ThrottleKey("broker", "4", "leader.replication.throttled.rate")


def test_every_move_is_counted_and_those_not_done_are_named():
    outcome = Outcome(
        mode="apply",
        classes={
            ("a", 0): "done",
            ("a", 1): "moving",
            ("b\x1b", 2): "refused",
            ("c", 3): "dropped",
            ("c", 4): "done",
        },
        codes={("b\x1b", 2): "POLICY_VIOLATION"},
        not_elected={("c", 4): "broker 4 is down"},
        throttles_left=(RATE,),
        throttles_changed=(RATE,),
        stop="paused",
        text="broker 4 is down",
        has_written=True,
    )
    assert outcome_text(outcome, {("b\x1b", 2): "no\nway"}).splitlines() == [
        "5 moves: 2 done, 1 failed, 1 skipped, 1 dropped",
        "! a-1  moving",
        r"! b\x1b-2  refused  POLICY_VIOLATION: no\x0away",
        "? c-4  leader not elected: broker 4 is down",
        "throttle-left     broker 4 leader.replication.throttled.rate",
        "throttle-changed  broker 4 leader.replication.throttled.rate",
        "ended early, paused: broker 4 is down",
    ]


def test_of_many_that_were_not_begun_the_first_are_named():
    outcome = Outcome(
        mode="apply",
        classes={("a", number): "not_started" for number in range(23)} | {("b", 0): "moving"},
        codes={},
    )
    lines = outcome_text(outcome, {}).splitlines()
    assert lines[:2] == ["24 moves: 0 done, 0 failed, 24 skipped, 0 dropped", "! a-0  not_started"]
    assert lines[20:] == [
        "! a-19  not_started",
        "! b-0  moving",
        "and 3 more not_started; --json has all",
    ]


def test_a_cancel_tells_what_it_took_back():
    outcome = Outcome(
        mode="cancel",
        classes={
            ("a", 0): "done",
            ("a", 1): "cancelled",
            ("a", 2): "cancelled",
            ("a", 3): "not_started",
            ("a", 4): "moving",
            ("a", 5): "topic_gone",
        },
        codes={("a", 2): "INVALID_REPLICATION_ASSIGNMENT"},
    )
    assert outcome_text(outcome, {}).splitlines() == [
        "6 moves: 2 cancelled, 1 done, 1 failed, 1 still moving, 1 not started",
        f"! a-2  cancelled  INVALID_REPLICATION_ASSIGNMENT: {ORDER_REJECTED}",
        "! a-4  moving",
        "! a-5  topic_gone  the topic was deleted",
    ]


def test_the_line_that_goes_on():
    line = resume_line("resume", Path("p.json"), "a:1,b:2", Path("c.properties"))
    assert line == (
        "rackwise resume p.json --bootstrap-server a:1,b:2 --command-config c.properties"
    )
    assert resume_line("cancel", Path("p"), "a:1", None) == (
        "rackwise cancel p --bootstrap-server a:1"
    )


def test_the_line_that_goes_on_is_quoted():
    """A path with a space became two words."""
    line = resume_line("resume", Path("my dir/p$1.json"), "a:1", Path("c d"))
    assert line == (
        "rackwise resume 'my dir/p$1.json' --bootstrap-server a:1 --command-config 'c d'"
    )


@pytest.mark.parametrize(
    ("class_", "may"),
    [
        ("done", False),
        ("not_started", True),
        ("refused", True),
        ("cancelled_externally", True),
        ("target_dead", True),
        ("diverged", False),
        ("topic_gone", False),
    ],
)
def test_a_command_is_printed_where_another_run_can_do_more(class_, may):
    """Where all that was left was rejected, no command was printed."""
    outcome = Outcome(mode="apply", classes={("a", 0): "done", ("a", 1): class_}, codes={})
    assert may_continue(outcome) is may
    assert may_continue(replace(outcome, stop="interrupted"))


def test_how_far_it_is():
    status = Status(
        classes={("a", 0): "done", ("a", 1): "moving", ("a", 2): "not_started"},
        bytes=3 * 2**30,
        left=Remaining(incoming={}, outgoing={}, total=2**30, unknown=1),
        eta=Eta(seconds=66, bound_by="incoming of broker 4"),
        bytes_per_s=2**20,
        throttles={},
    )
    assert progress_text(status) == (
        "1/3 partitions, left: 1.00 GiB and 1 partition of unknown size, 1.00 MiB/s, "
        "at least 66 s left (incoming of broker 4)"
    )
    known = replace(status, left=replace(status.left, unknown=0))
    assert progress_text(known) == (
        "1/3 partitions, 1.00 GiB of 3.00 GiB left, 1.00 MiB/s, 66 s left (incoming of broker 4)"
    )


def test_if_no_size_is_known_the_progress_is_not_0_bytes():
    status = Status(
        classes={("a", 0): "moving", ("a", 1): "moving"},
        bytes=0,
        left=Remaining(incoming={}, outgoing={}, total=0, unknown=2),
        eta=Eta(seconds=0, bound_by=None),
        bytes_per_s=None,
        throttles={},
    )
    assert progress_text(status) == (
        "0/2 partitions, left: not known (2 partitions of unknown size)"
    )


def test_options_become_limits():
    made = ApplyOptions(throttle="50MB", bytes_in_flight="1GiB", no_elect=True, stall=5, down=7)
    assert made.rate == 50_000_000
    caps = made.caps
    assert (caps.bytes_in_flight, caps.elect) == (2**30, False)
    assert (caps.stall_ms, caps.down_ms, caps.at_once, caps.per_broker) == (5000, 7000, 200, 5)
    assert ApplyOptions().rate is None


@pytest.mark.parametrize(
    "text", ["0", "-1", "10Mbit", str(2**63), "9" * 40, "", "1.5GB", "1 GB", "0x10"]
)
@pytest.mark.parametrize("option", ["throttle", "bytes_in_flight"])
def test_a_number_of_bytes_that_is_none(option, text):
    with pytest.raises(InvalidConfig) as raised:
        ApplyOptions(**{option: text})
    assert raised.value.where == "--" + option.replace("_", "-")
    assert raised.value.hint == (
        "use one of the units B kB MB GB TB KiB MiB GiB TiB; a number without a unit is "
        "bytes, never bits"
    )


def test_the_greatest_rate_is_taken():
    assert ApplyOptions(throttle=str(2**63 - 1)).rate == 2**63 - 1


@pytest.mark.parametrize(
    ("rate", "left", "unknown", "printed"),
    [
        (50, 15 * 10**9, 0, "50 bytes/s at each broker; 14.0 GiB to copy in 9 years or more (x)"),
        (
            1,
            90,
            1,
            "1 byte/s at each broker; 90 bytes and 1 partition of unknown size to copy in 90 sec",
        ),
        (
            50_000_000,
            15 * 10**9,
            0,
            "50,000,000 bytes/s (47.7 MiB/s) at each broker; 14.0 GiB to copy in 5 minutes or more",
        ),
        (
            2_000,
            0,
            3,
            "2,000 bytes/s (1.95 KiB/s) at each broker; not known (3 partitions of unknown size)",
        ),
    ],
)
def test_a_throttle_is_told_with_its_unit_and_the_time_it_takes(rate, left, unknown, printed):
    remaining = Remaining(incoming={4: left}, outgoing={}, total=left, unknown=unknown)
    eta = Eta(seconds=-(-left // rate), bound_by="x")
    text = throttle_text(rate, remaining, eta)
    assert text.startswith(f"throttle: {printed}")
    parts = throttle_text(rate, remaining, eta, in_one_run=False)
    assert parts == (f"{text}, in several runs" if left else text)
