"""The window ledger: unacknowledged windows, and how long nodes are excluded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.partitioner import WindowLedger

TIMEOUT = 100
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["open", "end", "ok", "fail", "look"]),
        st.integers(0, 3),
        st.integers(0, 250),
    ),
    max_size=60,
)


def late_ledger():
    """A window was sent to node 1 at 0; the node is late at 101, and its retry is at 201."""
    ledger = WindowLedger(TIMEOUT)
    ledger.open_window(0, 1, 0)
    assert ledger.excluded_nodes(101) == {1}
    return ledger


@given(st.sampled_from([0, TIMEOUT]), STEPS)
def test_load_counts_windows_that_ended_without_acknowledgement(timeout, steps):
    ledger, now = WindowLedger(timeout), 0
    marked: list[int] = []
    ended: dict[int, int] = {}
    for step, number, wait in steps:
        now += wait
        if step == "open":
            marked.append(ledger.open_window(number, number % 2, now))
        elif step == "end":
            marked.append(ledger.end_window(number, number % 2, now))
            ended[marked[-1]] = number
        elif step != "look" and marked:
            token = marked.pop(number % len(marked))
            ledger.done(token, now, ok=step == "ok")
            ended.pop(token, None)
        load = ledger.load(now)
        assert load.windows == {p: list(ended.values()).count(p) for p in set(ended.values())}
        assert timeout or not load.excluded_nodes
    for token in marked:
        ledger.done(token, now, ok=True)
    assert ledger.load(now).windows == {}
    assert len(set(marked)) == len(marked)


@given(STEPS)
def test_an_excluded_node_is_usable_again_within_33_timeouts(steps):
    ledger, now = WindowLedger(TIMEOUT), 0
    out_since: dict[int, int] = {}
    for step, number, wait in [*steps, *[("open", 0, TIMEOUT // 2)] * 100]:
        now += wait
        excluded = ledger.excluded_nodes(now)
        for node in set(out_since) - excluded:
            del out_since[node]
        for node in excluded:
            assert now - out_since.setdefault(node, now) <= 33 * TIMEOUT
        if step == "open" and number % 2 not in excluded:
            ledger.open_window(number, number % 2, now)
        elif step == "end":
            ledger.end_window(number, number % 2, now)


def test_the_next_deadline_is_reported():
    ledger = WindowLedger(TIMEOUT)
    assert ledger.next_deadline_ms is None
    ledger.open_window(0, 1, 0)
    assert ledger.next_deadline_ms == 101
    ledger.excluded_nodes(101)
    assert ledger.next_deadline_ms == 201
    ledger.excluded_nodes(201)
    assert ledger.next_deadline_ms is None
    ledger.open_window(0, 1, 210)
    assert ledger.next_deadline_ms == 311


def test_no_deadline_without_a_timeout():
    ledger = WindowLedger(0)
    ledger.open_window(0, 1, 0)
    assert ledger.next_deadline_ms is None


def test_the_wait_doubles_up_to_32_timeouts():
    ledger, waits = late_ledger(), []
    for _ in range(7):
        ledger.excluded_nodes(ledger.next_deadline_ms)
        now = 10_000 * (len(waits) + 1)
        token = ledger.open_window(0, 1, now)
        ledger.done(token, now, ok=False)
        waits.append(ledger.next_deadline_ms - now)
    assert waits == [200, 400, 800, 1600, 3200, 3200, 3200]


def test_a_window_after_the_wait_is_the_probe_even_without_a_load_call():
    ledger = late_ledger()
    ledger.open_window(0, 1, 500)
    assert ledger.excluded_nodes(500) == {1}
    assert ledger.probes == 1


def test_a_failure_of_another_record_than_the_probe_changes_nothing():
    ledger = late_ledger()
    ledger.done(1, 150, ok=False)
    assert ledger.excluded_nodes(150) == {1}
    assert ledger.next_deadline_ms == 201
    other = ledger.end_window(0, 1, 201)
    ledger.open_window(0, 1, 202)
    ledger.done(other, 210, ok=False)
    assert ledger.next_deadline_ms == 202 + TIMEOUT + 1


def test_a_readmitted_node_starts_with_the_shortest_wait():
    ledger = late_ledger()
    ledger.excluded_nodes(201)
    probe = ledger.open_window(0, 1, 201)
    ledger.done(probe, 210, ok=False)
    ledger.done(1, 220, ok=True)
    assert ledger.excluded_nodes(220) == frozenset()
    ledger.open_window(0, 1, 300)
    ledger.excluded_nodes(401)
    assert ledger.next_deadline_ms == 501
    ledger.done(ledger.open_window(0, 1, 501), 510, ok=False)
    assert ledger.next_deadline_ms == 510 + 2 * TIMEOUT
    assert (ledger.exclusions, ledger.readmissions, ledger.probes) == (2, 1, 2)


def test_a_token_counts_once():
    ledger = WindowLedger(TIMEOUT)
    first, second = (ledger.end_window(3, 1, 0) for _ in range(2))
    for _ in range(3):
        ledger.done(first, 1, ok=True)
    assert ledger.load(1).windows == {3: 1}
    ledger.done(second, 2, ok=False)
    ledger.done(99, 2, ok=True)
    assert (ledger.acknowledged, ledger.failed) == (1, 1)
