"""The broker id of each host: KIP-426 from outside, for unmodified brokers.

```
facts              Observation  LocalLogDir  MetaProperties  Registration  Claim  Owner  KeyMapping
the decision       decide(observation, rules) -> Take | WaitFor | Generate | ReadMore | Refuse
its commit         operations(take, observation) -> Check | Absent | Create | Put | Delete
a whole start      step(state, event); of a watcher: watch_step(state, event)
bytes and values   parse_properties  parse_meta  parse_mapping  parse_registration  format_...
the store          IdentityStore, ClusterView: protocols that the adapters implement
```

All of it is pure: time is an argument, and nothing is read or written here.
"""

from __future__ import annotations

from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import (
    Claim,
    Decision,
    Generate,
    How,
    KeyMapping,
    LocalLogDir,
    MetaProperties,
    Mode,
    Observation,
    Owner,
    ReadMore,
    Refuse,
    Registration,
    Rules,
    Take,
    WaitFor,
)
from rackwise.core.identity.nodes.keys import key_problem
from rackwise.core.identity.nodes.meta import format_meta, parse_meta
from rackwise.core.identity.nodes.nodes import format_mapping, parse_mapping, parse_registration
from rackwise.core.identity.nodes.store import (
    Absent,
    Check,
    ClusterView,
    Create,
    Delete,
    IdentityStore,
    Op,
    Put,
    StoredNode,
)
from rackwise.core.identity.operator.garbage import garbage
from rackwise.core.identity.start.actions import Action, Event, Launch, Starting
from rackwise.core.identity.start.operations import operations
from rackwise.core.identity.start.step import step
from rackwise.core.identity.watch import Watching, watch_step
from rackwise.core.java_properties import parse_properties

__all__ = [
    "Absent",
    "Action",
    "Check",
    "Claim",
    "ClusterView",
    "Create",
    "Decision",
    "Delete",
    "Event",
    "Generate",
    "How",
    "IdentityStore",
    "KeyMapping",
    "Launch",
    "LocalLogDir",
    "MetaProperties",
    "Mode",
    "Observation",
    "Op",
    "Owner",
    "Put",
    "ReadMore",
    "Refuse",
    "Registration",
    "Rules",
    "Starting",
    "StoredNode",
    "Take",
    "WaitFor",
    "Watching",
    "decide",
    "format_mapping",
    "format_meta",
    "garbage",
    "key_problem",
    "operations",
    "parse_mapping",
    "parse_meta",
    "parse_properties",
    "parse_registration",
    "step",
    "watch_step",
]
