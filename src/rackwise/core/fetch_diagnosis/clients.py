"""Rules about the racks that clients name: does any broker have them.

The rack of a client is compared as a whole text, so a near miss reads from the leader as if there
were no rack at all. What looks like a broker's rack gets a hint of its own:

```
brokers use1-az1 use1-az2      brokers /eu/a /eu/b         brokers a b
client  us-east-1a             client  a                   client  A
        a zone name for an id          levels are missing          another case
```

As long as some broker has no rack, a rack that no broker has may be that broker's: it is then a
finding only if it is a near miss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.brokers import NO_BROKER, NO_RACK
from rackwise.core.fetch_diagnosis.findings import Unchecked, finding, names_text
from rackwise.core.fetch_diagnosis.zones import zone_kind
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.fetch_diagnosis.findings import ReadingFinding
    from rackwise.core.fetch_diagnosis.view import View

RULE = "reading-client-rack"
ZONE_KINDS = {"aws-zone-id", "aws-zone-name"}


def client_rack(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Racks of clients and of members that no broker has: one finding for each rack and group."""
    if not view.client_racks:
        yield Unchecked(RULE, "no rack of a client is known")
    elif not view.rack_names:
        yield Unchecked(RULE, NO_RACK if view.racks else NO_BROKER)
    else:
        for rack, group in view.client_racks:
            if rack not in view.rack_names:
                yield _judged(view, rack, group)


def _judged(view: View, rack: str, group: str | None) -> ReadingFinding | Unchecked:
    near = near_miss(rack, view.rack_names)
    if near is None and view.rackless:
        return Unchecked(RULE, "a broker without rack may be in it", f"client rack {escaped(rack)}")
    racks = names_text([escaped(each) for each in view.rack_names])
    return finding(
        RULE,
        group=group,
        client_rack=rack,
        wanted=f"a rack of a broker: {racks}",
        had=escaped(rack),
        hint=near or f"set client.rack to one of the brokers' racks: {racks}",
    )


def near_miss(rack: str, brokers: Sequence[str]) -> str | None:
    """What to do about a rack that looks like one of the brokers', but is none; None if unlike.

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
    """Whether a text is some levels of a path, from its start, to its end, or between."""
    return path.startswith("/") and f"/{part.strip('/')}/" in f"{path}/"


def _other_kind(rack: str, brokers: Sequence[str]) -> str | None:
    kind = zone_kind(rack)
    others = {zone_kind(other): other for other in reversed(brokers)}
    if kind in others:
        return None
    example = "; ".join(f"{escaped(others[each])} is {each}" for each in sorted(others))
    text = f"{escaped(rack)} is {kind}, racks of brokers are of another kind: {example}"
    if kind in ZONE_KINDS and ZONE_KINDS & others.keys():
        text += "; aws ec2 describe-availability-zones shows which name is which id"
    return text
