"""A policy that ignores racks."""

from rackwise.core.policy import Policy, TopicBlock
from rackwise.core.policy.model import BalancePolicy, RackCount, RackPolicy
from rackwise.core.policy.rack_unaware import rack_unaware
from rackwise.core.view import View
from small_clusters import small_cluster


def test_no_rule_about_racks_is_left_and_all_others_stay():
    policy = Policy(
        racks=RackPolicy(levels=("region", "zone")),
        balance=BalancePolicy(leaders="keep"),
        topics=(
            TopicBlock(
                match=("t",),
                spread={"region": "distinct"},
                count=(RackCount(rack="/eu", min=1),),
                count_others="none",
                leader_racks=("/eu/a",),
                replication=3,
                pin={0: (4,)},
            ),
        ),
    )
    cluster = small_cluster({1: "/eu/a", 2: None}, {"t-0": [1, 2]})
    found = rack_unaware(policy, ("region", "zone"))
    (rules,) = View(cluster, found).rules
    assert rules.spread == ("off", "off")
    assert (rules.count, rules.count_others, rules.leader_racks) == ((), "any", ())
    assert (rules.replication, rules.pin) == (3, ((0, (4,)),))
    assert (found.racks.missing, found.balance) == ("unaware", policy.balance)
