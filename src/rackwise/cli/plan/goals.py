"""Goals of `rackwise plan`: parses the arguments after the command into a goal."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn, TypeAlias

from rackwise.core.constants import GREATEST_ID, GREATEST_REPLICATION
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import SHOWN_NAMES, counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Plan
    from rackwise.core.policy import Policy
    from rackwise.core.racks import Rack


GoalName: TypeAlias = Literal["repair", "balance", "drain", "replace", "set-rf", "add", "leaders"]
USES: Final[Mapping[str, str]] = {
    "repair": "repair",
    "balance": "balance",
    "drain": "drain 7,8",
    "replace": "replace 7=12 8=13",
    "set-rf": "set-rf 'orders*=3'",
    "add": "add 13=/eu/a 14=/eu/b",
    "leaders": "leaders",
}
"""Goal -> example of its arguments."""
TOPICS_SHOWN = 12
REBALANCING = ("drain", "set-rf")
"""Goals that accept `--rebalance`. Without it they move only what they must."""
LIMITED = ("drain", "replace", "set-rf", "add")
"""Goals that accept `--repair`. Without it they leave broken rules elsewhere as they are."""

_NUMBER = re.compile(r"[0-9]{1,10}")


class Extent(NamedTuple):
    """How far a goal reaches beyond what it names."""

    rebalance: bool = False
    repair: bool = False


def parse_goal(
    name: GoalName, words: Sequence[str], *, rebalance: bool = False, repair: bool = False
) -> Goal:
    """Parse a goal from its name and the words after it. Raises `InvalidConfig`."""
    if rebalance and name not in REBALANCING:
        raise InvalidConfig(
            f"--rebalance requires the goal {' or '.join(REBALANCING)}, got {name}",
            wanted=" or ".join(REBALANCING),
            had=name,
            hint="omit --rebalance, or use the goal balance; add and balance rebalance anyway",
        )
    if repair and name not in LIMITED:
        raise InvalidConfig(
            f"--repair requires the goal {', '.join(LIMITED[:-1])} or {LIMITED[-1]}, got {name}",
            wanted=" or ".join(LIMITED),
            had=name,
            hint="omit --repair: the goals repair and balance repair every partition anyway",
        )
    if not words and name in _PARSERS:
        _reject(name, f"expected what to {name.partition('-')[0]}, got nothing", had="")
    if words and name in _PLAIN:
        _reject(name, f'expected nothing after the goal, got "{escaped(words[0])}"', had=words[0])
    extent = Extent(rebalance, repair)
    return _PARSERS[name](words, extent) if name in _PARSERS else _plain(name)


def goal_text(goal: Goal) -> str:
    """Format a goal as its arguments: `drain 7,8`."""
    from rackwise.core.planning import model as goals

    match goal:
        case goals.Drain(brokers=brokers):
            text = f"drain {','.join(map(str, brokers))}"
        case goals.Replace(pairs=pairs):
            text = f"replace {' '.join(f'{old}={new}' for old, new in pairs)}"
        case goals.SetReplication(by_topic=by_topic):
            text = f"set-rf {' '.join(f'{escaped(glob)}={size}' for glob, size in by_topic)}"
        case goals.Add(brokers=added):
            text = f"add {' '.join(f'{broker}={escaped(rack.text)}' for broker, rack in added)}"
        case _:
            return next(name for name, kind in _kinds().items() if isinstance(goal, kind))
    extent = (name for name in Extent._fields if getattr(goal, name, False))
    return " ".join([text, *(f"--{name}" for name in extent)])


def check_globs(name: str, globs: Iterable[str], cluster: Cluster) -> None:
    """Reject a glob that matches no topic. Raises `InvalidConfig`. `name`: the goal or option."""
    for glob in globs:
        if not any(fnmatchcase(topic, glob) for topic in cluster.topics):
            known = sorted(cluster.topics)
            raise InvalidConfig(
                f'invalid {name}: expected a pattern that matches a topic, got "{escaped(glob)}"',
                wanted=glob,
                had=len(known),
                hint=f"topics: {names_text(known, most=TOPICS_SHOWN)}",
            )


def note_empty_topics(shell: Shell, topics: Sequence[str]) -> None:
    """Print which topics are left out because they have no partitions."""
    if topics:
        verb = "has" if len(topics) == 1 else "have"
        names = names_text(topics)
        shell.note(f"{counted(len(topics), 'topic')} left out, which {verb} no partitions: {names}")


def replication_globs(goal: Goal) -> tuple[str, ...]:
    """Return the globs of the goal `set-rf`; empty for other goals."""
    from rackwise.core.planning.model import SetReplication

    if not isinstance(goal, SetReplication):
        return ()
    return tuple(glob for glob, _ in goal.by_topic)


def replication_by_topic(goal: Goal, cluster: Cluster) -> dict[str, int]:
    """Return the number of replicas of each topic that the goal `set-rf` names; later globs win."""
    from rackwise.core.planning.model import SetReplication

    pairs = goal.by_topic if isinstance(goal, SetReplication) else ()
    return {
        topic: size
        for topic in sorted(cluster.topics)
        for glob, size in pairs
        if fnmatchcase(topic, glob)
    }


def kept_notes(plan: Plan, cluster: Cluster) -> Iterator[str]:
    """Warn of brokers that the goal empties and the plan does not, such as with `--exclude`."""
    from rackwise.core.planning import model as goals
    from rackwise.core.planning.outcome.move_columns import all_moves, lists_in

    goal = plan.goal
    leaving: tuple[int, ...] = ()
    if isinstance(goal, goals.Drain):
        leaving = goal.brokers
    elif isinstance(goal, goals.Replace):
        leaving = tuple(old for old, _ in goal.pairs)
    if not leaving:
        return
    moves = all_moves(plan)
    before, after = lists_in(moves, "before"), lists_in(moves, "after")
    held, removed = cluster.partitions.placed.values, before.values[~before.values_in(after)]
    for broker in leaving:
        if kept := int((held == broker).sum()) - int((removed == broker).sum()):
            yield (
                f"broker {broker} keeps {counted(kept, 'replica')} of partitions that the plan "
                "leaves alone"
            )


def size_notes(plan: Plan, cluster: Cluster, policy: Policy) -> Iterator[str]:
    """Warn of partitions with too many or too few replicas, where the goal keeps their number."""
    import numpy as np

    from rackwise.core.audit import audit
    from rackwise.core.planning import model as goals
    from rackwise.core.planning.outcome.move_columns import all_moves, lists_in

    if not isinstance(plan.goal, goals.Repair | goals.Balance):
        return
    found = audit(cluster, policy, rules=["replication"])
    moves = all_moves(plan)
    is_resized = lists_in(moves, "before").lengths != lists_in(moves, "after").lengths
    kept = len(found) - int(is_resized.sum())
    if kept <= 0:
        return
    changed = {(moves[at].topic, moves[at].partition) for at in np.flatnonzero(is_resized).tolist()}
    left = (each for each in found if (each.topic, each.partition) not in changed)
    some = list(islice(left, SHOWN_NAMES))
    if not some:
        return
    names = names_text([f"{each.topic}-{each.partition}" for each in some], of=kept)
    verb = "breaks" if kept == 1 else "break"
    yield escaped(
        f"{counted(kept, 'partition')} {verb} the rule replication, and this goal keeps the number "
        f"of replicas: {names}; change it with rackwise plan set-rf "
        f"'{some[0].topic}={some[0].wanted.partition(' ')[0]}'"
    )


def rack_notes(goal: Goal, cluster: Cluster) -> Iterator[str]:
    """Warn of effects on racks that may be unintended: an empty rack, a new rack."""
    from rackwise.core.planning import model as goals

    homes = {
        broker.id: broker.rack.text
        for broker in cluster.brokers
        if broker.is_live and broker.rack is not None
    }
    leaving: frozenset[int] = frozenset()
    added: dict[int, str] = {}
    match goal:
        case goals.Drain(brokers=drained):
            leaving = frozenset(drained)
        case goals.Replace(pairs=pairs):
            leaving = frozenset(old for old, _ in pairs)
        case goals.Add(brokers=joining):
            added = {broker: rack.text for broker, rack in joining}
        case _:
            return
    known = set(homes.values())
    left = {rack for broker, rack in homes.items() if broker not in leaving}
    for rack in sorted(known - left):
        yield f"rack {escaped(rack)} has no broker left: its replicas move to other racks"
    for rack in sorted(set(added.values()) - known if known else ()):
        had = ", ".join(map(escaped, sorted(known)))
        yield f"rack {escaped(rack)} is new: the other brokers are in {had}"


def _kinds() -> dict[str, type]:
    from rackwise.core.planning import model as goals

    return {"repair": goals.Repair, "balance": goals.Balance, "leaders": goals.Leaders}


def _plain(name: str) -> Goal:
    goal: Goal = _kinds()[name]()
    return goal


def _drain(words: Sequence[str], extent: Extent) -> Goal:
    from rackwise.core.planning.model import Drain

    brokers = [parse_broker_id("drain", text) for word in words for text in word.split(",")]
    _once("drain", brokers)
    return Drain(tuple(sorted(brokers)), extent.rebalance, extent.repair)


def _replace(words: Sequence[str], extent: Extent) -> Goal:
    from rackwise.core.planning.model import Replace

    pairs = []
    for word in words:
        old, new = split_pair("replace", word)
        pairs.append((parse_broker_id("replace", old), parse_broker_id("replace", new)))
    _once("replace", [old for old, _ in pairs])
    _once("replace", [broker for pair in pairs for broker in pair])
    return Replace(tuple(sorted(pairs)), extent.repair)


def _set_replication(words: Sequence[str], extent: Extent) -> Goal:
    from rackwise.core.planning.model import SetReplication

    by_topic = tuple(map(parse_replication, words))
    return SetReplication(by_topic, extent.rebalance, extent.repair)


def _add(words: Sequence[str], extent: Extent) -> Goal:
    from rackwise.core.planning.model import Add

    added = [parse_broker_rack("add", word) for word in words]
    _once("add", [broker for broker, _ in added])
    return Add(tuple(sorted(added)), extent.repair)


_PARSERS: dict[str, Callable[[Sequence[str], Extent], Goal]] = {
    "drain": _drain,
    "replace": _replace,
    "set-rf": _set_replication,
    "add": _add,
}
_PLAIN = tuple(name for name in USES if name not in _PARSERS)


def parse_replication(word: str, *, name: str = "set-rf") -> tuple[str, int]:
    """Parse `orders*=3` to the glob and the number of replicas. Raises `InvalidConfig`."""
    glob, text = split_pair(name, word, last=True)
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= GREATEST_REPLICATION:
        _reject(
            name,
            f"expected a number of replicas from 1 to {GREATEST_REPLICATION}, "
            f'got "{escaped(text)}"',
            had=text,
        )
    return glob, int(text)


def parse_broker_rack(name: str, word: str) -> tuple[int, Rack]:
    """Parse `13=/eu/a` to the id and its rack. Raises `InvalidConfig`, `InvalidRack`."""
    from rackwise.core.racks import Rack

    broker, text = split_pair(name, word)
    rack = Rack(text)
    rack.levels  # noqa: B018 (the access checks it)
    return parse_broker_id(name, broker), rack


def split_pair(name: str, word: str, *, last: bool = False) -> tuple[str, str]:
    """Split at the first `=`, or the last. Raises `InvalidConfig` if a side is empty."""
    left, _, right = word.rpartition("=") if last else word.partition("=")
    if not left or not right:
        _reject(name, f'expected LEFT=RIGHT, got "{escaped(word)}"', had=word)
    return left, right


def parse_broker_id(name: str, text: str) -> int:
    """Parse an id from 0 to 2^31-1. Raises `InvalidConfig`."""
    if not _NUMBER.fullmatch(text) or int(text) > GREATEST_ID:
        _reject(name, f'expected a broker id, got "{escaped(text)}"', had=text)
    return int(text)


def _once(name: str, brokers: Sequence[int]) -> None:
    for broker in brokers:
        if brokers.count(broker) > 1:
            _reject(name, f"expected each broker once, got {broker} twice", had=str(broker))


def _reject(name: str, message: str, *, had: str) -> NoReturn:
    use = USES.get(name)
    raise InvalidConfig(
        f"invalid {name}: {message}",
        wanted=use or name,
        had=had,
        hint=f"for example: rackwise plan {use}" if use else None,
    )
