"""We read files and registrations of brokers as upstream does: a few in each run, many in the
exhaustive profile, which draws them from the seed that pytest-randomly prints.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from cases import LINES
from identity_cases import (
    config_case,
    properties_case,
    read_case,
    registration_case,
    write_case,
)

from golden import answered
from identity_answers import CHECKS

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
DRAWN = {
    "config.read": config_case,
    "meta.read": read_case,
    "meta.write": write_case,
    "properties.read": properties_case,
    "registration.read": registration_case,
}


@pytest.mark.parametrize("operation", DRAWN)
def test_what_we_read_is_upstreams(oracles, operation, request):
    seed = request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 426
    rng = Random(f"{seed} {operation}")
    for _ in range(5_000 if IS_EXHAUSTIVE else 250):
        CHECKS[operation](answered(oracles[LINES[operation]], operation, DRAWN[operation](rng)))
