"""Futures of deliveries on asyncio that a plug-in observes and a caller awaits.

Reading the exception of a future marks it as retrieved. asyncio then no longer logs "Future
exception was never retrieved" for a caller who drops the future, and the lost record leaves no
sign. So the plug-in reads the client's future, and the caller gets a second one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable

Delivery = TypeVar("Delivery")


def observed(
    future: Future[Delivery], note: Callable[[Future[Delivery]], None]
) -> Future[Delivery]:
    """A future for the caller with the outcome of `future`, which is passed to `note` first.

    If the caller cancels it, `future` goes on and `note` still gets its outcome.
    """
    for_caller: Future[Delivery] = future.get_loop().create_future()

    def copy(done: Future[Delivery]) -> None:
        note(done)
        if for_caller.done():
            return
        if done.cancelled():
            for_caller.cancel()
        elif (error := done.exception()) is not None:
            for_caller.set_exception(error)
        else:
            for_caller.set_result(done.result())

    future.add_done_callback(copy)
    return for_caller
