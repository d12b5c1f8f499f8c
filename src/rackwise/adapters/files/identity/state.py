r"""The state of a directory store as a value: parse it, format it, apply a commit to it.

```
{"format": "rackwise.identity-store/1", "number": 12, "nodes": {
  "/brokers/hosts/h7": {"data": "{\"version\":0,\"broker.id\":7}", "version": 0, "czxid": 9,
                        "mzxid": 9, "created_ms": 1700000000000, "modified_ms": 1700000000000},
  "/brokers/claims/7": {..., "session": 4711, "claim": "7.1f2e"}}}
```

`number` counts commits, as ZooKeeper's zxid does. Data that is not UTF-8 is stored under `base64`.
An ephemeral node exists while the file under `claims` that it names is locked.

What this does not do: read or write files; know which sessions have ended.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import (
    Absent,
    Check,
    Create,
    Delete,
    Put,
    StoredNode,
    conflict,
    not_ready,
    parent_of,
)
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.json.strict import parse
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.nodes.store import Op

FORMAT = "rackwise.identity-store/1"
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_INTEGERS = ("version", "czxid", "mzxid", "created_ms", "modified_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """A node. `mzxid`: the last commit that wrote it; `claim`: its locked file, if ephemeral."""

    data: bytes
    version: int
    czxid: int
    mzxid: int
    created_ms: int
    modified_ms: int
    session: int | None = None
    claim: str | None = None

    def node(self) -> StoredNode:
        """The node as `IdentityStore.read` returns it."""
        return StoredNode(
            data=self.data,
            version=self.version,
            created_ms=self.created_ms,
            modified_ms=self.modified_ms,
            czxid=self.czxid,
            session=self.session,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All nodes by path; `number` of the last commit."""

    number: int
    nodes: Mapping[str, StoredEntry]

    def children(self, path: str) -> list[str]:
        """Names below a node, sorted."""
        return sorted(each.rpartition("/")[2] for each in self.nodes if parent_of(each) == path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The session that commits, and the time. `nonce`: the suffix of its files under `claims`."""

    session: int
    nonce: str
    now_ms: int

    def claim(self, path: str) -> str:
        """The file whose lock keeps an ephemeral node of this session.

        >>> Author(session=1, nonce="1f2e", now_ms=0).claim("/brokers/claims/7")
        '7.1f2e'
        """
        return f"{path.rpartition('/')[2]}.{self.nonce}"


def applied(state: State, ops: Sequence[Op], author: Author) -> State:
    """The state after a commit. Raises `Conflict` or `StoreNotReady` and changes nothing then."""
    number = state.number + 1
    nodes = dict(state.nodes)
    for op in ops:
        _apply(nodes, op, number, author)
    return State(number=number, nodes=nodes)


def _apply(nodes: dict[str, StoredEntry], op: Op, number: int, author: Author) -> None:
    had = nodes.get(op.path)
    match op:
        case Create() | Absent():
            parent = parent_of(op.path)
            if parent not in nodes and parent != "/":
                raise not_ready(parent)
            if had is not None:
                raise conflict(op)
            if isinstance(op, Create):
                nodes[op.path] = _new(op, number, author)
        case Check() | Put() | Delete():
            if had is None or op.version not in {None, had.version}:
                raise conflict(op)
            _change(nodes, op, had, number, author)


def _change(
    nodes: dict[str, StoredEntry],
    op: Check | Put | Delete,
    had: StoredEntry,
    number: int,
    author: Author,
) -> None:
    match op:
        case Put():
            nodes[op.path] = replace(
                had,
                data=op.data,
                version=had.version + 1,
                mzxid=number,
                modified_ms=author.now_ms,
            )
        case Delete():
            if any(parent_of(each) == op.path for each in nodes):
                raise conflict(op)
            del nodes[op.path]
        case Check():
            pass


def _new(op: Create, number: int, author: Author) -> StoredEntry:
    return StoredEntry(
        data=op.data,
        version=0,
        czxid=number,
        mzxid=number,
        created_ms=author.now_ms,
        modified_ms=author.now_ms,
        session=author.session if op.ephemeral else None,
        claim=author.claim(op.path) if op.ephemeral else None,
    )


def format_state(state: State) -> bytes:
    """The content of the file, one line per node; equal states give equal bytes."""
    nodes = ",\n".join(
        f"{_ENCODER.encode(path)}: {_ENCODER.encode(_document(entry))}"
        for path, entry in sorted(state.nodes.items())
    )
    head = f'"format": {_ENCODER.encode(FORMAT)}, "number": {state.number}'
    return f'{{{head}, "nodes": {{\n{nodes}\n}}}}\n'.encode()


def _document(entry: StoredEntry) -> dict[str, object]:
    document: dict[str, object] = {name: getattr(entry, name) for name in _INTEGERS}
    if entry.session is not None:
        document |= {"session": entry.session, "claim": entry.claim}
    try:
        return {"data": entry.data.decode(), **document}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(entry.data).decode(), **document}


def parse_state(data: bytes, *, where: str) -> State:
    """Read the file back. Raises `StoreCorrupt`."""
    try:
        document = parse(data, where=where, error=InvalidConfig)
    except InvalidConfig as error:
        raise StoreCorrupt(error.message, wanted=error.wanted, had=error.had, where=where) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _corrupt(where, "$.format", FORMAT)
    if not _is_integer(document.get("number")) or not isinstance(document.get("nodes"), dict):
        _corrupt(where, "$.number and $.nodes", "an integer and an object")
    return State(
        number=document["number"],
        nodes={path: _entry(told, path, where) for path, told in document["nodes"].items()},
    )


def _entry(told: Any, path: str, where: str) -> StoredEntry:  # noqa: ANN401 (any JSON)
    place = f"$.nodes[{escaped(path)}]"
    if not isinstance(told, dict) or not all(_is_integer(told.get(name)) for name in _INTEGERS):
        _corrupt(where, place, f"an object with integers {', '.join(_INTEGERS)}")
    session, claim = told.get("session"), told.get("claim")
    if not (session is None and claim is None) and not (_is_integer(session) and _is_name(claim)):
        _corrupt(where, place, "session, an integer, and claim, a file name")
    return StoredEntry(
        data=_data(told, place, where),
        session=session,
        claim=claim,
        **{name: told[name] for name in _INTEGERS},
    )


def _data(told: Mapping[str, Any], place: str, where: str) -> bytes:
    text, coded = told.get("data"), told.get("base64")
    if isinstance(text, str) and coded is None:
        return text.encode()
    if isinstance(coded, str) and text is None:
        try:
            return base64.b64decode(coded, validate=True)
        except ValueError:
            pass
    return _corrupt(where, place, "data, a text, or base64")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and "/" not in value and "\0" not in value and len(value) > 2  # noqa: PLR2004 (not . or ..)


def _corrupt(where: str, place: str, wanted: str) -> NoReturn:
    raise StoreCorrupt(
        f"invalid {escaped(where)} at {place}: expected {wanted}, got something else",
        wanted=wanted,
        had="something else",
        where=where,
    )
