"""Sums of bytes in which some sizes are not known are never shown as 0 bytes or as complete."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from plans import plan_of
from rackwise.cli.apply.rollback import _print_cost
from rackwise.cli.apply.text import budget_lines
from rackwise.cli.audit.text import _lost
from rackwise.cli.plan.placed import _bytes_text
from rackwise.core.applying.model import Outcome
from rackwise.core.blast import RackLoss
from rackwise.core.planning.model import Totals

GIB = 2**30
CASES = [
    (0, "not known (2 {}s of unknown size)"),
    (GIB, "1.00 GiB and 2 {}s of unknown size"),
]


def totals(known):
    return Totals(moves=2, partitions=2, bytes=known, unknown_sizes=2)


@pytest.mark.parametrize(("known", "text"), CASES)
def test_of_a_plan_whose_placer_chose_the_brokers(known, text):
    assert _bytes_text(totals(known)) == f"{text.format('partition')} to copy"


@pytest.mark.parametrize(("known", "text"), CASES)
def test_of_a_rollback(known, text):
    notes = []
    _print_cost(SimpleNamespace(note=notes.append), plan_of(totals=totals(known)))
    assert notes[0].endswith(f"2 replicas to copy: {text.format('partition')}")


@pytest.mark.parametrize(("known", "text"), CASES)
def test_of_the_loss_of_a_rack(known, text):
    loss = RackLoss(
        rack="a",
        level=1,
        level_name="zone",
        brokers=(1,),
        offline=(),
        under_min_isr=(),
        leaders_lost=0,
        top_survivor=None,
        replicas_lost=2,
        bytes_to_restore=known,
        unknown_sizes=2,
    )
    assert text.format("replica") in _lost([loss])


def test_of_a_run_whose_budget_is_spent():
    plan = plan_of()
    unknown = replace(plan, moves=tuple(replace(move, bytes=None) for move in plan.moves))
    outcome = Outcome(mode="apply", classes={}, codes={})
    assert budget_lines(unknown, outcome, None) == ["bytes   not known (2 moves of unknown size)"]
    (line,) = budget_lines(plan, outcome, None)
    assert line == "bytes   0 bytes copied, 12.4 GiB left, and 1 move of unknown size"
