"""Which reads a plan may send to other racks.

A consumer reads from the leader, or with follower fetching (KIP-392) from a replica in its own
rack. Its price stays the same if the leader stays in its rack, and if the racks of the replicas
stay the same as well, where a broker has a replica selector or its configuration was not read.

For other partitions the change depends on what each rack reads, which one snapshot does not hold.
`core.savings.moved_reads` prices it from two snapshots.

Source: KIP-392.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.outcome.changed import unknown_reasons

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.outcome.changed import ChangedRows
    from rackwise.core.view import View

SELECTOR = "replica.selector.class"


class ReadChange(NamedTuple):
    """What a plan adds to the price of reads in 30 days."""

    usd_nano: int | None
    """Nano-dollars; None if unknown."""
    reason: str | None
    """Why the dollars are unknown, and what makes them known."""


def read_change(view: View, changed: ChangedRows) -> ReadChange:
    """0 if no partition is read from other racks; else unknown."""
    reasons = unknown_reasons(
        view,
        rows_read_elsewhere(view, changed),
        "consumers of {} read from other racks, and what each rack reads is not known",
        "give two snapshots to rackwise analyze",
    )
    return ReadChange(None, reasons[0]) if reasons else ReadChange(0, None)


def rows_read_elsewhere(view: View, changed: ChangedRows) -> NDArray[np.int64]:
    """Rows whose consumers may read from another rack after the plan; ascending."""
    leaf = view.tree.nodes[-1].astype(np.int64)
    is_moved = np.not_equal(*(leaf[view.tree.places(leaders)] for leaders in changed.leaders))
    configs = view.cluster.configs.brokers
    live = [broker.id for broker in view.cluster.brokers if broker.is_live]
    if has_unread_configs(view) or any(configs[id_].get(SELECTOR) for id_ in live):
        racks = [_rack_sets(view, leaf, some) for some in (changed.before, changed.after)]
        is_moved |= (racks[0] != racks[1]).any(axis=1)
    rows: NDArray[np.int64] = changed.rows[is_moved]
    return rows


def has_unread_configs(view: View) -> bool:
    """Whether the configuration of a live broker was not read."""
    configs = view.cluster.configs.brokers
    return any(broker.id not in configs for broker in view.cluster.brokers if broker.is_live)


def _rack_sets(view: View, leaf: NDArray[np.int64], lists: Ragged) -> NDArray[np.bool_]:
    """Whether a live replica of each row is in each finest rack: bool [rows, racks + 1]."""
    places = view.tree.places(lists.values)
    live = view.live[places]
    found = np.zeros((len(lists), len(view.tree.names[-1]) + 1), dtype=np.bool_)
    found[lists.rows[live], leaf[places[live]]] = True
    return found
