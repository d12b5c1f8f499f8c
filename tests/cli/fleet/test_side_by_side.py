"""Several clusters at once: each has its own outcome, and none waits for another for ever."""

from __future__ import annotations

import threading

import pytest

from rackwise.cli.fleet.rows import without_twins
from rackwise.cli.fleet.side_by_side import ClusterOutcome, run_side_by_side
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidPolicy, MemoryExhausted, Unreachable

LIMIT_S = 30.0


def outcomes(works, *, at_once=8, limit_s=LIMIT_S, shell=None):
    return run_side_by_side(shell or Shell(), works, label="work", at_once=at_once, limit_s=limit_s)


def fails(_):
    raise InvalidPolicy("invalid policy", hint="mend it")


def breaks(_):
    raise KeyError("\x1b[31m")


def test_each_cluster_has_its_code_its_error_and_its_documents_in_order(capsys):
    def says(own):
        own.document({"of": own.name})
        own.text("dropped")
        own.data("dropped")
        return 2

    found = outcomes({"a": fails, "b": says, "c": breaks, "d": lambda _: 0})
    assert list(found) == ["a", "b", "c", "d"]
    assert (found["a"].exit, type(found["a"].error)) == (1, InvalidPolicy)
    assert found["b"] == ClusterOutcome(exit=2, documents=({"of": "b"},))
    assert found["c"].error.message == "internal error: KeyError: '\\x1b[31m'"
    assert found["d"] == ClusterOutcome(exit=0)
    assert capsys.readouterr().out == ""


def test_exhausted_memory_of_a_cluster_is_no_internal_error():
    def asks(_):
        raise MemoryError

    found = outcomes({"a": asks, "b": lambda _: 0})
    assert (found["a"].exit, type(found["a"].error)) == (1, MemoryExhausted)
    assert found["b"] == ClusterOutcome(exit=0)


def test_clusters_run_at_the_same_time_but_not_more_than_allowed():
    both = threading.Barrier(2, timeout=LIMIT_S)
    running, most = [], []
    lock = threading.Lock()

    def work(own):
        with lock:
            running.append(own.name)
            most.append(len(running))
        both.wait()
        with lock:
            running.remove(own.name)
        return 0

    found = outcomes(dict.fromkeys("abcdef", work), at_once=2)
    assert {one.exit for one in found.values()} == {0}
    assert max(most) == 2


def test_a_cluster_that_hangs_fails_at_its_limit_and_the_others_go_on(capsys):
    before = set(threading.enumerate())
    free, is_late = threading.Event(), threading.Event()

    def hangs(own):
        free.wait(LIMIT_S)
        own.warn("too late")
        own.note("too late")
        own.data("too late")
        is_late.set()
        raise KeyError("too late")

    works = {"a": hangs, "b": lambda _: 0, "c": lambda _: 0}
    found = outcomes(works, at_once=1, limit_s=0.2, shell=Shell(is_debug=True))
    threads = set(threading.enumerate()) - before
    free.set()
    assert is_late.wait(LIMIT_S)
    for each in threads:
        each.join(LIMIT_S)
    assert type(found["a"].error) is Unreachable
    assert found["a"].error.message == "no result within 0.2 s"
    assert [found[name].exit for name in "abc"] == [1, 0, 0]
    shown = capsys.readouterr()
    assert "a: failed (1 of 3)" in shown.err
    assert "too late" not in shown.out + shown.err


def test_warnings_and_notes_name_their_cluster(capsys):
    def warns(own):
        own.warn("no rack")
        own.note("a note")
        return 0

    outcomes({"eu": warns})
    assert capsys.readouterr().err.splitlines() == [
        "warning: eu: no rack",
        "eu: a note",
        "eu: done (1 of 1)",
    ]
    outcomes({"eu": warns}, shell=Shell(is_quiet=True))
    assert capsys.readouterr().err == "warning: eu: no rack\n"


def test_names_of_one_cluster_fail_all_and_name_each_other():
    fine = ClusterOutcome(exit=0)
    found, warnings = without_twins(
        dict.fromkeys(("a", "b", "c", "d", "e"), fine),
        {"a": "x", "b": "y", "c": "x", "d": None, "e": None},
    )
    assert [name for name, one in found.items() if one.error is not None] == ["a", "c"]
    assert found["a"].error.message == "a and c are one cluster, x"
    assert len(warnings) == 1
    assert warnings[0].startswith("a and c are one cluster, x; keep one of the names")


@pytest.mark.parametrize("code", [0, 2])
def test_a_debug_run_shows_the_traceback_of_an_internal_error(capsys, code):
    outcomes({"a": breaks if code else lambda _: 0}, shell=Shell(is_debug=True))
    assert ("Traceback" in capsys.readouterr().err) is bool(code)
