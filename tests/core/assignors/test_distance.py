"""The number of levels that a read crosses, by target; sums are tested with `evaluate`."""

import pytest

from rackwise.core.assignors.distance import Distance, check_target, check_weights
from rackwise.core.errors import InvalidConfig, InvalidWeights

REPLICAS = ("/us/c", "/eu/b", None)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("leader", {"/eu/a": 2, "/eu/b": 2, "/us/d": 1, "/us/c": 0, None: 2}),
        ("follower", {"/eu/a": 2, "/eu/b": 0, "/us/d": 1, "/us/c": 0, None: 2}),
        ("nearest", {"/eu/a": 1, "/eu/b": 0, "/us/d": 1, "/us/c": 0, None: 2}),
    ],
)
def test_loss_is_the_number_of_levels_not_shared(target, expected):
    distance = Distance.of(expected, target)
    assert {rack: distance.loss(rack, REPLICAS) for rack in expected} == expected
    assert {distance.loss(rack, ()) for rack in expected} == {2}


def test_short_paths_are_padded_and_texts_that_are_no_path_are_one_level():
    distance = Distance.of(["/eu", "/eu/a"], "follower")
    assert (
        distance.depth,
        distance.loss("/eu", ("/eu/eu",)),
        distance.loss("/eu", ("/eu/a",)),
    ) == (
        2,
        0,
        1,
    )
    assert Distance.of([None], "follower").depth == 1
    assert Distance.of(["//"], "follower").loss("//", ("//",)) == 0


def test_invalid_targets_and_weights():
    check_target("nearest")
    check_weights(None, {})
    with pytest.raises(InvalidConfig, match="invalid target: expected one of"):
        check_target("far")
    with pytest.raises(InvalidWeights, match="integer bytes_per_s"):
        check_weights({("t", 0): -1}, {"t": [[]]})
