"""Files: every format that Rackwise reads or writes, strictly and whole.

```
snapshot/                 rackwise.snapshot/1: a cluster at one moment
plan/                     rackwise.plan/1, and Kafka's own reassignment JSON
policy  fleet_file        rackwise.policy/1, and rackwise.toml
tables/                   CSV tables: prices, subnets, rates, owners, ..; rackwise-rates/1
split                     rackwise-split/1, for producers
identity/                 the store of broker ids in a directory
bounded_read  writing     one file: read within a cap, written whole or not at all
publishing                one result folder: the old result or the new one
journal  state_folder     what runs of apply remember
```

`__init__.pyi` lists the public names. A name is imported when it is first used, so a broker that
starts does not load the reader of policies.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
