"""Upstream Java, started once in a run for each Kafka line."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from golden import SETS, upstream


@pytest.fixture(scope="session")
def oracles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracle")
    with ExitStack() as stack:
        yield {line: stack.enter_context(upstream(folder, line)) for line in SETS}
