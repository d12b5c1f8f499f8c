"""What the tests of all plug-ins share."""

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocol


@pytest.fixture(autouse=True)
def own_decoder(monkeypatch):
    """aiokafka's decoder is there again after the test."""
    monkeypatch.setattr(ConsumerProtocol, "METADATA", ConsumerProtocol.METADATA)
