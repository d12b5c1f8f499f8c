"""Keys: the names under which hosts are remembered, and names that are not keys.

A key is the last part of `/brokers/hosts/<key>`, not escaped, because tools read that path: 1 to
249 of `A-Z a-z 0-9 . _ : -`, and not `.` or `..`.

A name that changes with the address of a machine cannot identify it: the next machine would have
another name, or another machine would have this one. Rejected unless they are permitted: names that
begin with `localhost`, addresses, `ip-10-0-0-1` as clouds assign it, and twelve hexadecimal digits,
as containers are named.

Source: KIP-426: "the default hostname is generated from IP address, while IP address changes".
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from rackwise.core.identity.refusals import KeyInvalid, KeyUnstable
from rackwise.core.text import escaped

LONGEST = 249
_EXPECTED = f"1 to {LONGEST} of A-Z a-z 0-9 . _ : -, not . or .."

_KEY = re.compile(rf"[A-Za-z0-9._:-]{{1,{LONGEST}}}")
_OF_AN_ADDRESS = re.compile(r"ip(?:-[0-9]{1,3}){4}(?:[.-].*)?", re.IGNORECASE)
_OF_A_CONTAINER = re.compile(r"[0-9a-f]{12}", re.IGNORECASE)
_SHOWN = 60


def key_problem(key: str) -> str | None:
    """Return why a text is not a key; None = it is one.

    >>> key_problem("a/b")
    'it contains /'
    """
    if key in {"", ".", ".."}:
        return "it is a path, not a name" if key else "it is empty"
    if len(key) > LONGEST:
        return f"it has {len(key)} characters"
    if _KEY.fullmatch(key):
        return None
    odd = next(character for character in key if not _KEY.fullmatch(character))
    return f"it contains {escaped(odd)}"


def unstable_reason(key: str) -> str | None:
    """Return why a key may change with the address; None = nothing suggests it.

    >>> unstable_reason("ip-10-0-0-1.ec2.internal")
    'it is derived from an address'
    """
    if key.casefold().startswith("localhost"):
        return "every host has this name"
    if _is_address(key):
        return "it is an address"
    if _OF_AN_ADDRESS.fullmatch(key):
        return "it is derived from an address"
    return "containers get such random names" if _OF_A_CONTAINER.fullmatch(key) else None


def check_key(key: str, *, allow_unstable: bool = False) -> str:
    """Return the key. Raises `KeyInvalid`, `KeyUnstable`."""
    shown = escaped(key if len(key) <= _SHOWN else key[:_SHOWN] + "...")
    if problem := key_problem(key):
        raise KeyInvalid(
            f"invalid key: expected {_EXPECTED}, got {shown!r}: {problem}",
            wanted=_EXPECTED,
            had=shown,
        )
    reason = unstable_reason(key)
    if reason is not None and not allow_unstable:
        raise KeyUnstable(
            f"invalid key: expected a stable name, got {shown}: {reason}",
            wanted="a stable name",
            had=shown,
        )
    return key


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
