"""`meta.properties`: the id that a log dir belongs to.

Goals, in order: an id is read only if the file states it without doubt; the result for a sound file
is that of Kafka's own reader; a written file is what Kafka would write.

```
version=0            version=1
broker.id=7          node.id=7
cluster.id=YSBj..    cluster.id=YSBj..
                     directory.id=hZdB..
```

Version 0 is ZooKeeper mode's, version 1 KRaft's. A missing version is 0. Each field may be missing
here; the decision table checks which ones are required. Rejected are: more than 64 KiB, a NUL byte,
a byte order mark, a broken escape, a key twice with different values, a version other than 0 or 1,
an id that is not a decimal number in 0..2^31-1, a directory.id that is not 16 bytes in base64url,
begins with `-`, or is reserved by Kafka.

What this does not do: read or write disks; compare log dirs with each other.

Source: org.apache.kafka.metadata.properties.MetaProperties and common.DirectoryId, KIP-631,
KIP-858.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import InvalidProperties
from rackwise.core.identity.model import MetaProperties
from rackwise.core.identity.refusals import MetaUnreadable
from rackwise.core.java_properties import MAX_BYTES, format_properties, property_pairs
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

META = "meta.properties"

_VERSIONS = (0, 1)
_ID_KEYS = ("broker.id", "node.id")
"""By version."""
_NUMBER = re.compile(r"\+?[0-9]{1,20}")
_DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}")
_RESERVED_DIRECTORIES = 100
"""Java compares the lower half as a signed number, if the upper half is 0."""
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_SHOWN = 200


def parse_meta(data: bytes) -> MetaProperties:
    r"""Parse a `meta.properties`.

    Raises `MetaUnreadable` for all that is rejected above.

    >>> parse_meta(b"version=0\nbroker.id=7\n").broker_id
    7
    """
    _check_bytes(data)
    try:
        pairs = property_pairs(data)
    except InvalidProperties as error:
        raise _unreadable(str(error.wanted), str(error.had)) from None
    fields = _distinct(pairs)
    version = _version(fields.pop("version", None))
    broker_id = _id(_ID_KEYS[version], fields.pop(_ID_KEYS[version], None))
    cluster_id = fields.pop("cluster.id", None)
    directory_id = _directory(fields.pop("directory.id", None))
    return MetaProperties(
        version=version,
        broker_id=broker_id,
        cluster_id=cluster_id,
        directory_id=directory_id,
        extra=fields,
    )


def format_meta(meta: MetaProperties) -> bytes:
    r"""Format the file: Kafka's keys in its order, then the others by name; no comment, no time.

    >>> format_meta(MetaProperties(version=0, broker_id=7))
    b'version=0\nbroker.id=7\n'
    """
    fields = {
        "version": str(meta.version),
        _ID_KEYS[meta.version]: None if meta.broker_id is None else str(meta.broker_id),
        "cluster.id": meta.cluster_id,
        "directory.id": meta.directory_id,
    }
    known = {key: value for key, value in fields.items() if value is not None}
    return format_properties(known | {key: meta.extra[key] for key in sorted(meta.extra)})


def format_directory_id(raw: bytes) -> str | None:
    """Format 16 random bytes as a directory.id; None = rejected, draw again."""
    text = base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    return text if _expected_directory(text) is None else None


def _check_bytes(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise _unreadable(f"a file of at most {MAX_BYTES} bytes", f"one of {len(data)}")
    for mark in _BOMS:
        if data.startswith(mark):
            raise _unreadable("no byte order mark", f"byte 0x{data[0]:02X} at 0")
    if (offset := data.find(0)) >= 0:
        raise _unreadable("text", f"byte 0x00 at {offset}")


def _distinct(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, value in pairs:
        if fields.setdefault(key, value) != value:
            had = f"{_shown(fields[key])}, then {_shown(value)}"
            raise _unreadable(f"one value of {_shown(key)}", had)
    return fields


def _version(text: str | None) -> int:
    if text is None:
        return 0
    if not _NUMBER.fullmatch(text) or int(text) not in _VERSIONS:
        raise _unreadable("version 0 or 1", _shown(text))
    return int(text)


def _id(key: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not _NUMBER.fullmatch(text) or int(text) > GREATEST_ID:
        raise _unreadable(f"a {key} from 0 to {GREATEST_ID}", _shown(text))
    return int(text)


def _directory(text: str | None) -> str | None:
    wanted = None if text is None else _expected_directory(text)
    if text is not None and wanted is not None:
        raise _unreadable(wanted, _shown(text))
    return text


def _expected_directory(text: str) -> str | None:
    """Return what a directory.id should be; None = it is valid."""
    if not _DIRECTORY.fullmatch(text):
        return "a directory.id of 16 bytes in base64url that does not begin with -"
    raw = base64.urlsafe_b64decode(text + "==")
    low = int.from_bytes(raw[8:], "big", signed=True)
    if not any(raw[:8]) and low < _RESERVED_DIRECTORIES:
        return "a directory.id that Kafka does not reserve"
    return None


def _shown(text: str) -> str:
    return escaped(text[:_SHOWN]) or "nothing"


def _unreadable(wanted: str, had: str) -> MetaUnreadable:
    return MetaUnreadable(
        f"expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
    )
