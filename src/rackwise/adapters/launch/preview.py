"""What a start would decide now, without a session of its own and without writing anything.

It goes on where a start would only look further, and ends where a start would draw a number, wait
or write. Nothing is reserved: the start itself decides again, on what is there then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.launch.broker.log_dirs import read_log_dirs
from rackwise.adapters.launch.driver import rules_of
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
    """What `acquire` with its default rules would decide for a key on this host's log dirs.

    A node that cannot be read is a refusal, too. Raises `StoreNotReady`, what the store raises.
    """
    rules = rules_of(AcquireOptions(), properties)
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
