"""Rows written by hand, as `--replica-assignment` takes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placements import placement_vectors
from rackwise.core.errors import InvalidAssignment
from rackwise.core.placement import parse_assignment

CASES = placement_vectors("replica_assignment_text")
ROWS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 2**31 - 1), min_size=width, max_size=width, unique=True),
        min_size=1,
        max_size=5,
    )
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["text"]))
def test_the_vectors(case):
    if "rows" in case:
        assert parse_assignment(case["text"]).rows.tolist() == case["rows"]
    else:
        with pytest.raises(InvalidAssignment) as caught:
            parse_assignment(case["text"])
        assert (caught.value.upstream or [None])[-1] == case["upstream_message"]


@given(ROWS, st.integers(0, 9))
def test_what_is_written_is_read(rows, first):
    text = ",".join(":".join(map(str, row)) for row in rows)
    assert parse_assignment(text, first=first).as_dict() == dict(enumerate(rows, start=first))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1:2,5:5:7:7",
            "invalid replicas of partition 4: expected different brokers, got 5, 7 more than once",
        ),
        ("1:2,5", "partition 4 has 1 replica; partition 3 has 2"),
        ("1:2,5:b\x1b", 'invalid broker id of partition 4: expected 0 to 2147483647, got "b\\x1b"'),
        ("2147483648", 'partition 3: expected 0 to 2147483647, got "2147483648"'),
        ("-1", 'partition 3: expected 0 to 2147483647, got "-1"'),
        ("1_0", 'partition 3: expected 0 to 2147483647, got "1_0"'),
        ("\u0661", "partition 3: expected 0 to 2147483647, got "),
    ],
)
def test_text_that_is_no_rows_says_which_partition(text, message):
    with pytest.raises(InvalidAssignment) as caught:
        parse_assignment(text, first=3)
    assert message in str(caught.value)
    assert "5:4,3:2" in caught.value.hint


def test_errors_carry_kafkas_class():
    with pytest.raises(InvalidAssignment) as caught:
        parse_assignment("5:5")
    assert caught.value.upstream[0] == "org.apache.kafka.tools.AdminCommandFailedException"
