"""Topics of one producer: what threads do to them at the same moment."""

from __future__ import annotations

from rackwise.adapters.clients.topics import SteeredTopics
from rackwise.core.partitioner import PartitionerConfig, TopicView

VIEW = TopicView(leaders=(1, 2), racks={1: "a", 2: "b"})


class Overtaken(dict):
    """Topics by name; just before one is there, another thread gives it other shares."""

    def __init__(self, topics, shares):
        super().__init__()
        self.topics, self.shares = topics, shares

    def setdefault(self, topic, made):
        self.topics.set_split(topic, self.shares)
        return super().setdefault(topic, made)


def met(before, meanwhile):
    topics = SteeredTopics(PartitionerConfig(rack_aware=True, rack="a"))
    topics.set_split("t", before)
    topics.by_name = Overtaken(topics, meanwhile)
    return topics.met("t", VIEW)


def test_a_split_that_is_given_while_its_topic_is_met_is_kept():
    assert met(None, {"b": 1.0}).steer(1) == 1


def test_a_split_that_is_taken_back_while_its_topic_is_met_is_gone():
    assert met({"b": 1.0}, None).steer(1) == 0
