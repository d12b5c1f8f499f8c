"""Threads that compute placements, so that the server's loop stays free.

```
submit ──> waiting, `most_waiting` at most ──> one of `count` threads ──> the future
              └ cancelled while it waits: never begun
```

The threads are daemons: a placer that never ends keeps its thread, but the process can still exit.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from threading import Condition, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Outcome = TypeVar("Outcome")


class Workers(Generic[Outcome]):
    """`count` threads, started at once, and a queue of waiting jobs."""

    def __init__(self, count: int, *, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._jobs: deque[tuple[Callable[[], Outcome], Future[Outcome]]] = deque()
        self._has_changed = Condition()
        self._is_closed = False
        for number in range(count):
            Thread(target=self._run, name=f"placing-{number}", daemon=True).start()

    def submit(self, job: Callable[[], Outcome]) -> Future[Outcome] | None:
        """The future of the job; None if too many jobs wait already."""
        with self._has_changed:
            if len(self._jobs) >= self._most_waiting:
                self._jobs = deque(each for each in self._jobs if not each[1].cancelled())
            if len(self._jobs) >= self._most_waiting:
                return None
            future: Future[Outcome] = Future()
            self._jobs.append((job, future))
            self._has_changed.notify()
        return future

    def close(self) -> None:
        """Let each thread end after its current job; waiting jobs are cancelled."""
        with self._has_changed:
            self._is_closed = True
            waiting, self._jobs = self._jobs, deque()
            self._has_changed.notify_all()
        for _, future in waiting:
            future.cancel()

    def _run(self) -> None:
        while True:
            with self._has_changed:
                self._has_changed.wait_for(lambda: self._jobs or self._is_closed)
                if self._is_closed:
                    return
                job, future = self._jobs.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                outcome = job()
            except BaseException as error:  # noqa: BLE001 (the waiter for the future raises it)
                future.set_exception(error)
            else:
                future.set_result(outcome)
