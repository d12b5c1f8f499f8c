"""A topic on a real cluster of either kind that is gone after each test."""

from __future__ import annotations

import pytest


@pytest.fixture
def admin(admin):
    from kafka_topics import NAME
    from kafka_traffic import delete

    yield admin
    delete(admin, NAME)
