"""The facts that follow from an observation, before any row of the table is checked.

```
C   configured id          L   registered ids      T   ids in replica lists
m   id on the disks        K   claimed ids         R   ids mapped by other keys
h   id of the own mapping  Z   retired ids         S   spares: T - L - K - Z
O   ids with an owner      U   other keys whose mapping cannot be read
```

A key of U may have every id of T that is not in R.

The literal KIP has no claims and no retired ids: K and Z are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.identity.decision import holders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.identity.model import Claim, LocalLogDir, Observation, Rules

UNSET = -1
"""The value of an id that is not set in Kafka's configuration."""


@dataclass(frozen=True, slots=True)
class Situation:
    """An observation under rules, with the facts that the rows need."""

    seen: Observation
    rules: Rules

    @property
    def configured(self) -> int | None:
        """C; None = not set."""
        return None if self.seen.configured in {None, UNSET} else self.seen.configured

    @property
    def stored(self) -> tuple[tuple[int, str], ...]:
        """The id and path of each file that holds an id, in the order of log dirs."""
        return tuple(
            (each.meta.broker_id, each.path)
            for each in self.seen.log_dirs
            if each.meta is not None and each.meta.broker_id is not None
        )

    @property
    def on_disk(self) -> int | None:
        """m, if the files agree; None = no file holds an id."""
        return self.stored[0][0] if self.stored else None

    @property
    def pinned(self) -> int | None:
        """C, else m."""
        return self.on_disk if self.configured is None else self.configured

    @property
    def mapped(self) -> int | None:
        """h; None = no mapping."""
        return None if self.seen.mapping is None else self.seen.mapping.broker_id

    @property
    def empty_dirs(self) -> tuple[LocalLogDir, ...]:
        """The log dirs that lack the id. An unreadable dir is not known to lack it."""
        return tuple(each for each in self.seen.log_dirs if each.lacks_id(self.seen.mode))

    @property
    def is_guarded(self) -> bool:
        """Whether an id that returns may come back with less data than it had."""
        return not self.rules.literal and bool(self.empty_dirs)

    @property
    def claims(self) -> Mapping[int, Claim]:
        """K."""
        return {} if self.rules.literal else self.seen.claims

    @property
    def retired(self) -> frozenset[int]:
        """Z."""
        return frozenset() if self.rules.literal else self.seen.retired

    def is_ours(self, broker_id: int) -> bool:
        """Return whether an earlier commit of this start claimed it."""
        claim = self.claims.get(broker_id)
        return claim is not None and claim.session == self.seen.session

    def is_held(self, broker_id: int) -> bool:
        """Return whether it is registered, or claimed under another session."""
        is_claimed = broker_id in self.claims and not self.is_ours(broker_id)
        return is_claimed or broker_id in self.seen.registered

    def looks_like_me(self, broker_id: int) -> bool:
        """Return whether its holder may be this broker, a moment ago."""
        return holders.looks_like(
            self.seen.key,
            self.seen.endpoints,
            registration=self.seen.registered.get(broker_id),
            claim=self.claims.get(broker_id),
            owners=self.seen.owners,
        )

    def holder(self, broker_id: int) -> str:
        """Describe the holder for people."""
        return holders.describe_holder(
            registration=self.seen.registered.get(broker_id),
            claim=self.claims.get(broker_id),
            owners=self.seen.owners,
            now_ms=self.seen.now_ms,
        )

    @property
    def spares(self) -> tuple[int, ...]:
        """S, ascending; empty if T was not read."""
        taken = self.seen.registered.keys() | self.claims.keys() | self.retired
        return tuple(sorted((self.seen.used or frozenset()) - taken))

    def grace_left_ms(self, broker_id: int) -> int:
        """Return how long it must still be missing before it may be taken."""
        if self.rules.grace_ms == 0:
            return 0
        since = (self.seen.missing_since_ms or {}).get(broker_id, self.seen.now_ms)
        return max(0, self.rules.grace_ms - (self.seen.now_ms - since))

    def doubtful_keys(self, broker_id: int) -> tuple[str, ...]:
        """Return the keys of other hosts whose unreadable mapping may have this id, sorted.

        An owner does not exclude a key: the id may have been assigned to another key since.
        """
        return () if broker_id in self.seen.reserved else tuple(sorted(self.seen.unreadable))

    def is_allowed(self, broker_id: int) -> bool:
        """Return whether the rules permit this spare, grace aside.

        An id that an unreadable mapping may have is never permitted: that mapping could not be
        removed.
        """
        is_mapped = broker_id in self.seen.reserved
        return not self.doubtful_keys(broker_id) and (self.rules.spare == "any" or not is_mapped)

    @property
    def candidates(self) -> tuple[int, ...]:
        """The spares that the rules permit, ascending."""
        return tuple(
            each
            for each in self.spares
            if self.rules.literal or (self.is_allowed(each) and not self.grace_left_ms(each))
        )
