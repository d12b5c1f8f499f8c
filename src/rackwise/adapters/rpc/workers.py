"""Threads that compute placements, so that the server's loop stays free.

```
submit ──> fair queue ──> one of `count` threads ──> the future
              ├ rejected: the future raises `Overloaded`
              └ cancelled while it waits: never begun
```

`core.replica_service.fair_queue` decides which job is next and which is rejected. The threads are
daemons: a placer that never ends keeps its thread, but the process can still exit.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rackwise.core.replica_service.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.replica_service.fair_queue import Waiting

Outcome = TypeVar("Outcome")


class Overloaded(Exception):
    """Too much waits already, of all clients or of this one."""


@dataclass(slots=True, eq=False)
class PlacingJob(Generic[Outcome]):
    """A job of a client. Give it back to `Workers.release` when its outcome is used or dropped."""

    work: Callable[[], Outcome]
    future: Future[Outcome] = field(default_factory=Future)
    begun: Waiting[PlacingJob[Outcome]] | None = None
    """Set when its work has ended."""
    is_released: bool = False


class Workers(Generic[Outcome]):
    """`count` threads, started at once, and a queue of waiting jobs.

    `most_waiting`: jobs that wait; `most_cost`: cost of the jobs that one owner has not released.
    """

    def __init__(self, count: int, *, most_waiting: int, most_cost: int) -> None:
        self._most_cost = most_cost
        self._jobs: FairQueue[PlacingJob[Outcome]] = FairQueue(
            workers=count, most_waiting=most_waiting, most_cost=most_cost
        )
        self._has_changed = Condition()
        self._is_closed = False
        for number in range(count):
            Thread(target=self._run, name=f"placing-{number}", daemon=True).start()

    def __len__(self) -> int:
        """The number of waiting jobs."""
        return len(self._jobs)

    def submit(self, work: Callable[[], Outcome], *, owner: str, cost: int) -> PlacingJob[Outcome]:
        """Queue a job. The future of a job that is rejected, now or later, raises `Overloaded`."""
        job = PlacingJob(work)
        with self._has_changed:
            self._jobs.drop(_is_cancelled)
            rejected = self._jobs.add(job, owner=owner, cost=min(max(cost, 1), self._most_cost))
            self._has_changed.notify()
        if rejected is not None and rejected.future.set_running_or_notify_cancel():
            rejected.future.set_exception(Overloaded())
        return job

    def release(self, job: PlacingJob[Outcome]) -> None:
        """The outcome is not in memory any more, or will not be used."""
        with self._has_changed:
            # Without this reference, the outcome is freed at once and not by the next collection.
            begun, job.begun, job.is_released = job.begun, None, True
            if begun is not None:
                self._jobs.end(begun)
                self._has_changed.notify_all()

    def close(self) -> None:
        """Let each thread end after its current job; waiting jobs are cancelled."""
        with self._has_changed:
            self._is_closed = True
            waiting = self._jobs.drop(lambda _: True)
            self._has_changed.notify_all()
        for job in waiting:
            job.future.cancel()

    def _run(self) -> None:
        while True:
            with self._has_changed:
                while (begun := self._next()) is None:
                    if self._is_closed:
                        return
                    self._has_changed.wait()
            _work(begun.job)
            with self._has_changed:
                self._jobs.answered(begun)
                if begun.job.is_released:
                    self._jobs.end(begun)
                else:
                    begun.job.begun = begun
                self._has_changed.notify_all()
            del begun

    def _next(self) -> Waiting[PlacingJob[Outcome]] | None:
        return None if self._is_closed else self._jobs.next()


def _is_cancelled(job: PlacingJob[Any]) -> bool:
    return job.future.cancelled()


def _work(job: PlacingJob[Outcome]) -> None:
    if not job.future.set_running_or_notify_cancel():
        return
    try:
        outcome = job.work()
    except BaseException as error:  # noqa: BLE001 (the waiter for the future raises it)
        job.future.set_exception(error)
    else:
        job.future.set_result(outcome)
