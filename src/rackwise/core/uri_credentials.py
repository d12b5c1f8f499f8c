"""Whether a URI holds credentials: `SCHEME://USER:SECRET@HOST/PATH`.

The secret may be anything, also one with `/`, as AWS makes them. Its `/` ends what a parser takes
for the host, and its `@` is then in the path: `s3://KEY:abc/def@logs`. So a `:` that begins no port
counts as well. A bucket has no port, so behind `s3://BUCKET` or `gs://BUCKET` each `:` counts.

An `@` of the path is part of a key: `s3://logs/a@b`. The part of an Azure URI before its `@` is
the container: `abfss://CONTAINER@ACCOUNT/PATH`.
"""

from __future__ import annotations

import re

_AUTHORITY_END = re.compile("[/?#]")
_HOST_AND_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]{1,5})?")
"""`HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`."""
_CONTAINER_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Schemes of Azure, whose URIs are `SCHEME://CONTAINER@ACCOUNT/PATH`."""
_BUCKET_SCHEMES = frozenset({"s3", "s3a", "s3n", "gs"})
"""Schemes whose URIs are `SCHEME://BUCKET/KEY`."""


def has_credentials(uri: str) -> bool:
    """Whether a URI names a user, with or without a secret. A path without a scheme does not.

    >>> [has_credentials(f"s3://{each}") for each in ("key:secret@logs/a", "logs/a@b")]
    [True, False]
    >>> [has_credentials(f"s3://{each}") for each in ("KEY:abc/def+ghi@logs/a", "KEY:/12@logs")]
    [True, True]
    >>> [has_credentials(each) for each in ("abfss://logs@x.net/a:b@c", "hdfs://[::1]:9000/a")]
    [False, False]
    """
    scheme, _, rest = uri.lower().partition("://")
    user, at, host = _AUTHORITY_END.split(rest, maxsplit=1)[0].rpartition("@")
    if at and (scheme not in _CONTAINER_SCHEMES or ":" in user):
        return True
    if scheme in _BUCKET_SCHEMES:
        return ":" in host
    return _HOST_AND_PORT.fullmatch(host) is None
