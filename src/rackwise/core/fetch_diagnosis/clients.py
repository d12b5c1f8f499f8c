"""The rule about racks of clients: some broker has the rack that a client names.

Kafka compares the rack of a client as a whole text. A client whose rack is almost that of a broker
reads from the leader, as a client without rack does. Such a rack gets a hint of its own:

```
brokers use1-az1 use1-az2      brokers /eu/a /eu/b         brokers a b
client  us-east-1a             client  a                   client  A
        zone name instead of id        levels are missing          case differs
```

While some broker has no rack, an unknown rack of a client may be the rack of that broker. It is
then a finding only if it is almost the rack of another broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.brokers import NO_BROKER, NO_RACK
from rackwise.core.fetch_diagnosis.view import finding, rule
from rackwise.core.fetch_diagnosis.zones import zone_kind
from rackwise.core.findings import Severity, Unchecked
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.fetch_diagnosis.view import FetchView, Results
    from rackwise.core.findings import Finding

ZONE_KINDS = {"aws-zone-id", "aws-zone-name"}


@rule("reading-client-rack", Severity.ERROR, "no broker is in the rack that a client names")
def client_rack(view: FetchView) -> Results:
    """Racks of clients and of members that no broker has: one finding for each rack and group."""
    if not view.client_racks:
        yield Unchecked("reading-client-rack", "no rack of a client is known")
    elif not view.rack_names:
        yield Unchecked("reading-client-rack", NO_RACK if view.racks else NO_BROKER)
    else:
        for rack, group in view.client_racks:
            if rack not in view.rack_names:
                yield _check_rack(view, rack, group)


def _check_rack(view: FetchView, rack: str, group: str | None) -> Finding | Unchecked:
    near = near_miss(rack, view.rack_names)
    if near is None and view.rackless:
        why = "a broker without rack may be in it"
        return Unchecked("reading-client-rack", why, f"client rack {escaped(rack)}")
    racks = names_text(view.rack_names)
    return finding(
        "reading-client-rack",
        group=group,
        client_rack=rack,
        wanted=f"a rack of a broker: {racks}",
        had=escaped(rack),
        hint=near or f"set client.rack to one of the brokers' racks: {racks}",
    )


def near_miss(rack: str, brokers: Sequence[str]) -> str | None:
    """What to do about a rack that is almost a broker's rack; None if it is not.

    >>> near_miss("A", ["a", "b"])
    'racks are compared with their case: write "a"'
    """
    for alike, hint in (
        (lambda other: other.strip() == rack.strip(), "racks are compared with their blanks"),
        (lambda other: other.casefold() == rack.casefold(), "racks are compared with their case"),
        (lambda other: _is_part(rack, other), "racks are compared with all their levels"),
        (lambda other: _is_part(other, rack), "racks are compared with all their levels"),
    ):
        found = [f'"{escaped(other)}"' for other in brokers if alike(other)]
        if found:
            return f"{hint}: write {' or '.join(found)}"
    return _other_kind(rack, brokers)


def _is_part(part: str, path: str) -> bool:
    """Whether a text is one or more consecutive levels of a path."""
    return path.startswith("/") and f"/{part.strip('/')}/" in f"{path}/"


def _other_kind(rack: str, brokers: Sequence[str]) -> str | None:
    """What to do about a rack whose kind of name no broker's rack has."""
    kind = zone_kind(rack)
    others = {zone_kind(other): other for other in reversed(brokers)}
    if kind in others:
        return None
    example = "; ".join(f"{escaped(others[each])} is {each}" for each in sorted(others))
    text = f"{escaped(rack)} is {kind}, racks of brokers are of another kind: {example}"
    if kind in ZONE_KINDS and ZONE_KINDS & others.keys():
        text += "; aws ec2 describe-availability-zones shows which name is which id"
    return text
