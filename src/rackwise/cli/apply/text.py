"""The outcome of a run, as text and as a document."""

from __future__ import annotations

import shlex
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.applying.budget import copied_bytes
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rackwise.cli.apply.documents import AppliedDocument, MoveStateDocument
    from rackwise.core.applying.model import Outcome, PartitionClass, ThrottleKey
    from rackwise.core.applying.progress import Eta, Remaining
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Plan

KIB = 1024
SPANS = (("year", 365 * 86_400), ("day", 86_400), ("hour", 3_600), ("minute", 60))
REASONS: Mapping[PartitionClass, str] = MappingProxyType(
    {
        "foreign_moving": "another tool moves it",
        "diverged": "others changed its replicas",
        "cancelled_externally": "another tool cancelled it",
        "topic_gone": "the topic was deleted",
        "target_dead": "its new broker was down for too long",
    }
)
"""Class of a move that failed -> why, in words."""
ORDER_REJECTED = "its replicas keep another order than before; rackwise rollback restores it later"
"""What is left of a cancelled move if Kafka rejects the order from before it."""
NOT_STARTED_SHOWN = 20
"""Number of moves that were not started and are printed one by one."""


def outcome_text(outcome: Outcome, texts: Mapping[PartitionId, str]) -> str:
    """Counts that add up to the plan, then each move that is not done, then the throttles.

    Moves that the run left out are only counted.
    """
    lines = [counts_text(outcome)]
    shown = outcome.classes
    if outcome.mode == "cancel" or outcome.stop == "budget":
        shown = {key: each for key, each in shown.items() if each != "not_started"}
    lines += class_lines(shown, outcome.codes, texts)
    lines += [
        f"? {name_of(each)}  leader not elected: {escaped(why)}"
        for each, why in outcome.not_elected.items()
    ]
    lines += [f"throttle-left     {key_text(each)}" for each in outcome.throttles_left]
    lines += [f"throttle-changed  {key_text(each)}" for each in outcome.throttles_changed]
    if outcome.stop is not None and outcome.stop != "budget":
        why = "" if outcome.text is None else f": {escaped(outcome.text)}"
        lines.append(f"ended early, {outcome.stop}{why}")
    return "\n".join(lines)


def budget_lines(plan: Plan, outcome: Outcome, onward: str | None) -> list[str]:
    """The bytes of the plan that are copied and left; if the budget is spent, why, and what next.

    `onward`: the command that continues.
    """
    from rackwise.report.formats import bytes_text, sizes_text

    done, left, unknown = plan_bytes(plan, outcome)
    if unknown and not done and not left:
        lines = [f"bytes   {sizes_text(0, unknown, 'move')}"]
    else:
        sizes = f", and {counted(unknown, 'move')} of unknown size" if unknown else ""
        lines = [f"bytes   {bytes_text(done)} copied, {bytes_text(left)} left{sizes}"]
    if outcome.stop == "budget":
        lines.append(f"budget  spent: {escaped(outcome.text or '')}")
        lines.append(f"next    {onward}")
    return lines


def plan_bytes(plan: Plan, outcome: Outcome) -> tuple[int, int, int]:
    """Bytes of the copies of moves that are done, and of the others; moves of unknown size."""
    done = left = unknown = 0
    for move in plan.moves:
        size = copied_bytes(move)
        if size is None:
            unknown += 1
        elif outcome.classes.get((move.topic, move.partition)) == "done":
            done += size
        else:
            left += size
    return done, left, unknown


def counts_text(outcome: Outcome) -> str:
    """`40 moves: 38 done, 1 failed, 1 skipped, 0 dropped`; of a cancel also the cancelled moves."""
    if outcome.mode == "cancel":
        cancelled = len(outcome.of(frozenset({"cancelled"})))
        return (
            f"{counted(len(outcome.classes), 'move')}: {cancelled} cancelled, "
            f"{len(outcome.done) - cancelled} done, {len(outcome.failed)} failed, "
            f"{len(outcome.not_cancelled)} still moving, "
            f"{len(outcome.skipped) - len(outcome.not_cancelled)} not started"
        )
    return (
        f"{counted(len(outcome.classes), 'move')}: {len(outcome.done)} done, "
        f"{len(outcome.failed)} failed, {len(outcome.skipped)} skipped, "
        f"{len(outcome.dropped)} dropped"
    )


def class_lines(
    classes: Mapping[PartitionId, PartitionClass],
    codes: Mapping[PartitionId, str],
    texts: Mapping[PartitionId, str],
    *,
    most_not_started: int | None = NOT_STARTED_SHOWN,
) -> list[str]:
    """One line for each move that is not done: its class, and the error of the cluster.

    `most_not_started`: of moves that were not started, only the first are named; None: all.
    """
    lines = []
    reordered = {which for which, class_ in classes.items() if class_ == "cancelled"} & codes.keys()
    waiting = [which for which, class_ in classes.items() if class_ == "not_started"]
    unnamed = frozenset(() if most_not_started is None else waiting[most_not_started:])
    for which, class_ in classes.items():
        is_over = class_ in {"done", "cancelled", "dropped"} and which not in reordered
        if is_over or which in unnamed:
            continue
        parts = [codes[which]] if which in codes else []
        parts += [escaped(texts[which])] if which in texts else []
        parts += [REASONS[class_]] if class_ in REASONS and not parts else []
        parts += [ORDER_REJECTED] if which in reordered else []
        lines.append("  ".join([f"! {name_of(which)}", class_, *filter(None, [": ".join(parts)])]))
    if unnamed:
        lines.append(f"and {len(unnamed)} more not_started; --json has all")
    return lines


