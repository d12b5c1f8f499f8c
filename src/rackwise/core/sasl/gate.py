"""Which request a client may send at which point of its login.

```
              SaslHandshake   SaslAuthenticate   ApiVersions   others
at the start  begin           close              answer        close
begun         reject, close   step               close         close
logged in     begin again     reject             answer        answer
session over  begin again     reject             close         close
```

A client that is logged in may log in again, at most once per second, to stay connected when its
session ends (KIP-368). A rejection has the error ILLEGAL_SASL_STATE.

Source: KIP-152, KIP-368; Kafka's `SaslServerAuthenticator`.
"""

from __future__ import annotations

from enum import Enum

from rackwise.core.wire import api_versions
from rackwise.core.wire.sasl import AUTHENTICATE_KEY, HANDSHAKE_KEY

AGAIN_S = 1.0
"""The shortest time between two logins of one connection."""


class LoginStage(Enum):
    """How far a client is."""

    START = "start"
    BEGUN = "begun"
    OPEN = "open"


class Admission(Enum):
    """What becomes of a request."""

    ANSWER = "answer"
    BEGIN = "begin"
    STEP = "step"
    REJECT = "reject"
    CLOSE = "close"


def admit(
    stage: LoginStage, key: int, *, is_over: bool = False, since_s: float | None = None
) -> Admission:
    """What becomes of a request with this API key.

    `is_over`: whether the session has ended. `since_s`: the time since the last login; None if
    there was none.
    """
    if stage is LoginStage.OPEN:
        if key == HANDSHAKE_KEY:
            is_early = since_s is not None and since_s < AGAIN_S
            return Admission.REJECT if is_early else Admission.BEGIN
        if key == AUTHENTICATE_KEY:
            return Admission.REJECT
        return Admission.CLOSE if is_over else Admission.ANSWER
    if stage is LoginStage.BEGUN:
        known = {AUTHENTICATE_KEY: Admission.STEP, HANDSHAKE_KEY: Admission.REJECT}
        return known.get(key, Admission.CLOSE)
    known = {HANDSHAKE_KEY: Admission.BEGIN, api_versions.API_KEY: Admission.ANSWER}
    return known.get(key, Admission.CLOSE)
