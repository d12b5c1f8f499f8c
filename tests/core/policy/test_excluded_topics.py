"""A policy that also leaves topics alone."""

from rackwise.core.policy import Policy, TopicBlock
from rackwise.core.policy.excluded_topics import exclude_topics

POLICY = Policy(topics=(TopicBlock(match=("a*",), replication=3, exclude=True),))


def test_the_topics_of_the_globs_are_excluded_beside_those_of_the_policy():
    found = exclude_topics(POLICY, ["b", "c?", "b"])
    assert found.topics == (*POLICY.topics, TopicBlock(match=("b", "c?"), exclude=True))
    excluded = [name for name in ("a1", "b", "bb", "c", "c1") if found.rules_of(name, ()).exclude]
    assert excluded == ["a1", "b", "c1"]
    assert found.rules_of("a1", ()).replication == 3


def test_a_later_block_takes_topics_back():
    found = Policy(topics=(*POLICY.topics, TopicBlock(match=("a1",), exclude=False)))
    assert not found.rules_of("a1", ()).exclude
    assert found.rules_of("a2", ()).exclude


def test_without_globs_the_policy_is_unchanged():
    assert exclude_topics(POLICY, []) is POLICY
