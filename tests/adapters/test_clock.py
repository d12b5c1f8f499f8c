"""The clocks: the time of day, and that of a rehearsal."""

from datetime import datetime, timedelta

import pytest

from rackwise.adapters.clock import SHIFT, epoch_clock, shift_s
from rackwise.cli.source import utc_now
from rackwise.core.errors import InvalidConfig

DAY_S = 86_400


def test_a_clock_of_a_rehearsal_is_ahead_of_the_time_of_day():
    now, ahead = epoch_clock(), epoch_clock(ahead_s=DAY_S)
    before = now()
    shifted = ahead()
    assert before + DAY_S * 1000 <= shifted + 1
    assert shifted <= now() + DAY_S * 1000 + 1


def test_the_time_of_snapshots_is_that_of_the_rehearsal(monkeypatch):
    before = datetime.fromisoformat(utc_now())
    monkeypatch.setenv(SHIFT, str(-DAY_S))
    shifted = datetime.fromisoformat(utc_now()) + timedelta(days=1)
    monkeypatch.delenv(SHIFT)
    assert before <= shifted <= datetime.fromisoformat(utc_now())


@pytest.mark.parametrize("text", ["", "1h", "soon"])
def test_a_shift_that_is_no_number_of_seconds_is_rejected(text):
    with pytest.raises(InvalidConfig, match=f"invalid {SHIFT}: expected seconds"):
        shift_s({SHIFT: text})
    assert shift_s({}) == 0
