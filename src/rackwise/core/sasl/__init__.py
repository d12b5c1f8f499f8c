"""Logins of clients by SCRAM (RFC 5802), and who they are afterwards.

```
gate               which request may come when
scram_messages     what a client sends, read strictly
scram_credentials  salted keys instead of passwords, and their file
scram              the server's side of the exchange
outcome            what a step of a login ends in
principals         who a client is, as Kafka writes it
```
"""

from __future__ import annotations
