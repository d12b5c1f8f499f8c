"""The address of a Spark Connect server, and a check that it answers before Spark connects.

```
local[2]            a server that is started here, on PORT of loopback
sc://HOST[:PORT]    one that runs; after a / its parameters: sc://spark-1/;use_ssl=true;token=...
```

If no server listens, Spark's own client retries for ten minutes. So the port is tried first.

What this does not do: speak the protocol, or distinguish Spark from another server on that port.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from rackwise.core.errors import InvalidConfig, Unreachable, WorldError
from rackwise.core.text import escaped

PORT = 15002
HERE = "localhost"
ANSWER_S = 10.0


def is_local(place: str) -> bool:
    """Whether a master or a remote runs in this process: `local`, `local[2]`, `local[*]`."""
    return place.partition("[")[0] == "local"


def shown(remote: str) -> str:
    """A remote without its parameters, because a parameter may be a token."""
    return escaped(remote.partition("/;")[0])


def host_of(remote: str) -> str:
    """The host of a remote."""
    return HERE if is_local(remote) else _address(remote)[0]


def check_answers(remote: str) -> None:
    """Raise `Unreachable` if no server listens, and `InvalidConfig` if this is not a remote."""
    host, port = _address(remote)
    try:
        socket.create_connection((host, port), timeout=ANSWER_S).close()
    except OSError as error:
        raise Unreachable(
            f"no Spark Connect server answers at {escaped(host)}:{port}: {_reason(error)}",
            wanted=f"{host}:{port}",
            had=_reason(error),
            hint="start one with sbin/start-connect-server.sh, or leave --remote out",
        ) from error


def check_is_free() -> None:
    """Raise `WorldError` if the port of a server to be started here is already in use."""
    try:
        socket.create_connection(("127.0.0.1", PORT), timeout=1).close()
    except OSError:
        return
    raise WorldError(
        f"expected port {PORT} of this machine to be free for a Spark Connect server, got a "
        "listener",
        wanted=PORT,
        had="taken",
        hint=f"use --remote sc://{HERE} for the server that runs there, or --master local[*]",
    )


def _address(remote: str) -> tuple[str, int]:
    try:
        parts = urlsplit(remote)
        scheme, host, port = parts.scheme, parts.hostname, parts.port or PORT
    except ValueError:
        scheme, host, port = "", None, PORT
    if host is None or scheme != "sc":
        raise InvalidConfig(
            f"invalid --remote: expected sc://HOST[:PORT] or local[N], got {shown(remote)}",
            wanted="sc://HOST[:PORT]",
            had=shown(remote),
            hint="give the URL of a Spark master to --master",
        )
    return host, port


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
