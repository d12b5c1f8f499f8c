"""Who a client is: `User:alice`, as Kafka's own access lists write it.

A client with a certificate is `User:` and the certificate's subject as in RFC 2253, the last part
first: `User:CN=rows,OU=tools,O=Example`. This is Kafka's default, too. Attributes without a short
name, such as `serialNumber`, keep their name here; Kafka writes their number and bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Subject: TypeAlias = "Iterable[Iterable[tuple[str, str]]]"
"""The parts of a certificate's subject as Python's ssl gives them, the most general first."""

KIND = "User:"
MOST_NAME = 256
"""Characters of a user's name: it is written to the log."""
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_SPECIAL = ',=+"\\<>#;'


def principal_of(name: str) -> str:
    """The principal of a user."""
    return KIND + name


def certificate_principal(subject: Subject) -> str | None:
    """The principal of a certificate; None for one without a subject."""
    parts = ["+".join(f"{_SHORT.get(k, k)}={_quoted(v)}" for k, v in part) for part in subject]
    return principal_of(",".join(reversed(parts))) if parts else None


def check_allowed(principals: Sequence[str]) -> frozenset[str]:
    """The principals of `--allow`. Raises `InvalidConfig` for a text that is not `User:NAME`."""
    for each in principals:
        if not each.startswith(KIND) or each == KIND or each == KIND + "*":
            raise InvalidConfig(
                "invalid --allow: expected User:NAME, got "
                f"{escaped(each[:MOST_NAME]) or 'nothing'}",
                wanted="User:NAME",
                had=each[:MOST_NAME],
                hint="write for example --allow User:alice; without --allow, every client that "
                "logs in is allowed",
            )
    return frozenset(principals)


def _quoted(value: str) -> str:
    found = "".join("\\" + each if each in _SPECIAL else each for each in value)
    if value.endswith(" ") and len(value) > 1:
        found = found[:-1] + "\\ "
    return "\\" + found if value.startswith(" ") else found
