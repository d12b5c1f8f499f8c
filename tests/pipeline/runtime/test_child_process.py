"""Code in a child process: its batches come, and a crash is an error."""

from __future__ import annotations

import os
import signal

import pyarrow as pa
import pytest

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


def test_a_child_that_is_killed_hints_at_memory_and_one_that_exits_is_no_end_of_the_rows():
    with pytest.raises(ReaderEnded, match="SIGKILL: the system may have too little memory"):
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
