"""What a declaration adds to the types of its fields: bounds, patterns, and words for errors.

```
Port: TypeAlias = Annotated[int, Between(0, 65535, "a port")]
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_INTEGER = 2**63 - 1
MAX_ID = 2**31 - 1
"""Broker ids and partition numbers are int32 on the wire."""

ID_HINT = f"ids are integers from 0 to {MAX_ID}, without quotes and without a point"
ID_KEY_HINT = f"write the key as a number from 0 to {MAX_ID}, without leading zeros"
NAME_HINT = "write the name as the cluster has it: not empty, no control character"


@dataclass(frozen=True)
class Between:
    """An integer or a number of `low..high`; `wanted`: the words for it in an error."""

    low: float = 0
    high: float = MAX_INTEGER
    wanted: str = "an integer of 0 or more"
    hint: str | None = None


@dataclass(frozen=True)
class Matching:
    """A text that fits a pattern as a whole."""

    pattern: re.Pattern[str]
    wanted: str
    hint: str | None = None


@dataclass(frozen=True)
class Checked:
    """A text that passes a check; `check` gives the hint for a wrong one, None for a right one."""

    check: Callable[[str], str | None]
    wanted: str


@dataclass(frozen=True)
class Says:
    """Other words for what is expected."""

    wanted: str
    hint: str | None = None


@dataclass(frozen=True)
class Key:
    """The key in the document, where it differs from the name of the field."""

    name: str


@dataclass(frozen=True)
class Rows:
    """A mapping as a list of objects.

    `key`: the member with the key of the mapping; `value`: the member with its value, None where
    the value is an object of its own, whose members stand beside the key.
    """

    key: str
    value: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Once:
    """A list in which each item appears once.

    `what`: the word for an item in an error; `by`: the member that tells items apart, None where
    items are compared as a whole; `is_sorted`: whether the items are sorted when they are read.
    """

    what: str
    by: str | None = None
    is_sorted: bool = False
    hint: str | None = "keep one of the two"


class Omitted:
    """The key may be absent, and is not written where the field has its default."""


class Later:
    """The key is absent in documents of older versions; it is always written."""


class Rest:
    """A mapping of the members that no other field declares; they are written last, by name."""


class Name:
    """A text that is not empty and holds no control character."""


OMITTED: Final = Omitted()
LATER: Final = Later()
REST: Final = Rest()


def _address_hint(text: str) -> str | None:
    """The hint for a text that is not an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return "rackwise snapshot --resolve writes them"
    return None


def _time_hint(text: str) -> str | None:
    """An empty hint for a text that is not a time in UTC."""
    try:
        is_time = text.endswith("Z") and text[10:11] == "T" and bool(datetime.fromisoformat(text))
    except ValueError:
        is_time = False
    return None if is_time else ""


BrokerId: TypeAlias = Annotated[int, Between(0, MAX_ID, "a broker id", ID_HINT)]
BrokerIds: TypeAlias = Annotated[tuple[BrokerId, ...], Says("a list of broker ids")]
PartitionNumber: TypeAlias = Annotated[int, Between(0, MAX_ID, "a partition number")]
Count: TypeAlias = Annotated[int, Between(0, MAX_INTEGER, "a number from 0 on")]
Replicas: TypeAlias = Annotated[int, Between(0, MAX_INTEGER, "a number of replicas")]
Bytes: TypeAlias = Annotated[int, Between(0, MAX_INTEGER, "a size in bytes")]
NanoDollars: TypeAlias = Annotated[int, Between(0, MAX_INTEGER, "nano-dollars")]
Milliseconds: TypeAlias = Annotated[int, Between(wanted="milliseconds since 1970, UTC")]
Signed: TypeAlias = Annotated[int, Between(-(2**63), MAX_INTEGER, "an integer")]
BytesPerSecond: TypeAlias = Annotated[int, Between(0, MAX_INTEGER, "bytes per second")]
ReplicaCounts: TypeAlias = Annotated[tuple[Replicas, ...], Says("a list of numbers")]
ReplicationFactor: TypeAlias = Annotated[int, Between(1, 2**15 - 1, "a number of replicas")]
NameText: TypeAlias = Annotated[str, Name()]
NameOrNull: TypeAlias = Annotated[
    str | None, Name(), Says("a name without control characters, or null")
]
Port: TypeAlias = Annotated[int, Between(0, 65535, "a port")]
IpAddress: TypeAlias = Annotated[str, Checked(_address_hint, "an IP address")]
UtcTime: TypeAlias = Annotated[str, Checked(_time_hint, "a time such as 2026-11-21T08:30:00Z")]
TopicName: TypeAlias = Annotated[str, Name(), Says("a topic name")]
Glob: TypeAlias = Annotated[str, Name(), Says("a glob")]
Globs: TypeAlias = Annotated[tuple[Glob, ...], Says("a list of globs")]
Sha256: TypeAlias = Annotated[str, Matching(re.compile("[0-9a-f]{64}"), "a SHA-256 in hex")]
Sha256OrEmpty: TypeAlias = Annotated[
    str, Matching(re.compile("(?:[0-9a-f]{64})?"), "a SHA-256 in hex")
]
