"""How the time of a piece of work grows with its input, in seconds of the processor."""

from __future__ import annotations

import gc
from time import process_time


def check_not_quadratic(work_of, size, *, least_s=0.005):
    """Law: eight times the input takes about eight times the time; quadratic work takes 64 times.

    `work_of(size)` returns a function without arguments, and is not part of the time. The time of
    other processes does not count. `least_s`: what a clock of the system can measure.
    """

    def seconds(size):
        work = work_of(size)
        best = float("inf")
        gc.collect()
        for _ in range(3):
            begin = process_time()
            work()
            best = min(best, process_time() - begin)
        return best

    small, large = seconds(size), seconds(8 * size)
    assert large < 30 * max(small, least_s), (small, large)
