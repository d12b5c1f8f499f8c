"""When the keys of an issuer are fetched again, and how long old ones are used.

```
age of the keys     the key is known                     it is not
0 .. 5 min          use                                  fetch first
5 min .. 1 h        fetch first; use at once while       fetch first
                    the endpoint fails, and fetch
1 h and more        fetch first                          fetch first
```

A fetch begins at most every 10 s, however many tokens with unknown keys come. A login that finds a
fetch in progress waits for that one. Where nothing may be fetched, a known key below the age of 1 h
is used, and the login fails otherwise.

Goals, in order:

1. While the endpoint answers, a key that the issuer has removed is used for 5 minutes at most.
2. A new key is used by its first token, or 10 s later if a token with an unknown key came before.
3. Clients with invalid tokens cannot make the service burden the issuer.
4. An issuer that is down for an hour locks out no client that has a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

FRESH_S = 300.0
"""Age of keys that are used without a fetch."""
KEPT_S = 3600.0
"""Few tokens live longer, and an issuer that is down signs no new ones."""
PAUSE_S = 10.0
"""Shortest time between the beginnings of two fetches."""


class KeyUse(Enum):
    """What a login does about the keys."""

    USE = "use"
    USE_AND_FETCH = "use and fetch"
    FETCH_FIRST = "fetch first"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAges:
    """Times in seconds, of one clock."""

    read_s: float
    """When the keys were asked for that are used."""
    tried_s: float
    """When keys were asked for the last time."""
    has_failed: bool = False
    """Whether the last attempt failed."""
    is_fetching: bool = False
    """Whether the last attempt has not ended."""


def key_use(ages: KeyAges, now_s: float, *, is_known: bool) -> KeyUse:
    """What a login does whose key is among the keys (`is_known`), or is not."""
    age_s = now_s - ages.read_s
    may_fetch = ages.is_fetching or now_s - ages.tried_s >= PAUSE_S
    if not is_known or age_s >= KEPT_S:
        return KeyUse.FETCH_FIRST if may_fetch else KeyUse.NONE
    if age_s < FRESH_S or not may_fetch:
        return KeyUse.USE
    return KeyUse.USE_AND_FETCH if ages.has_failed else KeyUse.FETCH_FIRST
