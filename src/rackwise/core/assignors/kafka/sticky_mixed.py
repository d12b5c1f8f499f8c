"""The sticky algorithm where members subscribe to different topics: greedy, then balancing moves.

Goals, in order: every partition goes to a subscriber; loads are as equal as subscriptions allow;
owned partitions stay in their member's rack; new ones go where a replica is.

The algorithm.

1. Owned partitions stay with their members, except those of topics that are no longer subscribed
   and those without a replica in the member's rack. Any such drop is a revocation.
2. Partitions are taken by (number of subscribers, topic, partition), members by (load, id). Each
   partition goes to the first subscriber in one of its racks; a partition that finds none goes to
   the first subscriber. A member without rack counts as being in all racks.
3. Topics with one subscriber are set aside, and so are members that hold all they can get and
   nothing else. The other members are in play.
4. Balance. First the new partitions, unless something was revoked; then all partitions. Passes
   repeat until one moves nothing, and stop as soon as loads are balanced. A partition goes to the
   member that owned it in an older generation if that one holds at least 2 fewer than its holder,
   else to the first subscriber if that one does. `movements` may choose another partition instead.
5. Step 4 is undone if three conditions hold: the passes over all partitions moved something, some
   member held something after step 1, and the score did not fall. The score is the sum of load
   differences over pairs of members.

```
m1 topics t      owns t-0 t-1 t-2 t-3       (load, id) after step 1: (0, m2) (4, m1)
m2 topics t, u

step 2   u-0 -> m2                          u has one subscriber and comes first
step 3   u is set aside; m2 can get t too and stays in play
step 4   t-0 -> m2: loads 4 and 1 become 3 and 2, which is balanced
```

Balanced means: the least and the greatest load differ by at most 1, or no member can take a
partition from a member that holds at least 2 more.

What this does not do: consider racks in step 4. Upstream first looks for members with a matching
rack there, but then always moves the partition to the first subscriber, whatever its rack.

Two modes. With `valid=False` the result is upstream's. The older owner may then be a member that
does not subscribe, or a member that was set aside, where upstream throws. Step 4 may not end
either, because a partition that moves instead of another may come from a member with few. Where
upstream throws or never ends, every holder is `NOBODY`. With `valid=True` only subscribers in play
count as older owners, and step 4 ends where it repeats.

Source: KIP-54, KIP-881; `AbstractStickyAssignor.GeneralAssignmentBuilder` (Kafka 3.5 and later).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.movements import Movements
from rackwise.core.assignors.kafka.owned import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.kafka.owned import NumberedGroup, Owned


def assign_mixed(group: NumberedGroup, owned: Owned, *, valid: bool) -> list[int]:
    """The holder of each partition, by number; all are `NOBODY` where upstream has no answer."""
    subscriptions = Subscriptions(group)
    loads = MemberLoads(group, subscriptions)
    is_revoking = loads.keep(owned)
    starts_empty = not any(loads.by_member)
    unassigned = [number for number in subscriptions.order if loads.holders[number] == NOBODY]
    loads.assign(unassigned)
    topics = subscriptions.contested
    loads.set_aside()
    earlier = older_owners(group)
    if valid:
        earlier = {
            number: member
            for number, member in earlier.items()
            if group.topic_of[number] in subscriptions.topics[member] and loads.is_in_play(member)
        }
    before, score = list(loads.holders), loads.score()
    balance = Balancing(loads, earlier)
    if not is_revoking:
        balance.run(number for number in unassigned if group.topic_of[number] in topics)
    has_moved = balance.run(
        number for number in subscriptions.order if group.topic_of[number] in topics
    )
    if balance.throws or (balance.repeats and not valid):
        return [NOBODY] * len(before)
    return before if has_moved and not starts_empty and loads.score() >= score else loads.holders


def older_owners(group: NumberedGroup) -> Mapping[int, int]:
    """Partition -> the member that reported it in the newest generation but the latest one."""
    newest = max(member.generation for member in group.members)
    found: dict[int, int] = {}
    for member in group.walk:
        generation = group.members[member].generation
        if generation < newest:
            for number in group.owned_numbers(member):
                if number not in found or generation > group.members[found[number]].generation:
                    found[number] = member
    return found


class Subscriptions:
    """The topics that each member may get. A topic listed twice counts twice, as for upstream."""

    __slots__ = ("contested", "most", "order", "subscribers", "topics")

    def __init__(self, group: NumberedGroup) -> None:
        places = {topic: place for place, topic in enumerate(group.topics)}
        starts, ends = list(group.starts.values()), list(group.ends.values())
        listed = [
            [places[topic] for topic in member.topics if topic in places]
            for member in group.members
        ]
        # [members], the topics of each member
        self.topics = [frozenset(topics) for topics in listed]
        # topic -> number of subscribers
        self.subscribers = Counter(topic for topics in listed for topic in topics)
        # [members], the number of partitions that the member can get, as upstream counts them
        self.most = [
            len(group.partitions)
            if len(topics) == len(places)
            else sum(ends[topic] - starts[topic] for topic in topics)
            for topics in listed
        ]
        # the topics with two or more subscribers
        self.contested = {topic for topic, count in self.subscribers.items() if count > 1}
        by_subscribers = sorted(range(len(places)), key=lambda topic: self.subscribers[topic])
        # partitions by (number of subscribers, topic, partition)
        self.order = [n for topic in by_subscribers for n in range(starts[topic], ends[topic])]


class MemberLoads:
    """The holders of partitions, and the members in play by (load, id)."""

    def __init__(self, group: NumberedGroup, subscriptions: Subscriptions) -> None:
        self.group = group
        self.subscriptions = subscriptions
        # [partitions], the member that holds the partition, or `NOBODY`
        self.holders = [NOBODY] * len(group.partitions)
        # [members], the number of partitions that the member holds
        self.by_member = [0] * len(group.ids)
        # [topics], member -> number of partitions of the topic that it holds, without zeros
        self.by_topic: list[Counter[int]] = [Counter() for _ in group.topics]
        # (load, member) of the members in play, always sorted
        self.order: list[tuple[int, int]] = []

    def keep(self, owned: Owned) -> bool:
        """Step 1. Returns whether a member had to drop a partition."""
        is_revoking = False
        for member, numbers in enumerate(owned.by_member):
            for number in numbers:
                is_subscribed = self.group.topic_of[number] in self.subscriptions.topics[member]
                if is_subscribed and not self.group.mismatches(member, number):
                    self._hold(number, member)
                else:
                    is_revoking = True
        self.order = sorted((load, member) for member, load in enumerate(self.by_member))
        return is_revoking

    def assign(self, unassigned: Iterable[int]) -> None:
        """Step 2: every unassigned partition goes to a subscriber."""
        unmatched = []
        for number in unassigned:
            member = self._first_matching_subscriber(number)
            if member == NOBODY:
                unmatched.append(number)
            else:
                self.move(number, member)
        for number in unmatched:
            self.move(number, self.first_subscriber(self.group.topic_of[number]))

    def set_aside(self) -> None:
        """Step 3: set aside members that hold all they can get, and no contested partition."""
        contested, most = self.subscriptions.contested, self.subscriptions.most
        contending = {member for topic in contested for member in self.by_topic[topic]}
        self.order = [
            (load, member)
            for load, member in self.order
            if load < most[member] or member in contending
        ]

    def is_in_play(self, member: int) -> bool:
        """Whether the member was not set aside."""
        entry = (self.by_member[member], member)
        place = bisect_left(self.order, entry)
        return self.order[place : place + 1] == [entry]

    def first_subscriber(self, topic: int) -> int:
        """The least loaded subscriber in play."""
        topics = self.subscriptions.topics
        return next(member for _, member in self.order if topic in topics[member])

    def move(self, number: int, member: int) -> None:
        """Move a partition to a member in play, from its holder in play if it has one."""
        last = self.holders[number]
        if last != NOBODY:
            self._reorder(last, -1)
            held = self.by_topic[self.group.topic_of[number]]
            held[last] -= 1
            if not held[last]:
                del held[last]
            self.by_member[last] -= 1
        self._reorder(member, 1)
        self._hold(number, member)

    def is_balanced(self) -> bool:
        """Whether no partition can move to a member in play that holds at least 2 fewer."""
        # Upstream's test: members in order of load, each with the topics not yet checked.
        if not self.order or self.order[0][0] >= self.order[-1][0] - 1:
            return True
        seen: set[int] = set()
        for load, member in self.order:
            if load != self.subscriptions.most[member]:
                topics = self.subscriptions.topics[member] - seen
                seen |= topics
                holders = {holder for topic in topics for holder in self.by_topic[topic]}
                if any(self.by_member[holder] > load + 1 for holder in holders):
                    return False
        return True

    def score(self) -> int:
        """The differences of loads in play, summed over pairs of members."""
        # In ascending order, each load is added once for every smaller one and subtracted once for
        # every greater one.
        count = len(self.order)
        return sum((2 * place + 1 - count) * load for place, (load, _) in enumerate(self.order))

    def _first_matching_subscriber(self, number: int) -> int:
        """The least loaded subscriber in one of the partition's racks, or `NOBODY`."""
        group, topics = self.group, self.subscriptions.topics
        topic = group.topic_of[number]
        for _, member in self.order:
            if topic in topics[member] and not group.mismatches(member, number):
                return member
        return NOBODY

    def _hold(self, number: int, member: int) -> None:
        self.holders[number] = member
        self.by_member[member] += 1
        self.by_topic[self.group.topic_of[number]][member] += 1

    def _reorder(self, member: int, change: int) -> None:
        """Keep `order` sorted when a member's load changes; call it before the load changes."""
        load = self.by_member[member]
        del self.order[bisect_left(self.order, (load, member))]
        insort(self.order, (load + change, member))


