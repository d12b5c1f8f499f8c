"""Hypothesis strategies for the messages that members of a group exchange."""

from __future__ import annotations

from hypothesis import strategies as st

from rackwise.core.assignors.members import TopicPartition, sorted_partitions
from rackwise.core.assignors.order import utf16_key
from rackwise.core.wire.consumer import Subscription

GENERATIONS = st.integers(-1, 2**31 - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RACKS = st.none() | NAMES.filter(bool)
PARTITIONS = st.lists(
    st.builds(TopicPartition, NAMES, st.integers(0, 2**31 - 1)), unique=True, max_size=6
).map(sorted_partitions)
SUBSCRIPTIONS = st.builds(
    Subscription,
    version=st.integers(0, 3),
    topics=st.lists(NAMES, max_size=4).map(lambda found: tuple(sorted(found, key=utf16_key))),
    user_data=st.none() | st.binary(max_size=8),
    owned=PARTITIONS,
    generation=GENERATIONS,
    rack=RACKS,
)
