"""Adopts brokers that run without `acquire`: their mappings are written while they run.

A mapping is otherwise written by a start through `acquire`. A broker that never had such a start
would lose its id with its disk. Adoption writes what that start would have written: the mapping,
and the owner of the present registration.

Goals, in order: no mapping that another host needs is changed without `force`; a mapping is written
only for the registration that it was decided for; a second run changes nothing.

Algorithm. For each registered broker the first line that holds decides:

```
its key cannot be made, or two brokers have the same key     rejected
acquire started it under another key that has the id         present; with force its key changes
a start claims the id, or the id is retired                  rejected
the mapping of the key cannot be read                        rejected; with force replaced
the key has another id                                       rejected; with force it changes
another key has the id                                       rejected; with force it loses it
key, id and owner agree                                      present
otherwise                                                    free: one commit writes both nodes
```

Example, template `{host}`:

```
ids/7 h7:9092    hosts/h7 -       free      Create(hosts/h7, 7), Create(id_owners/7, h7)
ids/8 h8:9092    hosts/h8 -> 8    present
ids/1004 h9      hosts/h9 -> 9    rejected  h9 lost its disk before: 9 still has its replicas
```

The owner names the incarnation, so garbage collection treats an adopted mapping as one of a start.
After a start without `acquire` the owner is of an earlier incarnation: then only host names decide,
and a mapping that is no host name is kept. A second adoption renews the owner.

What this does not do: read or write; find out the key that `acquire` will make on that host.

Source: KIP-426: "Existing server should able to upgrade to newer version without explicit action".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import InputError
from rackwise.core.identity.decision.holders import owner_of
from rackwise.core.identity.model import Owner
from rackwise.core.identity.nodes.nodes import delete_mappings, format_owner, write_mapping
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    HOSTS,
    IDS,
    OWNERS,
    RETIRED,
    Absent,
    Check,
    Create,
    Put,
)
from rackwise.core.identity.refusals import name_id
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.identity.model import KeyMapping, Registration
    from rackwise.core.identity.nodes.store import Op
    from rackwise.core.identity.operator.key_template import KeyTemplate
    from rackwise.core.identity.operator.roster import Census, UnreadableNode

AdoptionState: TypeAlias = Literal["free", "adopted", "present", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The adoption of one broker."""

    id: int
    key: str | None
    """None = no key could be made."""
    state: AdoptionState
    """`free`: it can be adopted. `present`: its mapping exists already."""
    before: int | None = None
    """The id that the key had; None = none."""
    taken_from: tuple[str, ...] = ()
    """The keys that lose the id."""
    reason: str = ""
    """Why it is rejected."""
    hint: str = ""
    """What to do after a rejection."""
    ops: tuple[Op, ...] = ()
    """The commit, without the fence; empty unless `free`."""


def adoptions(
    census: Census,
    template: KeyTemplate,
    *,
    ids: Iterable[int] | None = None,
    versions: Mapping[int, int] | None,
    force: bool = False,
) -> tuple[Adoption, ...]:
    """Decide about each registered broker, or about `ids`, in order of ids.

    `versions`: id -> version of its node `ids/N`, without registrations that have changed since;
    None = the store has no registrations.
    """
    keys = {id_: _key_of(template, each) for id_, each in census.registered.items()}
    counts = Counter(each for each in keys.values() if isinstance(each, str))
    wanted = sorted(census.registered if ids is None else set(ids))
    found = []
    for number in wanted:
        registration = census.registered.get(number)
        if registration is None or (versions is not None and number not in versions):
            found.append(_rejected(number, None, "no broker is registered", _ASSIGN))
            continue
        key = keys[number]
        if isinstance(key, InputError):
            found.append(_rejected(number, None, key.message, key.hint or ""))
        elif counts[key] > 1:
            others = sorted(each for each, its in keys.items() if its == key and each != number)
            said = f"id {', '.join(map(str, others))} has the same key"
            found.append(_rejected(number, key, said, _INSTANCE))
        else:
            version = None if versions is None else versions.get(number)
            case = _Case(census, registration, key, version, force=force)
            found.append(case.adoption())
    return tuple(found)


