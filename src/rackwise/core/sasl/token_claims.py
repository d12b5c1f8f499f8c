"""Whether the claims of a signed token let a client in, and who it is.

```
iss  the issuer, exactly          exp  > now - skew         iat  <= now + skew
aud  has the audience             nbf  <= now + skew, if there is one
sub  the user, or another claim
```

The skew is the difference between the clocks of the issuer and the service that is tolerated. The
login lasts until `exp`, as on a broker; that of a token that is accepted after `exp`, until
`exp` + skew.

Every fault names what was expected. Claims are shown in it: they are signed by the issuer.

What this does not do: read `scope`, `azp`, `acr` or the key that a token is bound to (`cnf`), or
remember `jti`. A client sends one token with each of its connections, so a token that comes again
is not an attack by itself.

Source: RFC 7519 4.1; RFC 9068 4; Kafka's `ValidatorAccessTokenValidator`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.core.sasl.outcome import Accepted, Rejected
from rackwise.core.sasl.principals import MOST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

SKEW_S = 30.0
"""As Kafka's `sasl.oauthbearer.clock.skew.seconds`."""
LAST_S = 253_402_300_799
"""The last second of the year 9999."""
LEAST_S = 0.001
"""The shortest login, because a lifetime of 0 ms would mean one without end."""
_SHOWN = 100
"""Characters of a claim in a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """What a token must claim."""

    issuer: str
    audience: str
    principal_claim: str = "sub"
    """The claim whose text is the user's name."""
    skew_s: float = SKEW_S


def judge_claims(
    claims: Mapping[str, Any], rules: TokenRules, *, now_s: float
) -> Accepted | Rejected:
    """The user of a token whose signature is right. `now_s`: seconds since 1970."""
    if claims.get("iss") != rules.issuer:
        return _rejected("iss", rules.issuer, claims)
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if rules.audience not in audiences:
        return _rejected("aud", rules.audience, claims)
    ends_s, begins_s, issued_s = (_seconds(claims, name) for name in ("exp", "nbf", "iat"))
    if ends_s is None or issued_s is None or ("nbf" in claims and begins_s is None):
        return Rejected("the token claims exp, iat or nbf not as seconds since 1970")
    left_s = ends_s - now_s
    lasts_s = left_s if left_s >= LEAST_S else left_s + rules.skew_s
    if lasts_s < LEAST_S:
        return Rejected(f"the token expired {-left_s:.0f} s ago")
    early_s = max(issued_s, begins_s or 0) - now_s
    if early_s > rules.skew_s:
        return Rejected(f"the token begins in {early_s:.0f} s: the clocks differ")
    user = claims.get(rules.principal_claim)
    if not isinstance(user, str) or not _is_name(user):
        wanted = f"a name of up to {MOST_NAME} visible characters"
        return _rejected(rules.principal_claim, wanted, claims)
    return Accepted(user, lasts_s=lasts_s)


def _is_name(text: str) -> bool:
    return text.isprintable() and text == text.strip() and 0 < len(text) <= MOST_NAME


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    found = claims.get(name)
    if not isinstance(found, int | float) or isinstance(found, bool) or not math.isfinite(found):
        return None
    return float(found) if 0 <= found <= LAST_S else None


def _rejected(name: str, wanted: str, claims: Mapping[str, Any]) -> Rejected:
    had = claims.get(name)
    shown = "none" if had is None else repr(had)[:_SHOWN]
    return Rejected(f"the token claims another {name}: expected {wanted[:_SHOWN]}, got {shown}")
