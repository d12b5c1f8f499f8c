"""Makes flows of batches: what is metered, and beside it what is not.

A file between looks has three parts, mixed in order of time:

```
batches    produce, replicate and fetch flows of the same records; all of them are kept
malformed  flows that `faults` makes malformed; no snapshot knows them
noise      in logs: rows without traffic, rejected, or on other ports (4.5 % of the flows)
```

So the kept bytes of a reader are the bytes that the snapshots meter, exactly. A row never covers
a look: its window ends before.

What this does not do: draw batches (see `looks.batches`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.flows.traffic import (
    FETCH,
    FIRST_PORT,
    KIND_TICKETS,
    PORTS,
    PRODUCE,
    REPLICATE,
    WINDOWS_S,
    Flows,
    connect,
    draw_ends,
    draw_flows,
    part_size,
)
from rackwise.core.fleet.flows.vpc import NOISE_SHARE
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.fleet.world.options import FlowFormat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.looks.batches import Batches, Metering
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology

METERED, MALFORMED, NOISE = range(3)
"""The part of a file that a flow is in."""
WITHOUT_COPIES = KIND_TICKETS[KIND_TICKETS != REPLICATE]


def part_sizes(options: FleetOptions, index: int) -> tuple[int, int, int]:
    """Number of flows of each part of file `index`."""
    count = part_size(options.flows, options.files, index)
    malformed = part_size(round(options.flows * options.bad_rows), options.files, index)
    is_log = options.flow_format is not FlowFormat.CANONICAL
    noise = part_size(round(options.flows * NOISE_SHARE), options.files, index) if is_log else 0
    return count - malformed - noise, malformed, noise


def draw_mixed_flows(
    stream: Stream,
    options: FleetOptions,
    world: Topology,
    metering: Metering,
    batches: Batches,
    index: int,
) -> tuple[Flows, NDArray[np.int64]]:
    """The flows of file `index` in order of time, and the part that each is in."""
    _, malformed, noise = part_sizes(options, index)
    flows = _flows_of_batches(stream, options, world, metering, batches)
    ends = np.array([*options.look_times()[1:], options.span(options.files - 1)[1]])
    next_look = ends[np.searchsorted(ends, flows.start, side="right")]
    flows = replace(flows, window_s=np.minimum(flows.window_s, next_look - flows.start))
    part = np.repeat([METERED, MALFORMED, NOISE], [len(flows), malformed, noise])
    for count, tickets in ((malformed, WITHOUT_COPIES), (noise, KIND_TICKETS)):
        flows = flows.concatenate(
            draw_flows(stream, options, world, index=index, count=count, tickets=tickets)
        )
    order = np.argsort(flows.start, kind="stable")
    return flows.take(order), part[order]


def _flows_of_batches(
    stream: Stream,
    options: FleetOptions,
    world: Topology,
    metering: Metering,
    batches: Batches,
) -> Flows:
    """All produce flows, then all replicate flows, then all fetch flows."""
    partitions, clients, readers = world.partitions, world.clients, metering.readers
    count = len(batches.partition)
    copies = partitions.copies.take(batches.partition)
    # [flows], the batch of each flow
    produced = np.repeat(np.arange(count), batches.producers)
    batch = np.concatenate([produced, copies.rows, batches.batch])
    kind = np.repeat(
        [PRODUCE, REPLICATE, FETCH], [len(produced), len(copies.values), len(batches.batch)]
    )
    cluster, partition = batches.cluster[batch], batches.partition[batch]
    fetched = batches.partition[batches.batch]
    owner = readers.owner(batches.reading, partitions.number[fetched].astype(np.int64))
    nobody = np.full(len(copies.values), NOBODY, dtype=np.int64)
    no_group = np.full(len(produced) + len(nobody), NOBODY, dtype=np.int64)
    leader = partitions.leader[partition[: len(no_group)]]
    broker = np.concatenate([leader, readers.serving(owner, fetched)]).astype(np.int64)
    client = np.concatenate(
        [clients.draw(stream, batches.cluster[produced]), nobody, readers.member[owner]]
    )
    peer = np.full(len(batch), NOBODY, dtype=np.int64)
    peer[kind == REPLICATE] = copies.values
    ends = draw_ends(stream, options, world, cluster, broker, peer, client)
    records = np.concatenate([_parts_of(batches), batches.records[copies.rows], batches.fetched])
    return connect(
        world,
        ends,
        kind == PRODUCE,
        FIRST_PORT + stream.below(PORTS, len(batch)),
        kind=kind,
        cluster=cluster,
        topic=batches.topic[batch],
        partition=partition,
        client=client,
        group=np.concatenate([no_group, readers.group[batches.reading]]),
        broker=broker,
        peer=peer,
        bytes=records * metering.logs.record_bytes[batches.topic[batch]],
        start=np.concatenate([batches.start[batch[: len(no_group)]], batches.read_at]),
        window_s=WINDOWS_S[stream.below(len(WINDOWS_S), len(batch))],
    )


def _parts_of(batches: Batches) -> NDArray[np.int64]:
    """Records of each produce flow: even parts of its batch."""
    many = batches.producers
    whole, parts = np.repeat(batches.records, many), np.repeat(many, many)
    nth = np.arange(len(parts)) - np.repeat(np.cumsum(many) - many, many)
    return whole * (nth + 1) // parts - whole * nth // parts
