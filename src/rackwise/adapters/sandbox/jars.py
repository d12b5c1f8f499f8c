"""The locked jars: found or fetched, and checked by SHA-512 at every use.

`jars.toml` lists each jar once: its Maven coordinate, size, SHA-512 and the sets that contain it.
It contains no address: the hash identifies the jar, so any source will do. The sources in their
order:

```
1 the cache          RACKWISE_CACHE, else XDG_CACHE_HOME/rackwise/jars, else ~/.cache/rackwise/jars
2 Maven's own        ~/.m2/repository
3 a repository       RACKWISE_MAVEN_URL, else Maven Central; over HTTP(S), into the cache
4 mvn                `mvn dependency:get`, where Maven is installed (its settings know mirrors)
```

A damaged jar in 1 or 2 is skipped, and in 1 replaced. A fetched jar that differs from the locked
one is rejected. A jar appears in the cache by a rename, complete or not at all.

What this does not do: resolve dependencies. The lock contains closures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rackwise.adapters.sandbox.fetch import fetch
from rackwise.adapters.sandbox.lock import JarLocations, locked_jars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def resolve(
    name: str,
    *,
    environment: Mapping[str, str] = os.environ,
    advance: Callable[[int], None] = lambda _bytes: None,
) -> list[Path]:
    """Paths of all jars of a set, in the order of the lock, each just checked.

    `advance` is called with the bytes of each jar that is present. Raises `JarMissing`,
    `InvalidConfig`.
    """
    places = JarLocations.of(environment)
    jars = locked_jars(name)
    found: dict[str, Path] = {}
    for jar in jars:
        path = places.find(jar)
        if path is not None:
            found[jar.coordinate] = path
            advance(jar.size)
    missing = [jar for jar in jars if jar.coordinate not in found]
    if missing:
        found |= fetch(missing, places=places, environment=environment, advance=advance)
    return [found[jar.coordinate] for jar in jars]
