"""Keys: names of nodes, and names that would not be the next machine's."""

import pytest

from rackwise.core.identity.nodes.keys import check_key, key_problem, unstable_reason
from rackwise.core.identity.refusals import KeyInvalid, KeyUnstable


@pytest.mark.parametrize(
    "key", ["h7", "kafka-0.kafka.svc", "aa:bb:cc:dd:ee:ff", "A_1", "x" * 249, "..."]
)
def test_a_key(key):
    assert (key_problem(key), unstable_reason(key)) == (None, None)
    assert check_key(key) == key


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "it is empty"),
        (".", "it is a path, not a name"),
        ("..", "it is a path, not a name"),
        ("a/b", "it contains /"),
        ("x" * 250, "it has 250 characters"),
        ("h7\n", "it contains \\x0a"),
        ("h\u0660", "it contains \u0660"),
    ],
)
def test_what_is_no_key(key, problem):
    assert key_problem(key) == problem
    with pytest.raises(KeyInvalid, match="1 to 249") as caught:
        check_key(key, allow_unstable=True)
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("localhost", "every host has this name"),
        ("LOCALHOST.localdomain", "every host has this name"),
        ("10.0.0.1", "it is an address"),
        ("::1", "it is an address"),
        ("ip-10-0-0-1", "it is derived from an address"),
        ("ip-10-0-0-1.ec2.internal", "it is derived from an address"),
        ("0123456789ab", "containers get such random names"),
    ],
)
def test_a_key_that_changes_with_the_address(key, reason):
    assert unstable_reason(key) == reason
    assert check_key(key, allow_unstable=True) == key
    with pytest.raises(KeyUnstable, match="stable name") as caught:
        check_key(key)
    assert str(caught.value).endswith(reason)
    assert "--allow-key" in caught.value.hint


@pytest.mark.parametrize("key", ["ip-10-0-0", "ip-ten", "0123456789a", "0123456789abc", "my-local"])
def test_a_key_that_only_resembles_one(key):
    assert unstable_reason(key) is None


def test_sixty_characters_of_a_key_are_shown():
    for key, shown in (("/" * 60, "/" * 60), ("/" * 61, "/" * 60 + "...")):
        with pytest.raises(KeyInvalid) as caught:
            check_key(key)
        assert caught.value.had == shown
