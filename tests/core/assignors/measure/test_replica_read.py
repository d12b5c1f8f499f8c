"""The replica that is read, by the selector of KIP-392."""

import pytest

from assignments import consumer_vectors
from rackwise.core.assignors.measure.replica_read import read_replica
from rackwise.core.errors import InvalidConfig

VECTORS = consumer_vectors("read_replica")
BROKERS = {int(id_): rack for id_, rack in VECTORS["brokers"].items()}


@pytest.mark.parametrize("case", VECTORS["cases"])
def test_vectors(case):
    asked = {name: told for name, told in case.items() if name != "reads_from"}
    assert read_replica(broker_racks=BROKERS, **asked) == tuple(case["reads_from"])


def test_the_empty_text_is_no_rack():
    found = read_replica([1, 2], 1, [1, 2], {1: "a", 2: ""}, "", selector="rack-aware")
    assert found == (1,)


def test_an_unlisted_broker_has_no_rack():
    assert read_replica([1, 9], 1, [1, 9], {1: "a"}, "b", selector="rack-aware") == (1,)


def test_an_unknown_selector_is_rejected():
    with pytest.raises(InvalidConfig, match='one of rack-aware, leader, got "near"') as it:
        read_replica([1], 1, [1], {}, "a", selector="near")
    assert it.value.hint == "use leader for brokers without replica.selector.class"
