"""Code in a child process: its batches come, and a crash is an error."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_traffic import until
from rackwise.pipeline.runtime.child_process import ChildFailed, ReaderEnded, in_child


def row(number):
    return pa.RecordBatch.from_pylist([{"n": number}])


def numbers(found):
    return [each["n"][0].as_py() for each in found]


def test_all_batches_come_in_order_from_another_process():
    assert numbers(in_child(lambda _: map(row, range(5)))) == [*range(5)]
    (found,) = numbers(in_child(lambda _: [row(os.getpid())]))
    assert found != os.getpid()


def test_a_crash_is_an_error_with_the_last_note_and_the_last_line_of_stderr(capfd):
    def crash(note):
        note("a.parquet")
        yield row(1)
        note("b.parquet")
        os.write(2, b"terminate called\n  what(): no end\n")
        os.kill(os.getpid(), signal.SIGABRT)

    found = in_child(crash)
    assert numbers([next(found)]) == [1]
    with pytest.raises(ReaderEnded) as caught:
        next(found)
    assert str(caught.value) == "the reader ended with SIGABRT: what(): no end"
    assert caught.value.note == "b.parquet"
    assert capfd.readouterr().err == ""


def test_a_child_that_is_killed_is_too_little_memory_and_one_that_exits_no_end_of_the_rows():
    with pytest.raises(MemoryError, match="SIGKILL: the system may have too little memory"):
        list(in_child(lambda _: os.kill(os.getpid(), signal.SIGKILL)))
    with pytest.raises(ReaderEnded, match="exit code 0"):
        list(in_child(lambda _: os._exit(0)))


@pytest.mark.parametrize("kind", [MemoryError, LookupError])
def test_expected_exceptions_keep_their_class_and_text(kind):
    def fail(_):
        raise kind("no more")

    with pytest.raises(kind, match="no more"):
        list(in_child(fail, LookupError))


def test_any_other_exception_has_its_traceback_in_a_note():
    with pytest.raises(ChildFailed, match="ZeroDivisionError") as caught:
        list(in_child(lambda _: [row(1 // 0)]))
    assert "test_child_process.py" in caught.value.__notes__[0]


def test_rows_come_where_the_signal_of_ended_children_is_ignored():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert numbers(in_child(lambda _: map(row, range(3)))) == [0, 1, 2]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_child_ends_with_its_parent_though_it_writes_nothing():
    """The child has the file locks of its parent: they must not outlive it."""
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:

        def silent(_):
            os.write(writer, b"%d" % os.getpid())
            time.sleep(600)
            yield row(0)

        try:
            list(in_child(silent))
        finally:
            os._exit(0)
    os.close(writer)
    child = int(os.read(reader, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    try:
        until(lambda: is_over(child), "the child to end")
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def is_over(number):
    """Whether a process has ended; one that nobody has waited for is a zombie."""
    try:
        return ") Z " in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return True


def test_no_child_stays_behind_where_the_rows_are_not_read_to_the_end():
    def endless(_):
        yield row(os.getpid())
        while True:
            yield row(0)

    found = in_child(endless)
    (child,) = numbers([next(found)])
    found.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
