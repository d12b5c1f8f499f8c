"""Salted keys that the server has instead of passwords, and the file that holds them.

```
# user = mechanism salt=..,stored_key=..,server_key=..,iterations=..
alice = SCRAM-SHA-512 salt=bXZ..,stored_key=q1c..,server_key=Hh9..,iterations=8192
```

The part after the mechanism is the text that Kafka keeps for a user, with its four keys in any
order and bytes in base64. A user may have one entry for each mechanism.

```
salted_password = PBKDF2(password, salt, iterations)
client_key      = HMAC(salted_password, "Client Key")     stored_key = H(client_key)
server_key      = HMAC(salted_password, "Server Key")
```

**Unknown users.** The salt of a user that the file does not have is a keyed hash of the name, so it
is the same at each login, as the salt of a real user is. The key is a hash of the entries that the
service had when it started, so it is the same after a restart and after a change of the file, and
no user can compute it. After a change *and* a restart it is another one, which an observer of both
can see. Iterations are the most frequent number of the mechanism. If entries differ in iterations
or in the length of their salt, the rarer ones show that their user exists.

Source: RFC 5802 3; Kafka's `ScramCredentialUtils`, `ScramFormatter`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig, RemoteProtocolError
from rackwise.core.sasl.principals import MOST_NAME
from rackwise.core.sasl.scram_messages import from_base64, in_base64
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""Mechanism -> its hash, the weaker first."""
LEAST_ITERATIONS = 4096
"""Clients of Kafka reject fewer."""
MOST_ITERATIONS = 1_000_000
"""A client computes them at each login."""
ITERATIONS = 8192
SALT_BYTES = 24
MOST_SALT = 1024
MOST_BYTES = 1 << 20
"""The largest file."""
_KEYS = ("salt", "stored_key", "server_key", "iterations")
_MOST_DIGITS = 7
_HINT = "write lines with rackwise scram-user NAME, which asks for the password"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """What the server knows of a user's password; the keys are not shown."""

    mechanism: str
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUsers:
    """The entries of a file, and the answer to unknown users."""

    entries: Mapping[tuple[str, str], ScramCredential]
    """(mechanism, user) -> entry."""
    _key: bytes = field(repr=False)
    _usual: Mapping[str, tuple[int, int]]
    """Mechanism -> the most frequent iterations and length of a salt."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that at least one user has."""
        return tuple(each for each in HASHES if each in self._usual)

    def like(self, earlier: ScramUsers) -> ScramUsers:
        """These users, with the salts of unknown ones that `earlier` has."""
        return ScramUsers(self.entries, earlier._key, self._usual)

    def find(self, mechanism: str, user: str) -> tuple[ScramCredential, bool]:
        """The entry of a user and True; for an unknown user one without a password, and False.

        `mechanism` is one of `mechanisms`.
        """
        known = self.entries.get((mechanism, user))
        iterations, size = self._usual[mechanism]
        made = hmac.digest(self._key, f"{mechanism} {user}".encode(), "sha512")
        unknown = ScramCredential(
            mechanism=mechanism,
            salt=hashlib.shake_256(made).digest(size),
            stored_key=made[: _digest_size(mechanism)],
            server_key=made[: _digest_size(mechanism)],
            iterations=iterations,
        )
        return (unknown, False) if known is None else (known, True)


def make_credential(
    password: str, *, mechanism: str, salt: bytes, iterations: int = ITERATIONS
) -> ScramCredential:
    """The keys of a password.

    `salt`: random bytes. Raises `InvalidConfig` for an empty password, an unknown mechanism or
    too few or many iterations.
    """
    _check_choice(mechanism, iterations)
    if not password:
        raise InvalidConfig("invalid password: expected at least one character, got none")
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", name)
    return ScramCredential(
        mechanism=mechanism,
        salt=salt,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", name),
        iterations=iterations,
    )


def write_credential(user: str, credential: ScramCredential) -> str:
    """The line of a user, without a line feed. Raises `InvalidConfig` for a name it cannot hold."""
    _check_user(user, "user")
    keys = (
        f"salt={in_base64(credential.salt)}",
        f"stored_key={in_base64(credential.stored_key)}",
        f"server_key={in_base64(credential.server_key)}",
        f"iterations={credential.iterations}",
    )
    return f"{user} = {credential.mechanism} {','.join(keys)}"


