"""The server's side of SCRAM: two messages from the client, two answers.

```
client  n,,n=alice,r=NONCE                    first
server  r=NONCE+OURS,s=SALT,i=8192
client  c=biws,r=NONCE+OURS,p=PROOF           final
server  v=SIGNATURE                           or the end
```

The server proves that it knows the user's keys, too. It learns no password: from PROOF it computes
the client's key, whose hash must be the stored key.

An unknown user gets the same messages as a known one with a wrong password, and fails at the same
step: the proof is checked against keys that no password has. Each login has a nonce of its own, so
the messages of another login are rejected.

Source: RFC 5802 3, 5; RFC 7677; Kafka's `ScramSaslServer`.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.outcome import Accepted, Challenge, Rejected
from rackwise.core.sasl.scram_credentials import HASHES
from rackwise.core.sasl.scram_messages import (
    ClientFirst,
    in_base64,
    read_client_final,
    read_client_first,
)

if TYPE_CHECKING:
    from rackwise.core.sasl.outcome import LoginOutcome
    from rackwise.core.sasl.scram_credentials import ScramCredential, ScramUsers


@dataclass(slots=True)
class ScramExchange:
    """One login. `step` is called with each message of the client, and decides."""

    users: ScramUsers
    mechanism: str
    nonce: str
    """Random printable characters without a comma, new for each login."""
    _begun: tuple[ClientFirst, ScramCredential, bool] | None = field(default=None, repr=False)
    """The first message, the entry of its user, and whether there is one."""

    def step(self, data: bytes) -> LoginOutcome:
        """Answer the next message of the client."""
        try:
            if self._begun is None:
                return self._begin(data)
            first, known, is_known = self._begun
            return self._end(data, first, known, is_known=is_known)
        except RemoteProtocolError as error:
            return Rejected(str(error))

    def _begin(self, data: bytes) -> LoginOutcome:
        first = read_client_first(data)
        if first.acts_as not in ("", first.user):
            return Rejected("the client wants to act as another user")
        if first.is_token:
            return Rejected("the client logs in by a delegation token")
        known, is_known = self.users.find(self.mechanism, first.user)
        self._begun = (first, known, is_known)
        return Challenge(self._server_first(first, known).encode())

    def _server_first(self, first: ClientFirst, known: ScramCredential) -> str:
        return f"r={first.nonce}{self.nonce},s={in_base64(known.salt)},i={known.iterations}"

    def _end(
        self, data: bytes, first: ClientFirst, known: ScramCredential, *, is_known: bool
    ) -> LoginOutcome:
        final = read_client_final(data)
        if not hmac.compare_digest(final.nonce, first.nonce + self.nonce):
            return Rejected("the nonce is of another login")
        if final.binding != first.header.encode():
            return Rejected("the header differs from that of the first message")
        signed = f"{first.bare},{self._server_first(first, known)},{final.without_proof}".encode()
        name = HASHES[self.mechanism]
        signature = hmac.digest(known.stored_key, signed, name)
        if len(final.proof) != len(signature):
            return Rejected("the proof has another length")
        client_key = bytes(a ^ b for a, b in zip(final.proof, signature, strict=True))
        found = hashlib.new(name, client_key).digest()
        is_right = hmac.compare_digest(found, known.stored_key)
        if not is_right or not is_known:
            return Rejected("unknown user or wrong password")
        proved = hmac.digest(known.server_key, signed, name)
        return Accepted(first.user, f"v={in_base64(proved)}".encode())
