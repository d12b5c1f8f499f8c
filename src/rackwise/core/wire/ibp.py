"""Versions of the formats that a broker writes, by software and `inter.broker.protocol.version`.

```
software        IBP                                    registration   UpdateMetadata
before 0.9.0    -                                      1              0
any later       below 0.9.0                            2              0
any later       0.9.0 up to 0.10.0-IV0                 2              1
0.10.0, 0.10.1  0.10.0-IV1 and later                   3              2
from 0.10.2     0.10.0-IV1, 0.10.2-IV0, 1.0-IV0 ..     4              2, 3, 4, 5, 6
from 2.7        2.7-IV0, 2.8-IV1, 3.4-IV0 and later    5              6, 7, 8
```

KIP-36 states registration 2 for 0.9.0.X and 3 for 0.10.0, and Kafka 0.10.0 does exactly that.

An IBP consists of numbers and an optional `-IVn`: three numbers if the first is 0, otherwise two.
Further numbers, as in 0.9.0.X or 0.9.0.1, are ignored. Without `-IV` it is above all interim
versions of its release:

```
0.10.0-IV0 < 0.10.0-IV1 < 0.10.0 = 0.10.0.1 < 0.10.1-IV0 < 1.0-IV0 < 3.9
```

A broker does not start with an IBP above its software. For such a pair the result is what the
software can write.

What this does not do: know every release of Kafka.

Source: KIP-36 "Compatibility, Deprecation, and Migration Plan", kafka.api.ApiVersion,
kafka.zk.BrokerInfo, kafka.controller.ControllerChannelManager.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

Version: TypeAlias = tuple[int, int, int, int]
"""Three numbers of the release, and the interim version; `FINAL` = the release itself."""

Release: TypeAlias = tuple[int, int, int, int]
"""Four numbers of a software's version; absent ones are 0."""

FINAL = 2**31

_IBP = re.compile(r"([0-9]{1,4})((?:\.(?:[0-9]{1,4}|X))+)(?:-IV([0-9]{1,4}))?")
_SOFTWARE = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")
_RELEASE_NUMBERS = 4
_SHOWN = 60

_UPDATE_METADATA = (
    ((3, 4, 0, 0), 8),
    ((2, 8, 0, 1), 7),
    ((2, 4, 0, 1), 6),
    ((2, 2, 0, 0), 5),
    ((1, 0, 0, 0), 4),
    ((0, 10, 2, 0), 3),
    ((0, 10, 0, 1), 2),
    ((0, 9, 0, 0), 1),
)

RACKS_SINCE: Version = (0, 10, 0, 1)
"""0.10.0-IV1, the first with racks."""
RACKS_SOFTWARE: Release = (0, 10, 0, 0)

_FEATURES_SINCE: Version = (2, 7, 0, 0)
_JSON_2: Release = (0, 9, 0, 0)
_JSON_4: Release = (0, 10, 2, 0)
_JSON_5: Release = (2, 7, 0, 0)


def parse_ibp(text: str) -> Version:
    """Parse an IBP to numbers that compare as Kafka's do. Raises `InvalidConfig`.

    >>> parse_ibp("0.10.0-IV1") < parse_ibp("0.10.0.1") < parse_ibp("3.9-IV0")
    True
    """
    found = _IBP.fullmatch(text)
    wanted = 0
    parts: list[str] = []
    if found is not None:
        parts = [found[1], *found[2][1:].split(".")]
        wanted = 3 if found[1].strip("0") == "" else 2
    numbers = [int(part) for part in parts[:wanted] if part != "X"]
    if found is None or len(numbers) < wanted:
        raise InvalidConfig(
            f"expected an inter.broker.protocol.version, got {escaped(text)[:_SHOWN]}",
            wanted="0.9.0, 0.10.0-IV1, 2.7, ..",
            had=text[:_SHOWN],
            hint="three numbers where the first is 0, else two, perhaps with -IVn: 0.10.0, 3.9-IV0",
        )
    numbers += [0] * (3 - wanted)
    return numbers[0], numbers[1], numbers[2], FINAL if found[3] is None else int(found[3])


def parse_software(text: str) -> Release:
    """Parse the version of a broker or a client to four numbers. Raises `InvalidConfig`.

    >>> parse_software("3.9")
    (3, 9, 0, 0)
    """
    if not _SOFTWARE.fullmatch(text):
        raise InvalidConfig(
            f"expected a version of Kafka, got {escaped(text)[:_SHOWN]}",
            wanted="0.9.0.1, 2.8.2, ..",
            had=text[:_SHOWN],
            hint="two to four numbers: 0.9.0.1, 3.9.2",
        )
    numbers = [int(part) for part in text.split(".")]
    numbers += [0] * (_RELEASE_NUMBERS - len(numbers))
    return numbers[0], numbers[1], numbers[2], numbers[3]


def registration_version(ibp: str, *, software: str = "3.9") -> int:
    """Return the version of the registration that such a broker writes. Raises `InvalidConfig`.

    >>> registration_version("0.9.0.X"), registration_version("0.10.0", software="0.10.0")
    (2, 3)
    """
    release, protocol = parse_software(software), parse_ibp(ibp)
    if release < _JSON_2:
        return 1
    if protocol < RACKS_SINCE or release < RACKS_SOFTWARE:
        return 2
    if release < _JSON_4:
        return 3
    return 5 if release >= _JSON_5 and protocol >= _FEATURES_SINCE else 4


def update_metadata_version(ibp: str) -> int:
    """Return the version of UpdateMetadata that a controller sends. Raises `InvalidConfig`.

    >>> update_metadata_version("0.9.0"), update_metadata_version("0.10.0")
    (1, 2)
    """
    protocol = parse_ibp(ibp)
    return next((version for least, version in _UPDATE_METADATA if protocol >= least), 0)
