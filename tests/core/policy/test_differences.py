"""What differs between two policies."""

from rackwise.core.policy import DEFAULT_POLICY, BalancePolicy, BrokerPolicy, Policy, TopicBlock
from rackwise.core.policy.differences import differences


def test_equal_policies_differ_in_nothing():
    assert differences(Policy(), DEFAULT_POLICY) == ()


def test_each_setting_is_named_from_either_side():
    policy = Policy(
        balance=BalancePolicy(replicas="off"),
        brokers=BrokerPolicy(weights={4: 2}),
        topics=(TopicBlock(match=("a.*",), replication=3),),
    )
    assert differences(policy, DEFAULT_POLICY) == (
        'balance.replicas = "off"',
        "brokers.weights.4 = 2",
        'topics = [{"match":["a.*"],"replication":3,"spread":{}}]',
    )
    assert differences(DEFAULT_POLICY, policy) == (
        'balance.replicas = "even"',
        "brokers.weights.4 = nothing",
        "topics = []",
    )
