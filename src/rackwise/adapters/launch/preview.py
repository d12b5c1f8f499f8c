"""A preview of what a start would decide now. It writes nothing and reserves nothing.

It continues where a start would only read more, and stops where a start would generate a number,
wait or write. A later start decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.launch.broker.log_dirs import read_log_dirs
from rackwise.adapters.launch.driver import build_rules
from rackwise.adapters.launch.options import AcquireOptions
from rackwise.adapters.launch.views.gather import observe
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import ReadMore, Refuse
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.identity.start.actions import Gather
from rackwise.core.identity.start.gather import Host

if TYPE_CHECKING:
    from rackwise.adapters.launch.broker.server_properties import ServerProperties
    from rackwise.core.identity.model import Decision
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore


def preview_decision(
    store: IdentityStore, view: ClusterView, properties: ServerProperties, key: str
) -> Decision:
    """Decide as `acquire` with its default rules, for a key and the log dirs of this host.

    A node that cannot be read is a `Refuse`, too. Raises `StoreNotReady` and what the store raises.
    """
    rules = build_rules(AcquireOptions(), properties)
    host = Host(
        mode=properties.mode,
        key=key,
        nonce="",
        endpoints=properties.endpoints,
        configured=properties.configured,
        log_dirs=read_log_dirs(properties.dirs),
        migrating=properties.migrating,
        is_controller=properties.is_controller,
        above=properties.reserved_max,
    )
    try:
        observation = observe(store, view, host, Gather())
        decision = decide(observation, rules)
        while isinstance(decision, ReadMore):
            more = Gather(base=observation, more=decision)
            observation = observe(store, view, host, more)
            decision = decide(observation, rules)
    except StoreCorrupt as error:
        return Refuse(error=error, row="-")
    return decision
