"""Lines of a journal as JSON values: written lines are read back, and other values are rejected."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    ElectIntent,
    ElectResult,
    End,
    Go,
    Line,
    PartitionLine,
    Pause,
    Setting,
    ThrottleChange,
    ThrottleIntent,
    ThrottleRestored,
    ThrottleSet,
)
from rackwise.core.applying.model import Mode, PartitionClass, RequestKind, Stop, ThrottleKey
from rackwise.core.applying.throttle_configs import LISTS, RATES
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import canonical_json

numbers = st.integers(0, 2**40)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
partitions = st.tuples(texts, numbers)
keys = st.builds(
    ThrottleKey, st.just("broker"), st.integers(0, 99).map(str), st.sampled_from(RATES)
) | st.builds(ThrottleKey, st.just("topic"), texts, st.sampled_from(LISTS))


def _many(of):
    return st.lists(of, max_size=3).map(tuple)


refused = _many(st.tuples(partitions, texts))
acts = st.sampled_from(get_args(RequestKind))
lines = st.one_of(
    st.builds(
        Begin,
        plan=texts,
        mode=st.sampled_from(get_args(Mode)),
        throttle=st.none() | numbers,
        dropped=_many(partitions),
        next_moves=st.none() | numbers,
        most_bytes=st.none() | numbers,
        until=st.none() | texts,
        lasts_ms=st.none() | numbers,
        window=st.none() | st.just("22:00-05:00 Europe/Berlin"),
    ),
    st.builds(
        ThrottleIntent,
        settings=_many(st.builds(Setting, key=keys, prior=st.none() | texts, ours=texts)),
    ),
    st.builds(
        ThrottleChange,
        rate=numbers,
        request=texts,
        is_set=st.booleans(),
        error=st.none() | texts,
    ),
    st.builds(ThrottleSet, done=_many(keys), failed=_many(st.tuples(keys, texts))),
    st.builds(BatchIntent, batch=numbers, act=acts, partitions=_many(partitions)),
    st.builds(
        BatchResult,
        batch=numbers,
        act=acts,
        accepted=_many(partitions),
        refused=refused,
        unknown=_many(partitions),
    ),
    st.builds(
        PartitionLine,
        partition=partitions,
        class_=st.sampled_from(get_args(PartitionClass)),
        code=st.none() | texts,
    ),
    st.builds(Pause, reasons=_many(texts)),
    st.just(Go()),
    st.builds(ElectIntent, batch=numbers, partitions=_many(partitions)),
    st.builds(
        ElectResult,
        batch=numbers,
        elected=_many(partitions),
        refused=refused,
        unknown=_many(partitions),
    ),
    st.builds(ThrottleRestored, keys=_many(keys), changed=_many(keys)),
    st.builds(
        End,
        done=numbers,
        failed=numbers,
        skipped=numbers,
        dropped=numbers,
        stop=st.none() | st.sampled_from(get_args(Stop)),
    ),
)


@given(line=lines)
def test_a_written_line_is_read_back(line):
    written = fields_of(line)
    assert canonical_json(written)
    assert line_of(written) == line


def test_every_line_type_is_tested():
    assert {kind.type for kind in get_args(Line)} == {
        "begin",
        "throttle_intent",
        "throttle_set",
        "throttle_change",
        "batch_intent",
        "batch_result",
        "partition",
        "pause",
        "go",
        "elect_intent",
        "elect_result",
        "throttle_restored",
        "end",
    }


def test_a_line_of_a_journal_as_json():
    line = BatchIntent(batch=2, act="move", partitions=(("orders", 4),))
    assert fields_of(line) == {
        "type": "batch_intent",
        "batch": 2,
        "act": "move",
        "partitions": [["orders", 4]],
    }


BEGIN = {"type": "begin", "plan": "p", "mode": "apply", "throttle": None, "dropped": []}
PARTITION = {"type": "partition", "partition": ["t", 0], "class": "done", "code": None}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (BEGIN | {"window": "22-5"}, "$.window: expected HH:MM-HH:MM or HH:MM-HH:MM ZONE, got"),
        ({}, 'missing key "type"'),
        ({"type": "nonsense"}, "$.type: expected one of begin, throttle_intent, "),
        ({"type": "go", "why": 1}, '$: unknown key "why"'),
        ({"type": "pause"}, '$: missing key "reasons"'),
        ({"type": "pause", "reasons": "x"}, '$.reasons: expected a list of reasons, got "x"'),
        ({"type": "pause", "reasons": [1]}, "$.reasons[0]: expected a text, got 1"),
        ({**PARTITION, "partition": ["t"]}, "$.partition: expected a list of 2, got a list"),
        (
            {**PARTITION, "partition": ["t", True]},
            "$.partition[1]: expected an integer of 0 or more, got true",
        ),
        (
            {**PARTITION, "partition": ["t", -1]},
            "$.partition[1]: expected an integer of 0 or more, got -1",
        ),
        ({**PARTITION, "class": "good"}, "$.class: expected one of not_started, "),
        ({**PARTITION, "class": ["done"]}, "$.class: expected one of not_started, "),
        (
            {"type": "throttle_restored", "keys": [["broker", "x", RATES[0]]], "changed": []},
            "$.keys[0]: expected a throttle key of a broker or a topic, got a list",
        ),
        (
            {"type": "throttle_restored", "keys": [["topic", "t", RATES[0]]], "changed": []},
            "$.keys[0]: expected a throttle key",
        ),
    ],
)
def test_invalid_lines_are_rejected_with_their_path(values, message):
    with pytest.raises(InvalidPlan) as caught:
        line_of(values)
    assert message in caught.value.message
    assert caught.value.message.startswith(f"invalid journal at {caught.value.where}: ")
