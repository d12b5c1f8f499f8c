"""Upstream Java still gives the frozen answers."""

import pytest
from cases import LINES, cases

from golden import answered, frozen
from oracle import OracleError

pytestmark = pytest.mark.java


def test_upstream_gives_the_frozen_answers(oracles):
    asked = [
        (operation, answered(oracles[LINES[operation]], operation, case))
        for operation, case in cases()
    ]
    for operation in {operation for operation, _ in asked}:
        assert [answer for name, answer in asked if name == operation] == frozen(operation)


def test_an_error_of_upstream_carries_its_class_and_message(oracles):
    with pytest.raises(OracleError) as raised:
        oracles["4.3.1"].ask("reassignment.read", {"json": '{"version":2,"partitions":[]}'})
    assert raised.value.cls == "org.apache.kafka.tools.AdminOperationException"
    assert raised.value.message == "Not supported version field value 2"
