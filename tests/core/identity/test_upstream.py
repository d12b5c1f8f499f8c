"""Upstream's frozen answers about files and registrations of brokers."""

import pytest

from identity_answers import CHECKS, golden_answers


@pytest.mark.parametrize(
    "operation", ["meta.read", "meta.write", "properties.read", "registration.read"]
)
def test_what_we_read_is_upstreams(operation):
    cases = golden_answers(operation)
    assert cases
    for case in cases:
        CHECKS[operation](case)
