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
        (Absent("/a"), "expected /a to be absent, but it exists"),
        (Create("/a", b""), "expected to create /a, but it exists"),
        (Put("/a", b""), "expected /a to exist, but it does not"),
        (Delete("/a"), "expected /a to exist, but it does not"),
        (Put("/a", b"", 3), "expected /a at version 3, got no node or another version"),
        (Check("/a", 3), "expected /a at version 3, got no node or another version"),
        (Delete("/a\n", 3), "expected /a\\x0a at version 3, got no node or another version"),
    ],
    ids=str,
)
def test_a_conflict_names_the_operation_and_its_node(op, said):
    error = conflict(op)
    assert (error.message, error.had, error.where) == (said, op, op.path)


def test_a_store_that_was_never_prepared_wants_init():
    error = not_ready("/brokers/hosts")
    assert error.message == "the store is not initialized: /brokers/hosts does not exist"
    assert "broker-id init" in error.hint
    assert (error.code, error.exit_code) == ("STORE_NOT_READY", 4)


def test_every_parent_comes_after_its_own():
    paths = [*KAFKAS, *OURS]
    assert all(parent_of(path) in {"/", *paths[:place]} for place, path in enumerate(paths))
