"""Leaders and racks of a client that answers, does not, or has nothing to say yet."""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import closing
from types import SimpleNamespace

from kafka_traffic import until
from rackwise.adapters.clients.confluent.views import FIRST_S, LeaderViews

RACKS = {1: "a", 2: "b"}


class Client:
    """`leaders`: topic -> leader of each partition; an exception is raised instead."""

    def __init__(self, leaders):
        self.leaders = leaders
        self.asked = []

    def list_topics(self, topic, timeout):  # noqa: ARG002
        self.asked.append(topic)
        found = self.leaders
        if isinstance(found, Exception):
            raise found
        rows = enumerate(found.get(topic, ()))
        partitions = {number: SimpleNamespace(leader=leader) for number, leader in rows}
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})


def watched(client, racks=lambda: RACKS):
    """Views of a client; what they take, and the errors that they keep."""
    took, failed = {}, []
    views = LeaderViews(
        client,
        racks,
        every_s=0.1,
        took=took.__setitem__,
        failed=failed.append,
        has_statistics=False,
    )
    return closing(views), took, failed


def test_the_first_record_has_the_leaders():
    views, took, failed = watched(Client({"t": [1, -1, 2]}))
    with views as found:
        found.meet("t")
        assert took["t"].leaders == (1, None, 2)
        assert took["t"].racks == RACKS
    assert failed == []


def test_a_topic_that_is_not_there_yet_is_not_waited_for():
    client, begun = Client({}), time.monotonic()
    views, took, failed = watched(client)
    with views as found:
        found.meet("t")
        assert time.monotonic() - begun < FIRST_S
        assert took == {}
        client.leaders = {"t": [2]}
        until(lambda: took, "the new topic")
    assert failed == []


def test_nothing_is_asked_for_after_the_end_and_the_client_is_let_go():
    asked, begun, goes_on = [], threading.Event(), threading.Event()

    def slow():
        asked.append("racks")
        begun.set()
        goes_on.wait(30)
        raise OSError("nobody")

    client = Client({"t": [1]})
    views, _, failed = watched(client, slow)
    with views as found:
        found.add("t")
        begun.wait(30)
        time.sleep(0.2)
        found.close()
        goes_on.set()
        found._thread.join(30)
        assert (asked, client.asked, failed) == (["racks"], [], [])
        gone = weakref.ref(client)
        del client
        assert gone() is None


def test_a_topic_that_was_added_long_ago_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("rackwise.adapters.clients.confluent.views.FIRST_S", 0.2)
    goes_on, looks = threading.Event(), []

    class Slow(Client):
        def list_topics(self, topic, timeout):
            goes_on.wait(30)
            return super().list_topics(topic, timeout)

    views, took, _ = watched(Slow({"t": [1]}))
    with views as found:
        found.add("t")
        assert found.is_awaited("t")
        time.sleep(0.3)
        found.meet("t", lambda: looks.append("t"))
        found.meet("t", lambda: looks.append("t"))
        assert (looks, found.is_awaited("t"), took) == (["t"], False, {})
        goes_on.set()
        until(lambda: took, "the view")


def test_an_outage_logs_one_line_asks_for_one_topic_at_a_time_and_keeps_the_last_answer(caplog):
    client = Client({"t": [1], "u": [2]})
    views, took, failed = watched(client)
    with views as found:
        found.meet("t")
        found.meet("u")
        client.leaders, client.asked = OSError("gone"), []
        until(lambda: len(failed) > 3, "errors")
        assert set(client.asked) == {"t"}
        assert len(caplog.messages) == 1
        found.meet("v")
        client.leaders = {"t": [2], "u": [1], "v": [1]}
        until(lambda: len(took) == 3 and took["t"].leaders == (2,), "the leaders")
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("gone; ")


def test_a_source_without_an_answer_leaves_topics_without_a_view(caplog):
    def silent():
        raise OSError("nobody")

    views, took, failed = watched(Client({"t": [1]}), silent)
    with views as found:
        found.meet("t")
        until(lambda: len(failed) > 1, "errors")
    assert took == {}
    assert len(caplog.messages) == 1
