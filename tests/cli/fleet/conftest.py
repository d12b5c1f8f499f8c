"""A cluster over its time limit leaves a thread; later tests must not run beside it."""

from __future__ import annotations

import threading

import pytest

ENDS_S = 60
"""A connection gives up after 15 s."""


@pytest.fixture(autouse=True)
def no_thread_is_left():
    """Wait for the threads that the test started."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(ENDS_S)
        assert not thread.is_alive(), thread.name
