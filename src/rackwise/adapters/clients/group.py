"""One member of a consumer group, for any client: what it sends, answers and requests.

Every member sends its rack and its partitions. The coordinator makes one member the leader. The
leader receives what all members sent and computes the assignment of all of them.

```
client calls      here          what happens
metadata          subscription  says topics, rack, what it has or had
assign            answer        leader only: members, racks, assignor, answer
on_assignment     settled       remembers; shall there be another round?
metadata update   observe       leader only: have racks of replicas changed for good?
```

How a member reports the partitions that it has (`Travel`):

```
no       range, roundrobin    -
sticky   sticky               Java's user data; given up before the member joins
owned    cooperative-sticky   owned of the subscription, kept while the group assigns;
         rack-optimal         an eager member's memory goes into our blob instead
```

Nothing raises here. Where the assignor fails, the error is counted, kept and logged. The group
then continues without racks: by `cooperative-sticky` where members keep their partitions, else by
`range`.

A leader that withheld partitions requests the next round. The leader also requests another round
when racks change, during this round or later, but at most one in `min_interval_ms`. A change inside
that time leads to a request at the first update of metadata after it.

A static member that comes back gets its old partitions without a round, and no leader reads its new
subscription (KIP-345). So the leader sends each member of ours a note with the rack that it
assigned for. A member that came back in another rack requests one round, once in its life. Its next
join says `rack_before`, because the coordinator ignores a join with unchanged bytes. A leader that
came back is not told by the coordinator that it leads; it learns that from its note, and watches.

Three mistakes are logged, because nothing else shows them. A member that was never attached is
logged once, and so is one without a rack or in a rack of no broker. A leader that answers many
rounds and receives no partitions is logged every `FRUITLESS` rounds: its client discards joins that
end between two short polls.

What this does not do: input and output, threads, or anything with a client.

Source: KIP-429, KIP-881; `ConsumerCoordinator` (Kafka 3.5 and later).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rackwise.adapters.clients.member_warnings import (
    warn_fruitless,
    warn_rack,
    warn_unattached,
)
from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.measure.evaluate import AssignmentReport, evaluate
from rackwise.core.assignors.members import (
    NO_GENERATION,
    Assignment,
    Member,
    Members,
    ReplicaRacks,
    TopicPartition,
)
from rackwise.core.assignors.settle import Settling, settle_step, without_racks
from rackwise.core.assignors.watch import (
    MIN_INTERVAL_MS,
    RackView,
    RackWatch,
    Rejoin,
    rack_watch_step,
)
from rackwise.core.errors import InvalidConfig, RemoteProtocolError
from rackwise.core.text import counted, escaped
from rackwise.core.wire.consumer import (
    Blob,
    LeaderNote,
    Subscription,
    decode_blob,
    decode_cooperative_user_data,
    decode_leader_note,
    decode_sticky_user_data,
    encode_blob,
    encode_cooperative_user_data,
    encode_leader_note,
    encode_sticky_user_data,
    encode_subscription,
)

LOG = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[Members, ReplicaRacks], Assignment]
Travel: TypeAlias = Literal["no", "sticky", "owned"]
Mode: TypeAlias = Literal["eager", "cooperative"]

FRUITLESS = 5
"""A leader logs a warning after this many answers in a row without an assignment."""

_GENERATION_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedMember:
    """What one member sent, as its client decoded it, and what the coordinator knows of it."""

    member_id: str
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorRule:
    """The kind of an assignor."""

    name: str
    """The name that the group agrees on."""
    travel: Travel = "no"
    mode: Mode = "eager"
    has_java_generation: bool = False
    """Whether user data begin with the generation."""
    settles: bool = False
    """Whether racks are ignored if the group would otherwise rebalance without end."""


@dataclass(slots=True, kw_only=True)
class Participant:
    """The member that this process is. `decide` runs while it leads; `clock` returns seconds."""

    rule: AssignorRule
    decide: Decide
    clock: Callable[[], float]
    rack: str | None = None
    instance_id: str | None = None
    min_interval_ms: int = MIN_INTERVAL_MS
    is_attached: bool = False
    """Whether a consumer calls `observe`; if not, changes of racks are only logged."""
    fallbacks: int = 0
    unreadable: int = 0
    fruitless: int = 0
    """Answers in a row after which this member received no assignment."""
    last_error: BaseException | None = None
    topics: frozenset[str] = frozenset()
    _owned: tuple[TopicPartition, ...] = ()
    _generation: int = NO_GENERATION
    _rack_before: str | None = None
    """The rack that the group assigned for when this member came back in another one."""
    _ours: set[str] = field(default_factory=set)
    """Members of the last answer that have our assignors."""
    _is_warned: bool = False
    _is_rack_judged: bool = False
    _leads: bool = False
    _watches: bool = False
    _resumes: bool = False
    """Whether it watches from the next view on, as a leader that came back without a round."""
    _watch: RackWatch = field(default_factory=RackWatch)
    _settling: Settling = field(default_factory=Settling)
    _last: tuple[Assignment, Members, ReplicaRacks] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.rack, str | None):
            raise InvalidConfig(
                f"expected a rack as text, got {escaped(repr(self.rack))}",
                wanted="a rack as text",
                had=self.rack,
                hint="the text of client.rack, or None",
            )

    @property
    def last_report(self) -> AssignmentReport | None:
        """The evaluation of this member's last answer; None if it made none."""
        return None if self._last is None else evaluate(*self._last)

    def now_ms(self) -> int:
        """The clock, in whole milliseconds."""
        return int(self.clock() * 1000)

    def subscription(
        self, topics: Iterable[str], *, has: Iterable[TopicPartition] | None = None
    ) -> bytes:
        """The user data of a join. `has`: partitions of the client now, None if it is unknown."""
        self._leads = self._watches = self._resumes = False
        self.topics = frozenset(topics)
        owned = self._owned if has is None else tuple(has)
        is_lost = bool(self._owned) and not owned
        generation = NO_GENERATION if is_lost else self._generation
        keeps = self.rule.mode == "cooperative"
        self._warn_unattached()
        return encode_subscription(
            Subscription(
                topics=tuple(topics),
                user_data=self._user_data(generation),
                owned=owned if keeps else (),
                generation=generation if keeps else NO_GENERATION,
                rack=self.rack,
            )
        )

    def answer(self, told: Sequence[ReportedMember], view: RackView) -> Assignment:
        """The assignment of all members, computed by this member as the leader."""
        self._leads = True
        self._warn_fruitless()
        self._log_unasked(view)
        self._watch = self._watch.after_assignment(view)
        self._ours.clear()
        members = {each.member_id: self._member(each) for each in told}
        known = self._watch.known
        racks = {
            topic: [[known.get(broker) for broker in brokers] for brokers in partitions]
            for topic, partitions in view.replicas.items()
        }
        try:
            made = self._decided(members, racks)
        except Exception as error:  # noqa: BLE001, whatever it is, the group must go on
            self.failed(error)
            made = plainly(members, racks, self.rule.mode)
        self._last = (made, members, racks)
        return made

    def note_for(self, member_id: str) -> bytes:
        """The user data of a member's assignment; only members of ours receive any."""
        if self._last is None or member_id not in self._ours:
            return b""
        member = self._last[1][member_id]
        is_leader = self.instance_id is not None and member.instance_id == self.instance_id
        return encode_leader_note(member.rack, is_leader=is_leader)

    def settled(
        self,
        partitions: Iterable[TopicPartition],
        generation: int,
        view: RackView | None,
        user_data: bytes | None = None,
    ) -> bool:
        """Remember this member's partitions; True if it should request another round.

        `user_data`: those of its assignment.
        """
        self._owned, self._generation, self.fruitless = tuple(partitions), generation, 0
        if view is not None:
            self.saw(view.brokers)
            self._warn_rack()
        note, is_due = self._note(user_data), False
        if self._leads and self._last is not None:
            self._watches = True
            is_due = view is not None and self.observe(view)
            is_due |= bool(self._last[0].withheld)
        elif note is not None and note.is_leader:
            self._watches = self._resumes = True
            is_due = view is not None and self.observe(view)
        return self._is_elsewhere(note) or is_due

    def _note(self, user_data: bytes | None) -> LeaderNote | None:
        try:
            return decode_leader_note(user_data)
        except RemoteProtocolError as error:
            self.unreadable += 1
            LOG.warning("%s: user data of the assignment: %s", self.rule.name, error)
            return None

    def _is_elsewhere(self, note: LeaderNote | None) -> bool:
        """Whether the group assigned for another rack of this member, and it did not ask yet."""
        if note is None or self.rack in {None, note.rack} or self._rack_before is not None:
            return False
        self._rack_before = note.rack or ""
        LOG.info(
            "%s: this member is in rack %s, the group assigned for %s; asking for a new assignment",
            self.rule.name,
            escaped(self.rack or ""),
            escaped(note.rack or "no rack"),
        )
        return True

    def observe(self, view: RackView) -> bool:
        """Whether the racks that the last answer used have changed permanently."""
        if not self._watches:
            self.saw(view.brokers)
            return False
        if self._resumes:
            self._resumes = view.replicas.keys() != self.topics  # not all metadata may be here yet
            self._watch = self._watch.after_assignment(view)
            return False
        self._watch, action = rack_watch_step(
            self._watch, view, rack=self.rack, min_interval_ms=self.min_interval_ms
        )
        if isinstance(action, Rejoin):
            LOG.info(
                "%s: racks of %s changed, asking for a new assignment",
                self.rule.name,
                counted(len(action.changes), "partition"),
            )
            return True
        return False

    @property
    def is_watching(self) -> bool:
        """Whether it leads, has answered, and requests a round when racks change."""
        return self._watches

    def saw(self, brokers: Mapping[int, str | None]) -> None:
        """Remember racks of live brokers: a broker may be down when this member becomes leader."""
        self._watch = self._watch.with_brokers(brokers)

    def plain_subscription(self, topics: Iterable[str]) -> bytes:
        """The user data of a join after an error; partitions that the member keeps stay in it."""
        keeps = self.rule.mode == "cooperative"
        return encode_subscription(
            Subscription(
                topics=tuple(topics),
                owned=self._owned if keeps else (),
                generation=self._generation if keeps else NO_GENERATION,
            )
        )

    def failed(self, error: BaseException) -> None:
        """Count, keep and log an error that must not leave a callback."""
        self.fallbacks += 1
        LOG.error("%s failed, going on without racks", self.rule.name, exc_info=error)
        self.last_error = error.with_traceback(None)  # its frames would keep the consumer alive

    def _warn_unattached(self) -> None:
        if not (self.is_attached or self._is_warned):
            self._is_warned = True
            warn_unattached(self.rule.name, self.rack, is_cooperative=self.rule.mode != "eager")

    def _warn_rack(self) -> None:
        if self.is_attached and not self._is_rack_judged:
            self._is_rack_judged = True
            warn_rack(self.rule.name, self.rack, self._watch.known.values())

    def _warn_fruitless(self) -> None:
        """Count this answer; log a warning after many in a row without an assignment."""
        if self.fruitless and self.fruitless % FRUITLESS == 0:
            warn_fruitless(self.rule.name, self.fruitless)
        self.fruitless += 1

    def _log_unasked(self, view: RackView) -> None:
        """Log the changes of racks that lead to no round because no consumer is attached."""
        if self.is_attached or not self._watch.assigned:
            return
        _, action = rack_watch_step(self._watch, view, rack=self.rack, min_interval_ms=0)
        if isinstance(action, Rejoin):
            number = counted(len(action.changes), "partition")
            LOG.info("%s: racks of %s changed since the last round", self.rule.name, number)

    def _decided(self, members: Members, racks: ReplicaRacks) -> Assignment:
        if not self.rule.settles:
            return self.decide(members, racks)
        last = None if self._last is None else self._last[0]
        self._settling, mode = settle_step(self._settling, members, racks, last)
        return self.decide(members if mode == "racks" else without_racks(members), racks)

    def _user_data(self, generation: int) -> bytes:
        travel = self.rule.travel
        memory = self._owned if travel != "no" and self.rule.mode == "eager" else ()
        before = b""
        if travel == "sticky":
            before = encode_sticky_user_data(memory, self._generation)
        elif self.rule.has_java_generation:
            before = encode_cooperative_user_data(generation)
        since = self._generation if memory else NO_GENERATION  # unchanged, a join is no rebalance
        return before + encode_blob(
            self.rack, self.instance_id, since, memory, rack_before=self._rack_before
        )

    def _member(self, told: ReportedMember) -> Member:
        blob, claim = Blob(), (told.owned, told.generation, False)
        try:
            if (found := decode_blob(told.user_data)) is not None:
                blob = found
                self._ours.add(told.member_id)
            claim = self._owned_by(told, blob)
        except RemoteProtocolError as error:
            self.unreadable += 1
            LOG.warning("member %s: user data: %s", escaped(told.member_id), error)
        owned, generation, is_released = claim
        return Member(
            topics=told.topics,
            rack=told.rack or blob.rack,
            instance_id=told.instance_id or blob.instance_id,
            owned=tuple(tp for tp in owned if tp.partition >= 0),
            generation=generation,
            released=is_released,
        )

    def _owned_by(
        self, told: ReportedMember, blob: Blob
    ) -> tuple[tuple[TopicPartition, ...], int, bool]:
        """What a member has, since which generation, and whether it has given that up already."""
        if self.rule.travel == "no":
            return (), NO_GENERATION, False
        if self.rule.travel == "sticky":
            return *decode_sticky_user_data(told.user_data), True
        if blob.owned and not told.owned:
            return blob.owned, blob.generation, True
        generation = told.generation
        if generation == NO_GENERATION and len(told.user_data or b"") == _GENERATION_BYTES:
            generation = decode_cooperative_user_data(told.user_data)
        return told.owned, generation, False


def plainly(members: Members, racks: ReplicaRacks, mode: Mode) -> Assignment:
    """The assignment of a group whose assignor failed; it ignores all racks."""
    assign = assign_cooperative if mode == "cooperative" else assign_range
    return assign(without_racks(members), racks)
