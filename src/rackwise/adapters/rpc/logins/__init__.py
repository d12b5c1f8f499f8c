"""Logins of clients of the server, with SASL.

```
login        one client: its stage, its exchange, its session
users        the file of SCRAM users
changing_file  a file that is read again when it changes
bearer       logins with a token
key_endpoint  the keys of an issuer, from an address or a file
signatures   whether a key signed a token
offered      the mechanisms, and a new exchange for each login
```
"""

from __future__ import annotations
