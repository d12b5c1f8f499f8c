"""Options of a start that can never take a spare are rejected; the unit file fits the defaults."""

import re
from itertools import product

import pytest

from rackwise.adapters.launch.driver import WAIT_PER_SESSION, check_spare
from rackwise.adapters.launch.options import AcquireOptions
from rackwise.core.errors import InvalidConfig
from shown_commands import ROOT

UNIT = ROOT / "examples" / "identity" / "kafka.service"
SESSION_S, BOOT_S = 18.0, 120.0
"""Kafka's default session timeout, and a slow start of a broker."""


@pytest.mark.parametrize("spare", ["unmapped", "any"])
@pytest.mark.parametrize("on_blocked", ["error", "generate"])
def test_a_start_that_scans_and_does_not_wait_never_takes_a_spare(spare, on_blocked):
    options = {"spare": spare, "on_blocked": on_blocked}
    with pytest.raises(InvalidConfig, match=f"never take an id with --on-blocked {on_blocked}"):
        check_spare(AcquireOptions(**options))
    for change in ({"missing": "watch"}, {"grace_s": 0.0}, {"literal": True}, {"spare": "never"}):
        check_spare(AcquireOptions(**{**options, **change}))


def test_the_defaults_and_what_waits_are_accepted():
    check_spare(AcquireOptions())
    for spare, on_blocked in product(("unmapped", "any"), ("grace", "wait")):
        check_spare(AcquireOptions(spare=spare, on_blocked=on_blocked))
    assert AcquireOptions().on_blocked == "grace"


def test_the_unit_waits_longer_than_a_start_with_the_defaults():
    """Otherwise systemd ends each start before its grace is over, and starts the next one."""
    (timeout_s,) = re.findall(r"^TimeoutStartSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert int(timeout_s) > AcquireOptions().grace_s + WAIT_PER_SESSION * SESSION_S + BOOT_S
