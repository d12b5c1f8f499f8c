"""What an error of kafka-python is for a reader or writer on an executor."""

from __future__ import annotations

import kafka.errors as kafka_errors
import pytest

from rackwise.adapters.clients.kafka_python.records import Reach, client_error
from rackwise.core.errors import (
    AuthenticationFailed,
    MissingPermission,
    ServerRefused,
    Unreachable,
)

REACH = Reach(bootstrap="k:9092")


@pytest.mark.parametrize("operation", ["Describe", "Read", "Write"])
def test_a_missing_right_is_named_with_the_line_that_grants_it(operation):
    error = kafka_errors.TopicAuthorizationFailedError()
    found = client_error(REACH, error, doing="use topic t", operation=operation)
    assert isinstance(found, MissingPermission)
    assert found.message == f"missing permission: Topic:{operation} is needed to use topic t"
    assert f"--operation {operation} --topic" in found.hint


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kafka_errors.KafkaTimeoutError, Unreachable),
        (kafka_errors.KafkaConnectionError, Unreachable),
        (kafka_errors.BrokerNotAvailableError, Unreachable),
        (kafka_errors.SaslAuthenticationFailedError, AuthenticationFailed),
        (kafka_errors.MessageSizeTooLargeError, ServerRefused),
        (kafka_errors.CorruptRecordError, ServerRefused),
    ],
)
def test_only_brokers_that_do_not_answer_are_unreachable(error, kind):
    found = client_error(REACH, error("no"), doing="read topic t")
    assert type(found) is kind
    assert ("every executor" in (found.hint or "")) is (kind is Unreachable)
