"""Logins of clients of the server, with SASL.

```
login        one client: its stage, its exchange, its session
users        the file of SCRAM users, read again when it changes
offered      the mechanisms, and a new exchange for each login
```
"""

from __future__ import annotations