_ASSIGN = "start it, or use broker-id assign KEY ID"
_OTHER_KEY = (
    "if that is the key of this host, use the --key that makes it; if not, use --force to remove "
    "that mapping"
)
_INSTANCE = "use --key {host}-{port}, and --instance PORT in acquire"


def _key_of(template: KeyTemplate, registration: Registration) -> str | InputError:
    try:
        return template.key_of(registration)
    except InputError as error:
        return error


def _rejected(number: int, key: str | None, reason: str, hint: str) -> Adoption:
    return Adoption(id=number, key=key, state="rejected", reason=reason, hint=hint)


@dataclass(frozen=True, slots=True)
class _Case:
    """One registered broker and its key."""

    census: Census
    registration: Registration
    key: str
    version: int | None
    """Of its node `ids/N`; None = the store has no registrations."""
    force: bool

    def adoption(self) -> Adoption:
        census, number, key = self.census, self.registration.broker_id, self.key
        mapping = next((each for each in census.mappings if each.key == key), None)
        others = [e for e in census.mappings if e.broker_id == number and e.key != key]
        owner = owner_of(self.registration, census.owners)
        problem = census.problems.get(f"{HOSTS}/{key}")
        if owner is not None and not self.force and any(e.key == owner.key for e in others):
            return Adoption(id=number, key=owner.key, state="present", before=number)
        reason, hint = self._obstacle(mapping, others, unreadable=problem)
        before = None if mapping is None else mapping.broker_id
        if reason:
            return replace(_rejected(number, key, reason, hint), before=before)
        if before == number and owner is not None and owner.key == key and not others:
            return Adoption(id=number, key=key, state="present", before=before)
        return Adoption(
            id=number,
            key=key,
            state="free",
            before=before,
            taken_from=tuple(each.key for each in others),
            ops=self._operations(mapping, others, has_node=problem is not None),
        )

    def _obstacle(
        self,
        mapping: KeyMapping | None,
        others: list[KeyMapping],
        *,
        unreadable: UnreadableNode | None,
    ) -> tuple[str, str]:
        """Return why the broker is not adopted, and what to do; empty = nothing is in the way."""
        census, number, key = self.census, self.registration.broker_id, escaped(self.key)
        if number in census.claims or f"{CLAIMS}/{number}" in census.problems:
            return "a start claims the id", "wait until that start has ended"
        if number in census.retired:
            return "the id is retired", f"undo it: broker-id retire --undo {number}"
        if self.force:
            return "", ""
        if unreadable is not None:
            hint = name_id(unreadable.hint, self.key, number)
            return f"the mapping of key {key} cannot be read", hint
        if mapping is not None and mapping.broker_id != number:
            return (
                f"key {key} is mapped to id {mapping.broker_id}",
                f"if id {mapping.broker_id} is given up, use --force",
            )
        if others:
            names = ", ".join(escaped(each.key) for each in others)
            return f"id {number} is mapped to {names}", _OTHER_KEY
        return "", ""

    def _operations(
        self, mapping: KeyMapping | None, others: list[KeyMapping], *, has_node: bool
    ) -> tuple[Op, ...]:
        census, number, key = self.census, self.registration.broker_id, self.key
        owner_path = f"{OWNERS}/{number}"
        owner = Owner(
            broker_id=number,
            key=key,
            incarnation=self.registration.incarnation,
            endpoints=self.registration.endpoints,
        )
        has_owner = number in census.owners or owner_path in census.problems
        return (
            *([] if self.version is None else [Check(f"{IDS}/{number}", self.version)]),
            Absent(f"{CLAIMS}/{number}"),
            Absent(f"{RETIRED}/{number}"),
            write_mapping(key, number, mapping, has_node=has_node),
            (Put if has_owner else Create)(owner_path, format_owner(owner)),
            *delete_mappings(others),
        )
