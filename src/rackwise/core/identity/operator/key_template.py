"""The key of a running broker, made from its registration: `{host}`, `kafka-{broker.id}`.

```
{host}         the advertised host, lower case                    kafka-7.example.com
{label}        its first label                                    kafka-7
{port}         the advertised port, for several brokers per host  9092
{broker.id}    the id                                             7
```

A key must be the one that `acquire` will make on that host: `hostname` there is the kernel's name
in lower case, an instance is added as `-9092`. A registration does not say it, so the operator
chooses the template. `{host}`, `{label}` and `{port}` need one listener: the named one, or any if
all listeners agree.

Source: KIP-426: "for each node /brokers/ids/N, read the hostname h". The rest is Rackwise's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.keys import check_key
from rackwise.core.identity.refusals import KeyMissing
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rackwise.core.identity.model import Registration

HOST = "{host}"
EXPECTED = "a text with {host}, {label}, {port} or {broker.id}"
_FIELD = re.compile(r"\{([^{}]*)\}")


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]").lower()


def _label(endpoint: str) -> str:
    host = _host(endpoint)
    is_address = ":" in host or host.replace(".", "").isdecimal()
    return host if is_address else host.partition(".")[0]


def _port(endpoint: str) -> str:
    return endpoint.rpartition(":")[2]


_PARTS: Mapping[str, Callable[[str], str]] = {"host": _host, "label": _label, "port": _port}
_ID = "broker.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTemplate:
    """A template, built by `parse`."""

    text: str
    listener: str | None = None
    """The name of the listener whose host and port are used; None = all must agree."""
    allow_unstable: bool = False
    """Whether names that change with the address are accepted."""

    @classmethod
    def parse(
        cls, text: str, *, listener: str | None = None, allow_unstable: bool = False
    ) -> KeyTemplate:
        """Return the template. Raises `InvalidConfig`.

        >>> KeyTemplate.parse("kafka-{broker.id}").text
        'kafka-{broker.id}'
        """
        fields = _FIELD.findall(text)
        rest = _FIELD.sub("", text)
        is_known = all(field in {*_PARTS, _ID} for field in fields)
        if not fields or not is_known or "{" in rest or "}" in rest:
            raise InvalidConfig(
                f"invalid --key: expected {EXPECTED}, got {escaped(text) or 'nothing'}",
                wanted=EXPECTED,
                had=text,
                hint="use for example --key {host}, or --key kafka-{broker.id}",
            )
        name = None if listener is None else listener.upper()
        return cls(text=text, listener=name, allow_unstable=allow_unstable)

    def key_of(self, registration: Registration) -> str:
        """Return the key of a broker.

        Raises `KeyMissing` if its listeners do not say one host or port, `KeyInvalid`,
        `KeyUnstable`.
        """

        def value(found: re.Match[str]) -> str:
            if found[1] == _ID:
                return str(registration.broker_id)
            return self._part(found[1], registration)

        return check_key(_FIELD.sub(value, self.text), allow_unstable=self.allow_unstable)

    def _part(self, name: str, registration: Registration) -> str:
        values = {_PARTS[name](each) for each in self._endpoints(registration)}
        if len(values) == 1:
            (value,) = values
            return check_key(value, allow_unstable=self.allow_unstable or name == "port")
        shown = ", ".join(map(escaped, sorted(values))) or "none"
        names = ", ".join(map(escaped, sorted(registration.listeners)))
        raise KeyMissing(
            f"expected one {name} of id {registration.broker_id}, got {shown}",
            wanted=f"one {name}",
            had=shown,
            hint=f"use --listener with one of {names}, or --key kafka-{{broker.id}}"
            if names
            else "use --key kafka-{broker.id}",
        )

    def _endpoints(self, registration: Registration) -> Collection[str]:
        if self.listener is None:
            return registration.endpoints
        found = registration.listeners.get(self.listener)
        return () if found is None else (found,)