class Balancing:
    """Step 4: passes that move partitions until loads are balanced."""

    def __init__(self, loads: MemberLoads, earlier: Mapping[int, int]) -> None:
        self._loads = loads
        # partition -> the member that owned it in an older generation
        self._earlier = earlier
        self._movements = Movements()
        self._numbers = {tp: number for number, tp in enumerate(loads.group.partitions)}
        # A cache: topic -> its first subscriber. Every move changes loads and so clears it.
        self._first: dict[int, int] = {}
        # Whether an older owner that is not in play was looked up, where upstream throws.
        self.throws = False
        # Whether a pass reached an earlier state, so that passes would never end.
        self.repeats = False

    def run(self, numbers: Iterable[int]) -> bool:
        """Run passes until one moves nothing or repeats. Returns whether any partition moved."""
        numbers, has_moved = list(numbers), False
        seen = set()
        while self._run_pass(numbers):
            has_moved = True
            state = tuple(self._loads.holders), self._movements.state()
            if state in seen:
                self.repeats = True
                break
            seen.add(state)
        return has_moved

    def _run_pass(self, numbers: Sequence[int]) -> bool:
        """Visit each partition once. Returns whether any partition moved."""
        has_moved = False
        is_balanced = self._loads.is_balanced()
        for number in numbers:
            if is_balanced or self.throws:
                break
            target = self._find_target(number)
            if target != NOBODY:
                self._move(number, target)
                has_moved = True
                is_balanced = self._loads.is_balanced()
        return has_moved and not self.throws

    def _find_target(self, number: int) -> int:
        """The member that the partition moves to, or `NOBODY`."""
        loads = self._loads
        enough = loads.by_member[loads.holders[number]] - 2
        earlier = self._earlier.get(number, NOBODY)
        if earlier != NOBODY:
            if not loads.is_in_play(earlier):
                self.throws = True
                return NOBODY
            if loads.by_member[earlier] <= enough:
                return earlier
        topic = loads.group.topic_of[number]
        if topic not in self._first:
            self._first[topic] = loads.first_subscriber(topic)
        first = self._first[topic]
        return first if loads.by_member[first] <= enough else NOBODY

    def _move(self, number: int, target: int) -> None:
        """Move the partition, or the one that `movements` chooses in its place."""
        loads, partitions = self._loads, self._loads.group.partitions
        holder = loads.holders[number]
        partition = self._movements.instead_of(partitions[number], holder, target)
        moving = self._numbers[partition]
        self._movements.record(partition, loads.holders[moving], target)
        loads.move(moving, target)
        self._first.clear()
