"""Fetches that show whether leaders send clients to the replica in their rack (KIP-392).

A fetch is a probe only if its answer can be wrong: the partition's leader is in another rack, and
an in-sync replica is in the client's rack. Leaders take turns, so that few probes reach many of
them:

```
client rack b; replicas (leader first)    probes, at most 3
t-0  1 2     1 is in a, 2 in b            t-0 (leader 1)  t-3 (leader 3)  t-1 (leader 1)
t-1  1 2
t-2  2 1     the leader is in b itself
t-3  3 2     3 is in c
```

A leader that lacks the selector, or is too old, cannot name another replica. The rule about the
selector or the version reports it, so its answers are not checked again.

A leader that was just elected does not know the positions of its followers and keeps its clients
until the followers have fetched. An answer that would be a finding is therefore doubtful: ask
again before it is reported.

What this does not do: send the fetches. Source: `ReplicaManager.findPreferredReadReplica`.
"""

from __future__ import annotations

from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors.measure.replica_read import read_replica
from rackwise.core.fetch_diagnosis.facts import ProbeQuestion, ReadingFacts
from rackwise.core.fetch_diagnosis.view import FetchView, finding, rule
from rackwise.core.findings import Severity, Unchecked
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwise.core.fetch_diagnosis.facts import Probe
    from rackwise.core.fetch_diagnosis.view import Results
    from rackwise.core.model import Cluster


def probe_questions(
    cluster: Cluster, client_racks: Iterable[str], *, limit: int
) -> tuple[ProbeQuestion, ...]:
    """At most `limit` fetches for each client rack; racks that no broker has are left out."""
    view = FetchView(ReadingFacts(cluster=cluster))
    return tuple(
        question
        for rack in sorted(set(client_racks) & set(view.rack_names))
        for question in _questions_for_rack(view, rack, limit)
    )


def doubtful_questions(facts: ReadingFacts) -> tuple[ProbeQuestion, ...]:
    """Questions whose answers would be findings."""
    view = FetchView(facts)
    return tuple(
        each.question
        for each in facts.probes
        if each.error is None and not _is_explained(view, each) and not _is_near(view, each)
    )


@rule(
    "reading-probe",
    Severity.ERROR,
    "a leader does not send a client to the replica in its rack",
)
def probe(view: FetchView) -> Results:
    """Leaders that named no replica to a client, or one that is not in the client's rack."""
    yield from _unprobed_racks(view)
    checked: dict[int, list[Probe]] = {}
    for each in view.facts.probes:
        asked = each.question
        if each.error is not None:
            yield Unchecked(
                "reading-probe",
                f"the fetch failed with {each.error}",
                f"{_partition_name(each)} at broker {asked.leader}",
            )
        elif _is_explained(view, each):
            yield Unchecked(
                "reading-probe",
                "another finding says why the leader keeps it",
                f"broker {asked.leader}",
            )
        else:
            checked.setdefault(asked.leader, []).append(each)
    for leader, probes in sorted(checked.items()):
        wrong = [each for each in probes if not _is_near(view, each)]
        if wrong:
            first = wrong[0].question
            yield finding(
                "reading-probe",
                broker=leader,
                wanted=f"the replica in the client's rack, for {_partition_name(wrong[0])} and "
                f"client rack {escaped(first.client_rack)} {' or '.join(map(str, first.near))}",
                had=f"{_answers_text(wrong)}; {len(wrong)} of {counted(len(probes), 'answer')} "
                "wrong",
                hint="restart the broker if its settings were changed since it started; search its "
                "log for the selector",
            )


def _unprobed_racks(view: FetchView) -> Iterator[Unchecked]:
    """Client racks without a probe, unless `not_read` says why already."""
    if "reading-probe" in view.facts.not_read:
        return
    if not view.client_racks:
        yield Unchecked("reading-probe", "no rack of a client is known")
    asked = {each.question.client_rack for each in view.facts.probes}
    for rack, _ in view.client_racks:
        if rack not in asked:
            why = (
                "no partition that is led elsewhere has a replica in sync in the rack"
                if rack in view.rack_names
                else "no broker is in the rack"
            )
            yield Unchecked("reading-probe", why, f"client rack {escaped(rack)}")


def _questions_for_rack(view: FetchView, rack: str, limit: int) -> Iterator[ProbeQuestion]:
    """Fetches for a client in this rack; leaders take turns.

    A partition qualifies if its leader is live and in another rack, and an in-sync replica is here.
    """
    table, near = view.cluster.partitions, view.in_rack(rack)
    # bool [partitions], whether an in-sync replica is in the rack
    has_replica = np.zeros(len(table), dtype=np.bool_)
    has_replica[table.isr.rows[np.isin(table.isr.values, near)]] = True
    live = np.array([broker.id for broker in view.live], dtype=np.int64)
    is_asked = has_replica & np.isin(table.leader, live) & ~np.isin(table.leader, near)
    rows = np.flatnonzero(is_asked)
    leaders = table.leader[rows]
    turns = zip_longest(*(rows[leaders == leader].tolist() for leader in np.unique(leaders)))
    for row in islice((row for row in chain.from_iterable(turns) if row is not None), limit):
        partition = table[row]
        yield ProbeQuestion(
            client_rack=rack,
            topic=partition.topic,
            partition=partition.partition,
            leader=int(table.leader[row]),
            near=read_replica(
                partition.replicas,
                partition.leader,
                partition.isr,
                view.racks,
                rack,
                selector="rack-aware",
            ),
        )


def _is_explained(view: FetchView, each: Probe) -> bool:
    """Whether another finding says why the leader keeps its clients."""
    leader = each.question.leader
    return view.is_old(leader) or view.lacks_selector(leader)


def _is_near(view: FetchView, each: Probe) -> bool:
    """Whether the client was sent to its rack, perhaps to a replica that is in sync only now."""
    asked = each.question
    return each.named in asked.near or (
        each.named is not None and view.racks.get(each.named) == asked.client_rack
    )


def _answers_text(probes: list[Probe]) -> str:
    named = sorted({each.named for each in probes if each.named is not None})
    texts = [f"broker {broker}" for broker in named]
    return names_text([*(["none"] if any(p.named is None for p in probes) else []), *texts])


def _partition_name(each: Probe) -> str:
    return f"{escaped(each.question.topic)}-{each.question.partition}"
