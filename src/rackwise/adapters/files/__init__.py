"""Files: every format that Rackwise reads or writes, strictly and whole.

```
snapshot/                 rackwise.snapshot/1: a cluster at one moment
plan/                     rackwise.plan/1, and Kafka's own reassignment JSON
policy                    rackwise.policy/1
tables/                   CSV tables: prices, subnets, rates, weights; rackwise-rates/1
split                     rackwise-split/1, for producers
identity/                 the store of broker ids in a directory
bounded_read  writing     one file: read within a cap, written whole or not at all
publishing                one result folder: the old result or the new one
journal  state_folder     what runs of apply remember
```

Each name is resolved when it is first asked for: who starts a broker reads no policies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
    from rackwise.adapters.files.plan.read import parse_plan, plan_policy, plan_prices, read_plan
    from rackwise.adapters.files.plan.reassignment import (
        parse_placement,
        read_placement,
        read_reassignment,
        reassignment_text,
        write_reassignment,
    )
    from rackwise.adapters.files.plan.write import (
        plan_body,
        plan_bytes,
        policy_sha256,
        sealed,
        sealed_for,
        totals_json,
        write_plan,
    )
    from rackwise.adapters.files.policy import PolicyFile, parse_policy, read_policy
    from rackwise.adapters.files.publishing import (
        Published,
        check_out,
        free_run,
        publish,
        read_published,
    )
    from rackwise.adapters.files.snapshot.read import parse_snapshot, read_snapshot
    from rackwise.adapters.files.snapshot.write import fingerprint, snapshot_bytes, write_snapshot
    from rackwise.adapters.files.split import (
        SplitFile,
        parse_split,
        read_split,
        split_text,
        write_split,
    )
    from rackwise.adapters.files.tables.prices import (
        parse_prices,
        price_table,
        read_prices,
        shipped_price_table,
        shipped_prices,
    )
    from rackwise.adapters.files.tables.rack_rates import (
        RackRatesFile,
        parse_rack_rates,
        rack_rates_text,
        read_rack_rates,
        write_rack_rates,
    )
    from rackwise.adapters.files.tables.rates import (
        parse_clients,
        parse_rates,
        read_clients,
        read_rates,
    )
    from rackwise.adapters.files.tables.subnets import read_subnets
    from rackwise.adapters.files.tables.weights import parse_weights, read_weights
    from rackwise.adapters.files.writing import csv_text, packed, write_bytes, write_text

_NAMES = {
    "plan.read": (
        "parse_plan",
        "plan_policy",
        "plan_prices",
        "read_plan",
    ),
    "plan.write": (
        "plan_body",
        "plan_bytes",
        "policy_sha256",
        "sealed",
        "sealed_for",
        "totals_json",
        "write_plan",
    ),
    "policy": (
        "PolicyFile",
        "parse_policy",
        "read_policy",
    ),
    "tables.prices": (
        "parse_prices",
        "price_table",
        "read_prices",
        "shipped_price_table",
        "shipped_prices",
    ),
    "publishing": (
        "Published",
        "check_out",
        "free_run",
        "publish",
        "read_published",
    ),
    "tables.rack_rates": (
        "RackRatesFile",
        "parse_rack_rates",
        "rack_rates_text",
        "read_rack_rates",
        "write_rack_rates",
    ),
    "tables.rates": (
        "parse_clients",
        "parse_rates",
        "read_clients",
        "read_rates",
    ),
    "bounded_read": (
        "MAX_BYTES",
        "read_bytes",
    ),
    "plan.reassignment": (
        "parse_placement",
        "read_placement",
        "read_reassignment",
        "reassignment_text",
        "write_reassignment",
    ),
    "snapshot.read": (
        "parse_snapshot",
        "read_snapshot",
    ),
    "snapshot.write": (
        "fingerprint",
        "snapshot_bytes",
        "write_snapshot",
    ),
    "split": (
        "SplitFile",
        "parse_split",
        "read_split",
        "split_text",
        "write_split",
    ),
    "tables.subnets": ("read_subnets",),
    "tables.weights": (
        "parse_weights",
        "read_weights",
    ),
    "writing": (
        "csv_text",
        "packed",
        "write_bytes",
        "write_text",
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "MAX_BYTES",
    "PolicyFile",
    "Published",
    "RackRatesFile",
    "SplitFile",
    "check_out",
    "csv_text",
    "fingerprint",
    "free_run",
    "packed",
    "parse_clients",
    "parse_placement",
    "parse_plan",
    "parse_policy",
    "parse_prices",
    "parse_rack_rates",
    "parse_rates",
    "parse_snapshot",
    "parse_split",
    "parse_weights",
    "plan_body",
    "plan_bytes",
    "plan_policy",
    "plan_prices",
    "policy_sha256",
    "price_table",
    "publish",
    "rack_rates_text",
    "read_bytes",
    "read_clients",
    "read_placement",
    "read_plan",
    "read_policy",
    "read_prices",
    "read_published",
    "read_rack_rates",
    "read_rates",
    "read_reassignment",
    "read_snapshot",
    "read_split",
    "read_subnets",
    "read_weights",
    "reassignment_text",
    "sealed",
    "sealed_for",
    "shipped_price_table",
    "shipped_prices",
    "snapshot_bytes",
    "split_text",
    "totals_json",
    "write_bytes",
    "write_plan",
    "write_rack_rates",
    "write_reassignment",
    "write_snapshot",
    "write_split",
    "write_text",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
