"""The kind of name that a rack's text is."""

from __future__ import annotations

import pytest

from assignments import consumer_vectors
from rackwise.core.fetch_diagnosis import zone_kind


@pytest.mark.parametrize(("rack", "kind"), consumer_vectors("zone_kind"))
def test_zones_are_known_by_their_names(rack, kind):
    assert zone_kind(rack) == kind


@pytest.mark.parametrize(
    "rack", ["", " use1-az1", "use1-az1\n", "USE1-AZ1", "use1-az\N{ARABIC-INDIC DIGIT ONE}", "a/b"]
)
def test_only_a_full_match_counts(rack):
    assert zone_kind(rack) == "other"


@pytest.mark.parametrize(
    ("first", "last"), [("rack-1", "rack-12"), ("r1-1", "r12-1"), ("eastus2-1", "eastus2-10")]
)
def test_numbers_of_one_and_two_digits_are_one_kind(first, last):
    assert zone_kind(first) == zone_kind(last)


def test_a_text_with_a_leading_slash_is_a_path():
    assert zone_kind("/") == zone_kind("/a\nb") == "path"
