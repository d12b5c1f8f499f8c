"""Logins of clients by SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628), and who they are afterwards.

```
gate               which request may come when
scram_messages     what a client sends, read strictly
scram_credentials  salted keys instead of passwords, and their file
scram              the server's side of the exchange
oauth_message      what a client sends in OAUTHBEARER, read strictly
tokens             a JWT: its header and its claims, read strictly
key_set            the public keys of an issuer, read strictly
key_freshness      when keys are fetched again, and how long old ones are used
token_claims       whether the claims of a token let a client in
oauth              the server's side of the exchange
message_parts      texts and names in messages
outcome            what a step of a login ends in
principals         who a client is, as Kafka writes it
```
"""

from __future__ import annotations