def parse_scram_users(data: bytes, *, where: str) -> ScramUsers:
    """The users of a file. Raises `InvalidConfig` with the line; keys are never shown."""
    if len(data) > MOST_BYTES:
        raise _invalid(where, f"at most {MOST_BYTES} bytes", str(len(data)))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _invalid(where, "UTF-8", "other bytes") from None
    entries: dict[tuple[str, str], ScramCredential] = {}
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        user, entry = _read_line(bare, f"{where}:{number}")
        if (entry.mechanism, user) in entries:
            had = f"a second one of {escaped(user)}"
            raise _invalid(f"{where}:{number}", "one entry for each user and mechanism", had)
        entries[entry.mechanism, user] = entry
    if not entries:
        raise _invalid(where, "at least one user", "none")
    return _users(entries)


def _users(entries: Mapping[tuple[str, str], ScramCredential]) -> ScramUsers:
    key = hashlib.sha512()
    forms: dict[str, Counter[tuple[int, int]]] = {}
    for (mechanism, user), each in sorted(entries.items(), key=lambda pair: pair[0]):
        key.update(f"{mechanism} {user}\n".encode() + each.stored_key + each.server_key)
        form = (each.iterations, len(each.salt))
        forms.setdefault(mechanism, Counter())[form] += 1
    usual = {name: max(found.items(), key=_most_first)[0] for name, found in forms.items()}
    return ScramUsers(entries, key.digest(), usual)


def _most_first(found: tuple[tuple[int, int], int]) -> tuple[int, tuple[int, int]]:
    return found[1], found[0]


def _read_line(line: str, where: str) -> tuple[str, ScramCredential]:
    user, _, entry = line.rpartition(" = ")
    user, (mechanism, _, text) = user.strip(), entry.strip().partition(" ")
    pairs = [each.partition("=") for each in text.strip().split(",")]
    values = {key: value for key, _, value in pairs}
    if mechanism not in HASHES or len(pairs) != len(_KEYS) or set(values) != set(_KEYS):
        wanted = f"USER = {' or '.join(HASHES)} {'=..,'.join(_KEYS)}=.."
        raise _invalid(where, wanted, "another line")
    _check_user(user, where)
    try:
        salt, stored_key, server_key = (from_base64(values[key]) for key in _KEYS[:3])
    except RemoteProtocolError:
        raise _invalid(where, "salt and keys in base64", "other text") from None
    size = _digest_size(mechanism)
    if not 0 < len(salt) <= MOST_SALT or {len(stored_key), len(server_key)} != {size}:
        wanted = f"a salt of 1 to {MOST_SALT} bytes and keys of {size} bytes"
        raise _invalid(where, wanted, "other lengths")
    digits = values["iterations"]
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    iterations = int(digits) if is_number else 0
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        wanted = f"iterations from {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        raise _invalid(where, wanted, "other ones")
    return user, ScramCredential(
        mechanism=mechanism,
        salt=salt,
        stored_key=stored_key,
        server_key=server_key,
        iterations=iterations,
    )


def _digest_size(mechanism: str) -> int:
    return hashlib.new(HASHES[mechanism]).digest_size


def _check_user(user: str, where: str) -> None:
    is_name = user.isprintable() and user == user.strip() and 0 < len(user) <= MOST_NAME
    if is_name and user[0] != "#" and " = " not in user:
        return
    raise _invalid(
        where, f"a name of up to {MOST_NAME} visible characters, no # first, no ' = '", "another"
    )


def _check_choice(mechanism: str, iterations: int) -> None:
    if mechanism not in HASHES:
        wanted = " or ".join(HASHES)
        raise InvalidConfig(
            f"invalid SCRAM mechanism: expected {wanted}, got {escaped(mechanism)[:MOST_NAME]}",
            wanted=wanted,
            had=mechanism[:MOST_NAME],
        )
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        wanted = f"{LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        raise InvalidConfig(
            f"invalid SCRAM iterations: expected {wanted}, got {iterations}",
            wanted=wanted,
            had=iterations,
        )


def _invalid(where: str, wanted: str, had: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid SCRAM users: {escaped(where)}: expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
        hint=_HINT,
        where=where,
    )
