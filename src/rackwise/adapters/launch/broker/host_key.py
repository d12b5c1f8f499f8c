"""The key of this host, read from the source that the operator names.

```
hostname       the kernel's node name, lower case; no resolver is asked: an outage must not rename
mac:eth0       the address of an interface, lower case with colons
env:POD_NAME   a variable; file:PATH the first line of a file; text:VALUE the value itself
```

Blanks at both ends are removed; nothing else of a variable, a file or a text is changed. If several
brokers share a host, the instance follows the key: `h7-9092`.

Source: KIP-426 identifies a host by its host name. The other sources are Rackwise's own.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.keys import check_key
from rackwise.core.identity.refusals import KeyInvalid, KeyMissing
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCES = "hostname, mac:IFACE, env:NAME, file:PATH or text:VALUE"
INTERFACES = Path("/sys/class/net")
FILE_CAP = 65536
ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
MULTICAST, LOCAL = 1, 2
"""Bits of the first byte of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKey:
    """The key of a host, and warnings about it."""

    text: str
    warnings: tuple[str, ...] = ()


def read_key(
    source: str,
    *,
    environment: Mapping[str, str],
    instance: str | None = None,
    allow_unstable: bool = False,
    interfaces: Path = INTERFACES,
) -> HostKey:
    """Read the key of this host.

    Raises `KeyMissing` if the source is empty, `KeyInvalid` if the key is not a valid node name,
    `KeyUnstable` for names that change with the address unless `allow_unstable`, `InvalidConfig`
    for an unknown kind of source.
    """
    kind, _, name = source.partition(":")
    warnings: tuple[str, ...] = ()
    if source == "hostname":
        text = os.uname().nodename.lower()
    elif kind == "mac" and name:
        text = _address(name, interfaces)
        warnings = _local_warnings(text, name)
    elif kind == "env" and name:
        text = environment.get(name, "")
    elif kind == "file" and name:
        text = _first_line(Path(name))
    elif kind == "text":
        text = name
    else:
        raise InvalidConfig(
            f"invalid --key: expected {SOURCES}, got {escaped(source)!r}",
            wanted=SOURCES,
            had=source,
            hint="use hostname for hosts, env:POD_NAME for pods of a stateful set",
        )
    text = text.strip()
    if not text:
        raise _missing_error(source, "nothing")
    check_key(text, allow_unstable=allow_unstable)
    if instance is not None:
        text = check_key(f"{text}-{instance}", allow_unstable=True)
    return HostKey(text=text, warnings=warnings)


def _missing_error(source: str, had: str) -> KeyMissing:
    return KeyMissing(
        f"expected a name from {escaped(source)}, got {had}",
        wanted="a stable name",
        had=had,
        hint=f"give {escaped(source)} a value, or use another --key",
        where=source,
    )


def _address(interface: str, interfaces: Path) -> str:
    """Read the address of an interface. All zeros and multicast identify no interface."""
    source = f"mac:{interface}"
    if "/" in interface or interface in {".", ".."}:
        raise _missing_error(source, "no such interface")
    try:
        text = (interfaces / interface / "address").read_text("ascii").strip().lower()
    except (OSError, UnicodeDecodeError):
        raise _missing_error(source, "no such interface") from None
    if not ADDRESS.fullmatch(text):
        raise _missing_error(
            source, f"{escaped(text[:100])!r}, which is not an address of six bytes"
        )
    if text == "00:00:00:00:00:00" or int(text[:2], 16) & MULTICAST:
        raise KeyInvalid(
            f"invalid address of {escaped(interface)}: expected neither zero nor multicast, "
            f"got {text}",
            wanted="neither zero nor multicast",
            had=text,
            hint="use a hardware interface",
            where=source,
        )
    return text


def _local_warnings(address: str, interface: str) -> tuple[str, ...]:
    if not int(address[:2], 16) & LOCAL:
        return ()
    text = f"{address} of {escaped(interface)} is locally administered: containers get a new one"
    return (f"{text}; make sure that it does not change",)


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_CAP)
        return data.decode().partition("\n")[0]
    except OSError as error:
        raise _missing_error(f"file:{path}", error.strerror or "no file") from None
    except UnicodeDecodeError:
        raise _missing_error(f"file:{path}", "text that is not UTF-8") from None
