"""Requests of several owners: equal shares, no starving, and what is rejected."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.replica_service.fair_queue import LARGE, MOST_UNTAKEN, FairQueue

COSTS = st.integers(1, 2 * LARGE)
ARRIVALS = st.lists(st.tuples(st.sampled_from("abcd"), COSTS), max_size=40)


def queue(*, workers=1, most_waiting=64, most_cost=10**9):
    return FairQueue(workers=workers, most_waiting=most_waiting, most_cost=most_cost)


def filled(found, arrivals):
    for number, (owner, cost) in enumerate(arrivals):
        assert found.add((owner, number), owner=owner, cost=cost) is None
    return found


def begun(found):
    """All jobs in the order in which one worker begins them."""
    while (waiting := found.next()) is not None:
        yield waiting
        ended(found, waiting)


def ended(found, waiting):
    found.answered(waiting)
    found.end(waiting)


@given(ARRIVALS)
def test_each_request_is_begun_once_and_those_of_an_owner_in_order(arrivals):
    jobs = [each.job for each in begun(filled(queue(), arrivals))]
    assert sorted(number for _, number in jobs) == list(range(len(arrivals)))
    for owner in "abcd":
        numbers = [number for name, number in jobs if name == owner]
        assert numbers == sorted(numbers)


@given(ARRIVALS, st.integers(0, 40), st.integers(1, LARGE - 1))
def test_a_small_request_of_an_owner_without_others_is_next(arrivals, done, cost):
    found = filled(queue(), [(owner, LARGE) for owner, _ in arrivals])
    for _ in range(min(done, len(arrivals))):
        ended(found, found.next())
    found.add("new", owner="new", cost=cost)
    assert found.next().job == "new"


@given(COSTS, COSTS)
def test_owners_that_wait_share_the_work_equally(of_a, of_b):
    """Neither is ahead by more than one request of each (SFQ's bound for two flows)."""
    found = queue(most_waiting=10**3)
    filled(found, [("a", of_a)] * 40 + [("b", of_b)] * 40)
    done = Counter()
    for each in begun(found):
        done[each.owner] += each.cost
        if done["a"] >= 40 * of_a or done["b"] >= 40 * of_b:
            break
        assert abs(done["a"] - done["b"]) <= of_a + of_b


@given(COSTS, COSTS)
def test_an_owner_that_asks_again_after_each_answer_has_its_share_and_no_more(of_a, of_b):
    """A has one connection: it waits with nothing while its request is answered."""
    found = filled(queue(most_waiting=10**3), [("b", of_b)] * 40)
    found.add(("a", 0), owner="a", cost=of_a)
    done = Counter()
    while (each := found.next()) is not None:
        done[each.owner] += each.cost
        ended(found, each)
        if done["b"] == 40 * of_b:
            break
        assert abs(done["a"] - done["b"]) <= 2 * (of_a + of_b)
        if each.owner == "a":
            found.add(("a", 0), owner="a", cost=of_a)


def test_no_large_request_passes_a_larger_one_that_has_no_room():
    found = filled(queue(workers=8), [("b", MOST_UNTAKEN // 2), ("b", LARGE)])
    first = found.next()
    assert first.owner == "b"
    filled(found, [("a", MOST_UNTAKEN)])
    assert found.next() is None
    filled(found, [("d", 1)])
    assert found.next().owner == "d"
    ended(found, first)
    assert found.next().owner == "a"
    assert found.next() is None


def test_an_owner_that_was_away_does_not_catch_up():
    found = filled(queue(), [("a", 100)] * 20)
    for _ in range(10):
        ended(found, found.next())
    filled(found, [("b", 100)] * 10)
    owners = [each.owner for each in begun(found)]
    assert Counter(owners[:10]) == {"a": 5, "b": 5}


def test_large_requests_leave_one_worker_free():
    found = filled(queue(workers=3), [("a", LARGE)] * 3)
    first, second = found.next(), found.next()
    assert found.next() is None
    found.add("small", owner="a", cost=LARGE - 1)
    assert found.next().job == "small"
    ended(found, first)
    assert found.next().cost == LARGE
    assert second.is_large


def test_large_answers_that_clients_have_not_taken_hold_large_requests_back():
    found = filled(queue(), [("a", MOST_UNTAKEN)])
    untaken = found.next()
    found.answered(untaken)
    filled(found, [("b", LARGE), ("c", LARGE - 1)])
    assert found.next().owner == "c"
    assert found.next() is None
    found.end(untaken)
    assert found.next().owner == "b"


def test_one_worker_takes_large_requests_too():
    assert filled(queue(workers=1), [("a", LARGE)]).next().cost == LARGE


class TestRejected:
    def test_the_last_of_the_owner_with_the_most(self):
        found = filled(queue(most_waiting=4), [("a", 1)] * 3 + [("b", 1)])
        assert found.add("c", owner="c", cost=1) == ("a", 2)
        assert len(found) == 4

    def test_the_new_one_where_its_owner_has_as_many(self):
        found = filled(queue(most_waiting=4), [("a", 1), ("a", 1), ("b", 1), ("c", 1)])
        assert found.add("new", owner="b", cost=1) == "new"
        assert len(found) == 4

    def test_what_exceeds_the_share_of_its_owner_until_work_ends(self):
        found = filled(queue(most_cost=10), [("a", 8)])
        assert found.add("more", owner="a", cost=3) == "more"
        assert found.add("other", owner="b", cost=9) is None
        in_work = found.next()
        assert in_work.owner == "a"
        assert found.add("more", owner="a", cost=3) == "more"
        ended(found, in_work)
        assert found.add("more", owner="a", cost=3) is None

    def test_one_request_alone_may_exceed_it(self):
        assert queue(most_cost=10).add("large", owner="a", cost=11) is None


def test_dropped_requests_free_their_share_and_their_turn():
    found = filled(queue(most_cost=10), [("a", 4), ("b", 5), ("a", 6)])
    assert found.drop(lambda job: job[0] == "a") == (("a", 0), ("a", 2))
    assert found.add("again", owner="a", cost=10) is None
    assert [each.job for each in begun(found)] == [("b", 1), "again"]


def test_a_request_that_replaces_a_dropped_one_keeps_its_turn():
    found = filled(queue(), [("a", 5), ("a", 90), ("b", 50), ("b", 50)])
    found.drop(lambda job: job == ("a", 1))
    found.add("again", owner="a", cost=1)
    assert [each.job for each in begun(found)] == [("a", 0), ("b", 2), "again", ("b", 3)]
