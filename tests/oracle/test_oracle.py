"""Upstream Java still gives the frozen answers."""

import pytest
from cases import cases

from golden import answered, frozen, upstream
from oracle import OracleError

pytestmark = pytest.mark.java


@pytest.fixture(scope="session")
def oracle(tmp_path_factory):
    with upstream(tmp_path_factory.mktemp("oracle")) as running:
        yield running


def test_upstream_gives_the_frozen_answers(oracle):
    asked = [(operation, answered(oracle, operation, case)) for operation, case in cases()]
    for operation in {operation for operation, _ in asked}:
        assert [answer for name, answer in asked if name == operation] == frozen(operation)


def test_an_error_of_upstream_carries_its_class_and_message(oracle):
    with pytest.raises(OracleError) as raised:
        oracle.ask("reassignment.read", {"json": '{"version":2,"partitions":[]}'})
    assert raised.value.cls == "org.apache.kafka.tools.AdminOperationException"
    assert raised.value.message == "Not supported version field value 2"
