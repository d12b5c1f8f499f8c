"""The nodes that must exist before the store can be used: checked or created.

```
/brokers  /brokers/ids  /brokers/topics  /brokers/seqid     Kafka's; created if Kafka has not yet
/brokers/hosts  claims  id_owners  missing_ids  known_ids  retired_ids  id_alloc  id_clock    ours
```

In a secured cluster only Kafka's own principal may create nodes below `/brokers`, and it owns what
it creates. So this is done once, logged in as Kafka. Existing nodes and their ACLs stay unchanged.
A different ACL is reported, for the operator to judge.

What this does not do: change ACLs; write anything when it only checks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.security import ACL, ANYONE_ID_UNSAFE, Permissions, make_digest_acl_credential

from rackwise.adapters.zookeeper.address import Address
from rackwise.adapters.zookeeper.config import StoreConfig
from rackwise.adapters.zookeeper.session import CONNECT_S, Session
from rackwise.core.identity.nodes.store import HOSTS, KAFKAS, OURS, Parent, not_ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.zookeeper.store import ZooKeeperStore

_LETTERS = (
    (Permissions.CREATE, "C"),
    (Permissions.DELETE, "D"),
    (Permissions.READ, "R"),
    (Permissions.WRITE, "W"),
    (Permissions.ADMIN, "A"),
)


_CHANGING = Permissions.CREATE | Permissions.DELETE | Permissions.WRITE | Permissions.ADMIN


def mapping_writers(
    store: ZooKeeperStore, settings: StoreConfig, key: str
) -> tuple[str, ...] | None:
    """Return who may overwrite or delete the mapping of a key, or create it; None = not known.

    Our own login is `self`; `world:anyone` is every client. Of a digest only the user is shown.
    """
    path = f"{HOSTS}/{key}"
    acls = store.acls((HOSTS, path))
    parent, own = acls[HOSTS], acls[path]
    if parent is None or (own is None and store.read((path,))[path] is not None):
        return None
    needed = Permissions.CREATE if own is None else Permissions.DELETE
    entries = [each for each in parent if each.perms & (needed | Permissions.ADMIN)]
    changing = Permissions.WRITE | Permissions.ADMIN
    entries += [each for each in own or () if each.perms & changing]
    return tuple(sorted({_shown_who(each, settings) for each in entries}))


def check_znodes(
    url: str, config: StoreConfig | None = None, *, connect_s: float = CONNECT_S
) -> tuple[Parent, ...]:
    """Return the state of each node. Writes nothing. Raises what `open_zookeeper` raises."""
    settings = config or StoreConfig()
    session = Session(Address.parse(url), settings, timeout_s=CONNECT_S, connect_s=connect_s)
    try:
        return _states(session, settings)
    finally:
        session.close()


def create_znodes(
    url: str, config: StoreConfig | None = None, *, connect_s: float = CONNECT_S
) -> tuple[Parent, ...]:
    """Create the missing nodes and the chroot; return the state of each node afterwards.

    Raises what `open_zookeeper` raises, and `MissingPermission` if a node may not be created.
    """
    settings = config or StoreConfig()
    address = Address.parse(url)
    hosts, slash, below = address.connect.partition("/")
    _create_chroot(Address(hosts), slash + below, settings, connect_s)
    session = Session(address, settings, timeout_s=CONNECT_S, connect_s=connect_s)
    try:
        made = {path for path in (*KAFKAS, *OURS) if _create(session, path, settings.acl())}
        states = _states(session, settings)
        return tuple(replace(each, state="made") if each.path in made else each for each in states)
    finally:
        session.close()


def _create_chroot(root: Address, chroot: str, settings: StoreConfig, connect_s: float) -> None:
    """Create every node down to the chroot, readable by all, as Kafka does."""
    if not chroot:
        return
    session = Session(root, settings, timeout_s=CONNECT_S, connect_s=connect_s)
    anyone = [*settings.acl(), ACL(Permissions.READ, ANYONE_ID_UNSAFE)]
    try:
        path = ""
        for name in chroot.strip("/").split("/"):
            path += f"/{name}"
            _create(session, path, anyone if settings.has_login else settings.acl())
    finally:
        session.close()


def _create(session: Session, path: str, acl: list[ACL]) -> bool:
    """Create a node if it is missing; return whether this call created it.

    An existing node needs no right to create. False also if another client created it meanwhile, or
    if the answer was lost.
    """
    if session.gather([path], session.client.exists_async)[path] is not None:
        return False
    acl = _readable_by_all(acl) if path in KAFKAS else acl

    def create() -> Any:  # noqa: ANN401 (a result of the client)
        return session.client.create_async(path, b"", acl=acl)

    try:
        session.call(create, path, right="CREATE")
    except NodeExistsError:
        return False
    except NoNodeError:
        raise not_ready(path) from None
    return True


def _readable_by_all(acl: list[ACL]) -> list[ACL]:
    """Add read access for all: clients and tools read Kafka's nodes."""
    anyone = ACL(Permissions.READ, ANYONE_ID_UNSAFE)
    is_open = any(each.id == ANYONE_ID_UNSAFE for each in acl)
    return acl if is_open else [*acl, anyone]


def _states(session: Session, settings: StoreConfig) -> tuple[Parent, ...]:
    found = session.gather((*KAFKAS, *OURS), session.client.exists_async)
    present = [path for path in OURS if found[path] is not None]
    acls = session.gather(present, session.client.get_acls_async)
    return tuple(
        Parent(path=path, state="present" if found[path] is not None else "missing")
        if path in KAFKAS or acls.get(path) is None
        else _compared(path, acls[path][0], settings)
        for path in (*KAFKAS, *OURS)
    )


def _compared(path: str, had: Sequence[ACL], settings: StoreConfig) -> Parent:
    wanted = settings.acl()
    is_same = _entries(wanted, settings) == _entries(had, settings)
    return Parent(
        path=path,
        state="present" if is_same else "differs",
        wanted=_text(wanted, settings),
        had=_text(had, settings),
        is_open=any(each.id == ANYONE_ID_UNSAFE and each.perms & _CHANGING for each in had),
    )


def _entries(acl: Sequence[ACL], settings: StoreConfig) -> frozenset[tuple[str, int]]:
    """Return (who, permissions) of each entry; our own login is `self`."""
    return frozenset((_who(each, settings), each.perms) for each in acl)


def _who(entry: ACL, settings: StoreConfig) -> str:
    scheme, name = entry.id.scheme, entry.id.id
    if scheme == "auth" or (scheme, name) in _own_identities(settings):
        return "self"
    if scheme == "x509" and settings.certificate is not None:
        return "self"
    return f"{scheme}:{name}"


def _shown_who(entry: ACL, settings: StoreConfig) -> str:
    who = _who(entry, settings)
    return who.rpartition(":")[0] if who.startswith("digest:") else who


def _own_identities(settings: StoreConfig) -> set[tuple[str, str]]:
    """Return the identities that ZooKeeper writes for us where the ACL says `auth`."""
    if settings.user is None or settings.password is None:
        return set()
    if settings.scheme == "sasl":
        return {("sasl", settings.user)}
    digest: Any = make_digest_acl_credential
    return {("digest", digest(settings.user, settings.password.reveal()))}


def _text(acl: Sequence[ACL], settings: StoreConfig) -> str:
    """Format an ACL, such as `self=CDRWA, sasl:kafka=R`; of a digest only the user."""
    shown = []
    for each in acl:
        who = _shown_who(each, settings)
        shown.append(f"{who}={''.join(letter for bit, letter in _LETTERS if each.perms & bit)}")
    return ", ".join(sorted(shown))
