"""Our bytes are those that the classes of Kafka 0.10.0 gave."""

import pytest

from identity_answers import golden_answers
from wire_answers import CODECS, check_wire


@pytest.mark.parametrize("operation", CODECS)
def test_our_bytes_are_the_frozen_ones_of_kafka_0_10(operation):
    answers = golden_answers(operation)
    assert answers
    for answer in answers:
        check_wire(operation, answer)
