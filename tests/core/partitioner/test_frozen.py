"""Choices under semantics `upstream` equal the frozen ones of kafka-clients 4.4.0."""

from __future__ import annotations

import pytest

from choices import frozen_choices, our_choice


@pytest.mark.parametrize(
    "operation", ["choice.key", "choice.load", "choice.ready", "choice.sticky"]
)
def test_our_choices_are_the_frozen_ones(operation):
    cases = frozen_choices(operation)
    assert len(cases) > 50
    for number, case in enumerate(cases):
        assert our_choice(operation, case["in"]) == case, f"case {number}"
