"""Rules about brokers: their version, their racks and their selector (KIP-36, KIP-392).

Only the leader of a partition sends a client to another replica, and every broker leads some
partitions. Therefore each broker needs a rack and the selector. If all brokers lack it, there is
one finding about the cluster; otherwise one for each broker that lacks it. A broker that is too old
for the selector is reported as old, not as a broker without selector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.facts import (
    FETCH_WITH_RACK,
    RACK_AWARE_SELECTOR,
    REPLICA_SELECTOR,
)
from rackwise.core.fetch_diagnosis.view import UNSET, finding, rule
from rackwise.core.fetch_diagnosis.zones import zone_kind
from rackwise.core.findings import Severity, Unchecked
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.fetch_diagnosis.view import FetchView, Results
    from rackwise.core.findings import Finding

NO_BROKER = "no broker is known"
NO_RACK = "no broker has a rack"


@rule(
    "reading-fetch-version",
    Severity.ERROR,
    "a broker is older than Fetch version 11 (Kafka 2.4)",
)
def fetch_version(view: FetchView) -> Results:
    """Brokers whose highest version of Fetch is below 11."""
    for broker in view.cluster.brokers:
        version = view.facts.fetch_versions.get(broker.id)
        if version is None:
            if "reading-fetch-version" not in view.facts.not_read:
                why = "the broker did not report its versions"
                yield Unchecked("reading-fetch-version", why, f"broker {broker.id}")
        elif version < FETCH_WITH_RACK:
            yield finding(
                "reading-fetch-version",
                broker=broker.id,
                wanted=f"Fetch version {FETCH_WITH_RACK} or later",
                had=f"{version}",
                hint="upgrade the broker: Kafka respects a client's rack from version 2.4 on",
            )


@rule("reading-broker-rack", Severity.ERROR, "a broker has no rack")
def broker_rack(view: FetchView) -> Results:
    """Brokers without `broker.rack`; one finding if no broker has one."""
    if not view.racks:
        yield Unchecked("reading-broker-rack", NO_BROKER)
    elif not view.rack_names:
        yield finding(
            "reading-broker-rack",
            wanted="broker.rack on every broker",
            had=f"no rack on any of {counted(len(view.racks), 'broker')}",
            hint="set broker.rack in every server.properties, restart the brokers one by one",
        )
    else:
        for broker in view.rackless:
            yield finding(
                "reading-broker-rack",
                broker=broker,
                wanted="broker.rack",
                had="no rack",
                hint="set broker.rack in server.properties, restart the broker",
            )


@rule("reading-rack-kinds", Severity.WARNING, "racks of brokers are names of several kinds")
def rack_kinds(view: FetchView) -> Results:
    """Brokers whose racks are names of several kinds, so that one kind must be wrong."""
    if not view.rack_names:
        yield Unchecked("reading-rack-kinds", NO_RACK if view.racks else NO_BROKER)
        return
    examples: dict[str, str] = {}
    for rack in view.rack_names:
        examples.setdefault(zone_kind(rack), rack)
    if len(examples) > 1:
        yield finding(
            "reading-rack-kinds",
            wanted="racks of one kind",
            had=", ".join(f"{kind} {escaped(rack)}" for kind, rack in sorted(examples.items())),
            hint="name all racks alike; zone names of AWS differ between accounts, zone ids do not",
        )


@rule("reading-selector", Severity.ERROR, "a broker has no RackAwareReplicaSelector")
def selector(view: FetchView) -> Results:
    """Brokers without RackAwareReplicaSelector; one finding if no broker has it."""
    if not view.racks:
        yield Unchecked("reading-selector", NO_BROKER)
    checked: list[int] = []
    for broker in view.cluster.brokers:
        name = f"broker {broker.id}"
        if not broker.is_live:
            yield Unchecked("reading-selector", "the broker is not live", name)
        elif view.selector(broker.id) is None:
            yield Unchecked("reading-selector", f"{REPLICA_SELECTOR} was not readable", name)
        elif not view.is_old(broker.id):
            checked.append(broker.id)
    lacking = {broker: view.selector(broker) for broker in checked if view.lacks_selector(broker)}
    yield from _without_selector(lacking, checked, is_all=len(checked) == len(view.racks))


def _without_selector(
    lacking: Mapping[int, str | None], checked: Sequence[int], *, is_all: bool
) -> Iterator[Finding]:
    """`lacking`: broker -> its selector; `is_all`: whether all brokers were checked."""
    hint = (
        f"set {REPLICA_SELECTOR}={RACK_AWARE_SELECTOR} in server.properties; only the leader of a "
        "partition sends a client elsewhere, so every broker needs it; restart the broker"
    )
    values = sorted({value or UNSET for value in lacking.values()})
    if is_all and len(lacking) == len(checked) > 1:
        shown = ", ".join(_selector_text(value) for value in values)
        yield finding(
            "reading-selector",
            wanted=f"{REPLICA_SELECTOR} {RACK_AWARE_SELECTOR} on every broker",
            had=f"{shown} on all {counted(len(checked), 'broker')}",
            hint=hint,
        )
        return
    for broker, value in lacking.items():
        yield finding(
            "reading-selector",
            broker=broker,
            wanted=f"{REPLICA_SELECTOR} {RACK_AWARE_SELECTOR}",
            had=_selector_text(value or UNSET),
            hint=hint,
        )


def _selector_text(value: str) -> str:
    return escaped(value) if value else "none"
