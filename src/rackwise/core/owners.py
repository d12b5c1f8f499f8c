"""Who pays: the owner of each row of the bill, by globs of topics and of client groups.

Goals, in order: every row has exactly one owner, so that the sums by owner are the bill; the owner
of a topic pays for all bytes of the topic; what nobody owns is shown as unowned, not spread.

```
topic,group,owner              topic      group      owner
orders.*,,shop                 orders.eu  batch      shop        the topic decides
*.audit,,security              orders.audit  -       shop        the first row that matches
,batch,data                    clicks     batch      data        no row has the topic: the group
                               clicks     -          (unowned)
                               (unknown)  batch      data        an unknown topic matches no glob
```

A glob is as in the shell: `*`, `?` and `[a-z]`; capital letters count. An unknown topic or group is
no name, so not even `*` matches it.

What this does not do: read the table; share one row between owners.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

UNOWNED = "(unowned)"
"""The owner of rows that no row of the table matches."""

SHOWN = 5
"""Maximum number of overlaps that have a note each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerGlob:
    """One row of a table of owners."""

    glob: str
    """Glob of topic names or of client groups."""
    owner: str
    line: int
    """Line in the file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """A table of owners; the first glob that matches decides."""

    topics: Sequence[OwnerGlob] = ()
    groups: Sequence[OwnerGlob] = ()

    def __bool__(self) -> bool:
        return bool(self.topics or self.groups)

    def of(self, topic: str | None, group: str | None) -> str:
        """The owner of a row; `topic`, `group`: None if unknown.

        >>> shop = OwnerGlob(glob="orders*", owner="shop", line=2)
        >>> Owners(topics=[shop]).of("orders.eu", None), Owners(topics=[shop]).of(None, "batch")
        ('shop', '(unowned)')
        """
        for globs, name in ((self.topics, topic), (self.groups, group)):
            if name is not None and (found := matches(globs, name)):
                return found[0].owner
        return UNOWNED

    def of_topics(self, names: Iterable[str]) -> Mapping[str, str]:
        """Topic -> owner, for the topics that a row matches."""
        return _owners(self.topics, names)

    def of_groups(self, names: Iterable[str]) -> Mapping[str, str]:
        """Client group -> owner, for the groups that a row matches."""
        return _owners(self.groups, names)

    def notes(self, topics: Iterable[str], groups: Iterable[str]) -> list[str]:
        """Notes about globs that overlap with another owner, and about globs without a match."""
        return [
            *_notes(self.topics, sorted(set(topics)), "topic"),
            *_notes(self.groups, sorted(set(groups)), "client group"),
        ]


def matches(globs: Sequence[OwnerGlob], name: str) -> Sequence[OwnerGlob]:
    """The globs that match a name, in their order."""
    return [each for each in globs if fnmatchcase(name, each.glob)]


def _owners(globs: Sequence[OwnerGlob], names: Iterable[str]) -> Mapping[str, str]:
    found = {}
    for name in names:
        first = next((each for each in globs if fnmatchcase(name, each.glob)), None)
        if first is not None:
            found[name] = first.owner
    return found


def _notes(globs: Sequence[OwnerGlob], names: Sequence[str], noun: str) -> list[str]:
    shared: defaultdict[tuple[OwnerGlob, OwnerGlob], list[str]] = defaultdict(list)
    used: set[int] = set()
    for name in names:
        found = matches(globs, name)
        used.update(each.line for each in found)
        for other in found[1:]:
            if other.owner != found[0].owner:
                shared[found[0], other].append(name)
    told = [
        f"owners: {counted(len(both), noun)} of {escaped(first.owner)} (line {first.line}: "
        f"{escaped(first.glob)}) also {'matches' if len(both) == 1 else 'match'} line {other.line} "
        f"({escaped(other.glob)}, {escaped(other.owner)}), such as {escaped(both[0])}; the first "
        "line is used"
        for (first, other), both in shared.items()
    ]
    notes = told[:SHOWN]
    if len(told) > SHOWN:
        notes.append(f"owners: {len(told) - SHOWN} more pairs of lines match one {noun}")
    idle = [each for each in globs if each.line not in used]
    if idle:
        notes.append(
            f"owners: {counted(len(idle), 'line')} {'matches' if len(idle) == 1 else 'match'} no "
            f"{noun} of the run; the first is line {idle[0].line}: {escaped(idle[0].glob)}"
        )
    return notes


NO_OWNERS = Owners()
"""A table without rows: nothing is owned."""
