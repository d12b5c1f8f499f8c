"""The kind of name that a rack is: a path, a zone of a cloud, a number.

The kind is that of the first pattern that the whole text matches:

```
/eu/a/r7           path
use1-az1           aws-zone-id       the same place for every account
us-east-1a         aws-zone-name     another place in another account
us-central1-a      gcp-zone
eastus-1           azure-zone
1                  number
r7                 other
```

What this does not do: know which zones exist.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

ZoneKind: TypeAlias = Literal[
    "path", "aws-zone-id", "aws-zone-name", "gcp-zone", "azure-zone", "number", "other"
]

_PATTERNS: tuple[tuple[ZoneKind, str], ...] = (
    ("path", r"/.*"),
    ("aws-zone-id", r"[a-z]{2,5}\d(-[a-z]{3}\d)?-az\d+"),
    ("aws-zone-name", r"[a-z]{2}(-[a-z]+){1,2}-\d(-[a-z]{3}-\d)?[a-z]"),
    ("gcp-zone", r"[a-z]+-[a-z]+\d+-[a-z]"),
    ("azure-zone", r"[a-z]+\d*-\d+"),
    ("number", r"\d+"),
)


def zone_kind(rack: str) -> ZoneKind:
    """The kind of name that a rack's text is.

    >>> zone_kind("use1-az1"), zone_kind("us-east-1a"), zone_kind("r7")
    ('aws-zone-id', 'aws-zone-name', 'other')
    """
    for kind, pattern in _PATTERNS:
        if re.fullmatch(pattern, rack, re.ASCII | re.DOTALL):
            return kind
    return "other"
