"""What both stores say of an operation that does not hold."""

from __future__ import annotations

import pytest

from rackwise.core.identity.nodes.store import (
    KAFKAS,
    OURS,
    Absent,
    Check,
    Create,
    Delete,
    Put,
    conflict,
    not_ready,
    parent_of,
)


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (Absent("/a"), "/a is wanted absent; it is there"),
        (Create("/a", b""), "/a is wanted new; it is there"),
        (Put("/a", b""), "/a is wanted there; it is not"),
        (Delete("/a"), "/a is wanted there; it is not"),
        (Put("/a", b"", 3), "/a is wanted at version 3; it is gone or at another"),
        (Check("/a", 3), "/a is wanted at version 3; it is gone or at another"),
        (Delete("/a\n", 3), "/a\\x0a is wanted at version 3; it is gone or at another"),
    ],
    ids=str,
)
def test_a_conflict_names_the_operation_and_its_node(op, said):
    error = conflict(op)
    assert (error.message, error.had, error.where) == (said, op, op.path)


def test_a_store_that_was_never_prepared_wants_init():
    error = not_ready("/brokers/hosts")
    assert error.message == "the store is wanted ready; /brokers/hosts is absent"
    assert "broker-id init" in error.hint
    assert (error.code, error.exit_code) == ("STORE_NOT_READY", 4)


def test_every_parent_comes_after_its_own():
    paths = [*KAFKAS, *OURS]
    assert all(parent_of(path) in {"/", *paths[:place]} for place, path in enumerate(paths))
