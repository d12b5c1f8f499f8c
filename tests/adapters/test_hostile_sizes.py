"""Each reader of text or bytes needs time linear in the size of hostile input.

A reader is given a shape of input in two sizes. If the larger one takes measurable time, it may
take at most 2.5 times as much per doubling. A quadratic reader takes 4 times as much. The CPU time
of this thread counts, so the load of the machine does not.
"""

from contextlib import suppress
from time import thread_time

import pytest

from hostile_readers import READERS
from rackwise.core.errors import RackwiseError

SIZE = 2**15
DOUBLINGS = 3
MOST_PER_DOUBLING = 2.5
MEASURABLE_S = 0.1
"""Below this, a machine's noise is larger than what is measured."""


UNITS = (
    *(b"9", b"a", b" ", b"\n", b"\\", b'"', b"\0", b"\xff", b"-", b"[", b"a.", b"1.", b"a,", b"/a"),
    *(b'{"a":', b"[[a]]\n", b"a=1\n", b"a=", b"a\\\n", b"a={b=", b"[::", b"0:1,", b"\0\0\0\1"),
    *(b'"\\', b'"\\"".', b"'a", b'"",', b'"\\ud800",', b"\\u0041", b"1,a\n"),
    *(b"a='", b"${a:", b"${a:b}", b"-----BEGIN A-----", b"\0\0\0\1\0\0" + bytes(16), b"\x30\x80"),
    *(b"a@10.0.0.0/8<>", b"99999999999999999999,"),
)
FRAMES = (b"%s", b"[%s0]", b'{"format":"%s"}', b'"%s"', b"a%s=1", b"a=%s", b'a="""%s', b"b,r\n%s")


def inputs(size):
    """Hostile inputs of about `size` bytes: each unit repeated, in each frame."""
    for unit in UNITS:
        for frame in FRAMES:
            yield frame.replace(b"%s", unit * (size // len(unit)))


def seconds(reader, data):
    begin = thread_time()
    with suppress(RackwiseError):
        reader(data)
    return thread_time() - begin


@pytest.mark.parametrize("name", READERS)
def test_time_is_linear(name):
    reader = READERS[name]
    for small, large in zip(inputs(SIZE >> DOUBLINGS), inputs(SIZE), strict=True):
        if seconds(reader, large) > MEASURABLE_S:
            large_s, small_s = (
                min(seconds(reader, each) for _ in range(3)) for each in (large, small)
            )
            assert large_s < MOST_PER_DOUBLING**DOUBLINGS * small_s, large[:40]
