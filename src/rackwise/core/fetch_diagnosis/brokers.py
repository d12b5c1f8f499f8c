"""Rules about brokers: their version, their racks, their selector (KIP-36, KIP-392).

Only the partition's leader sends a client elsewhere, and every broker leads something: each needs a
rack and the selector. What all brokers lack is one finding about the cluster; what some lack is one
for each of them. A broker too old for the selector is told as old, not as one without selector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.facts import (
    FETCH_WITH_RACK,
    RACK_AWARE_SELECTOR,
    REPLICA_SELECTOR,
)
from rackwise.core.fetch_diagnosis.findings import Unchecked, finding
from rackwise.core.fetch_diagnosis.view import UNSET
from rackwise.core.fetch_diagnosis.zones import zone_kind
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.fetch_diagnosis.findings import ReadingFinding
    from rackwise.core.fetch_diagnosis.view import View

NO_BROKER = "no broker is known"
NO_RACK = "no broker has a rack"


def fetch_version(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """A live broker whose highest Fetch is below version 11."""
    rule = "reading-fetch-version"
    for broker in view.cluster.brokers:
        version = view.facts.fetch_versions.get(broker.id)
        if version is None:
            if rule not in view.facts.not_read:
                yield Unchecked(rule, "the broker did not tell", f"broker {broker.id}")
        elif version < FETCH_WITH_RACK:
            yield finding(
                rule,
                broker=broker.id,
                wanted=f"Fetch version {FETCH_WITH_RACK} or later",
                had=f"{version}",
                hint="upgrade the broker: a client's rack is heard from Kafka 2.4 on",
            )


def broker_rack(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Brokers without `broker.rack`; one finding where that is all of them."""
    rule, hint = "reading-broker-rack", "set broker.rack in server.properties, restart the broker"
    if not view.racks:
        yield Unchecked(rule, NO_BROKER)
    elif not view.rack_names:
        yield finding(
            rule,
            wanted="broker.rack on every broker",
            had=f"no rack on any of {counted(len(view.racks), 'broker')}",
            hint="set broker.rack in every server.properties, restart the brokers one by one",
        )
    else:
        for broker in view.rackless:
            yield finding(rule, broker=broker, wanted="broker.rack", had="no rack", hint=hint)


def rack_kinds(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Brokers whose racks are names of several kinds: one of them is told in a wrong way."""
    rule = "reading-rack-kinds"
    if not view.rack_names:
        yield Unchecked(rule, NO_RACK if view.racks else NO_BROKER)
        return
    examples: dict[str, str] = {}
    for rack in view.rack_names:
        examples.setdefault(zone_kind(rack), rack)
    if len(examples) > 1:
        yield finding(
            rule,
            wanted="racks of one kind",
            had=", ".join(f"{kind} {escaped(rack)}" for kind, rack in sorted(examples.items())),
            hint="name all racks alike; zone names of AWS differ between accounts, zone ids do not",
        )


def selector(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Brokers without RackAwareReplicaSelector; one finding where that is all of them."""
    rule = "reading-selector"
    if not view.racks:
        yield Unchecked(rule, NO_BROKER)
    judged: list[int] = []
    for broker in view.cluster.brokers:
        name = f"broker {broker.id}"
        if not broker.is_live:
            yield Unchecked(rule, "the broker is not live", name)
        elif view.selector(broker.id) is None:
            yield Unchecked(rule, f"{REPLICA_SELECTOR} was not readable", name)
        elif not view.is_old(broker.id):
            judged.append(broker.id)
    lacking = {broker: view.selector(broker) for broker in judged if view.lacks_selector(broker)}
    yield from _without_selector(lacking, judged, is_whole=len(judged) == len(view.racks))


def _without_selector(
    lacking: Mapping[int, str | None], judged: Sequence[int], *, is_whole: bool
) -> Iterator[ReadingFinding]:
    hint = (
        f"set {REPLICA_SELECTOR}={RACK_AWARE_SELECTOR} in server.properties; only the leader of a "
        "partition sends a client elsewhere, so every broker needs it; restart the broker"
    )
    values = sorted({value or UNSET for value in lacking.values()})
    if is_whole and len(lacking) == len(judged) > 1:
        shown = ", ".join(_shown(value) for value in values)
        yield finding(
            "reading-selector",
            wanted=f"{REPLICA_SELECTOR} {RACK_AWARE_SELECTOR} on every broker",
            had=f"{shown} on all {counted(len(judged), 'broker')}",
            hint=hint,
        )
        return
    for broker, value in lacking.items():
        yield finding(
            "reading-selector",
            broker=broker,
            wanted=f"{REPLICA_SELECTOR} {RACK_AWARE_SELECTOR}",
            had=_shown(value or UNSET),
            hint=hint,
        )


def _shown(value: str) -> str:
    return escaped(value) if value else "none"