def outcome_document(
    plan: Plan,
    outcome: Outcome,
    texts: Mapping[PartitionId, str],
    journal: Path,
    onward: str | None,
) -> AppliedDocument:
    """The outcome as a document; `onward`: the command that continues."""
    from rackwise.cli.apply.documents import AppliedDocument
    from rackwise.core.applying.foreign import NOT_OURS, is_foreign

    bytes_done, bytes_left, unknown_sizes = plan_bytes(plan, outcome)
    return AppliedDocument(
        plan=plan.sha256,
        cluster_id=plan.cluster_id,
        mode=outcome.mode,
        proof=NOT_OURS if is_foreign(plan) else plan.verdict.text,
        moves=len(outcome.classes),
        done=len(outcome.done),
        failed=len(outcome.failed),
        skipped=len(outcome.skipped),
        dropped=len(outcome.dropped),
        is_reached=outcome.is_reached,
        has_written=outcome.has_written,
        begun=outcome.begun,
        bytes_done=bytes_done,
        bytes_left=bytes_left,
        unknown_sizes=unknown_sizes,
        next_command=onward,
        stop=outcome.stop,
        text=outcome.text,
        partitions=partition_rows(outcome.classes, outcome.codes, texts),
        not_elected=tuple(map(name_of, outcome.not_elected)),
        not_elected_because={name_of(each): why for each, why in outcome.not_elected.items()},
        throttles_left=outcome.throttles_left,
        throttles_changed=outcome.throttles_changed,
        journal=str(journal),
    )


def partition_rows(
    classes: Mapping[PartitionId, PartitionClass],
    codes: Mapping[PartitionId, str],
    texts: Mapping[PartitionId, str],
) -> tuple[MoveStateDocument, ...]:
    """One row per move of the plan, in its order."""
    from rackwise.cli.apply.documents import MoveStateDocument

    return tuple(
        MoveStateDocument(
            topic=topic,
            partition=number,
            class_=class_,
            code=codes.get((topic, number)),
            text=texts.get((topic, number)),
        )
        for (topic, number), class_ in classes.items()
    )


def classes_text(classes: Iterable[str]) -> str:
    """`38 done, 2 moving`."""
    counts = Counter(classes)
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items())) or "no moves"


def key_text(key: ThrottleKey) -> str:
    """`broker 4 follower.replication.throttled.rate`."""
    return f"{key.kind} {escaped(key.name)} {key.key}"


def name_of(which: PartitionId) -> str:
    """`orders-4`, safe to print."""
    return f"{escaped(which[0])}-{which[1]}"


def resume_line(verb: str, plan: Path, bootstrap: str, command_config: Path | None) -> str:
    """The command line that continues."""
    words = ["rackwise", verb, str(plan), "--bootstrap-server", bootstrap]
    words += [] if command_config is None else ["--command-config", str(command_config)]
    return escaped(shlex.join(words))


def throttle_text(rate: int, left: Remaining, eta: Eta, *, in_one_run: bool = True) -> str:
    """`throttle: 50 bytes/s at each broker; 14.0 GiB to copy in 9 years or more (..)`.

    `in_one_run`: whether no end of the run comes before that time.
    """
    from rackwise.report.formats import sizes_text

    throttle = f"throttle: {rate_text(rate)} at each broker"
    copied = f"{sizes_text(left.total, left.unknown)} to copy"
    if not left.total:
        return f"{throttle}; {copied}"
    bound = f" ({eta.bound_by})" if eta.bound_by else ""
    return (
        f"{throttle}; {copied} in {span_text(eta.seconds or 0)} or more{bound}"
        f"{'' if in_one_run else ', in several runs'}"
    )


def rate_text(rate: int) -> str:
    """`80,000,000 bytes/s (76.3 MiB/s)`."""
    from rackwise.report.formats import bytes_text

    exact = f"{rate:,} byte{'' if rate == 1 else 's'}/s"
    return exact if rate < KIB else f"{exact} ({bytes_text(rate)}/s)"


def span_text(seconds: int) -> str:
    """Whole years, days, hours, minutes or seconds: the largest of which there are two.

    >>> span_text(3 * 365 * 86400), span_text(86400), span_text(7199), span_text(1)
    ('3 years', '24 hours', '119 minutes', '1 second')
    """
    for noun, size in SPANS:
        if seconds >= 2 * size:
            return counted(seconds // size, noun)
    return counted(seconds, "second")
