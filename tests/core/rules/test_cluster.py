from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.model import Note
from rackwise.core.policy import BalancePolicy, Policy, RackCount, TopicBlock
from small_clusters import messages, small_cluster

ZONES = {1: "a", 2: "a", 3: "b", 4: "b"}


def found(rule, racks, lists, policy=None, **options):
    cluster = small_cluster(racks, lists, **options)
    findings = audit(cluster, policy or Policy())
    check_findings(findings, cluster, policy or Policy())
    return messages(findings, rule)


def test_unknown_sizes_are_counted():
    lists = {"t-0": [1], "t-1": [1], "t-2": [1]}
    assert found("size-unknown", {1: "a"}, lists, sizes={"t-0": None, "t-2": None}) == [
        "cluster: wanted the size of 3 partitions; had 2 not known"
    ]
    assert found("size-unknown", {1: "a"}, lists) == []


def test_invisible_parts_are_one_finding():
    notes = [
        Note(kind="not-visible", text="log folders of broker 2"),
        Note(kind="torn", text="changed while reading"),
        Note(kind="not-visible", text="log folders of broker 1"),
    ]
    assert found("not-visible", {1: "a"}, {}, notes=notes) == [
        "cluster: wanted all of it visible; had log folders of broker 1; log folders of broker 2"
    ]


def forced(level, mean, load, rack, share):
    noun = "replica" if mean == 1 else "replicas"
    had = f"{load} or more on a broker of {rack}, which has {share} brokers"
    return [f"cluster at {level}: wanted {mean} {noun} on a broker, the mean; had {had}"]


class TestUnequalRacks:
    def unequal(self, racks, *lists, policy=None, **options):
        named = {f"t-{n}": replicas for n, replicas in enumerate(lists)}
        return found("unequal-racks", racks, named, policy or Policy(), **options)

    def test_small_rack_forces_more_load_per_broker(self):
        racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
        assert self.unequal(racks, [1, 3, 5], [2, 4, 5], [1, 4, 5]) == forced(
            "zone", 2, 3, "c", "1 of 5"
        )

    def test_equal_racks_force_nothing(self):
        assert self.unequal(ZONES, [1, 3], [2, 4]) == []

    def test_rack_that_may_hold_less_forces_nothing(self):
        racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
        assert self.unequal(racks, [1, 3], [2, 4]) == []

    def test_dead_brokers_shrink_a_rack(self):
        assert self.unequal(ZONES, [1, 3], [2, 4], [1, 3], dead=[4]) == forced(
            "zone", 2, 3, "b", "1 of 3"
        )

    def test_the_rack_that_forces_the_most_is_reported(self):
        racks = {1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/w/a", 5: "/w/a", 6: "/w/a"}
        found = self.unequal(racks, [1, 3, 4, 5], [2, 3, 5, 6], [1, 3, 4, 6])
        assert found == forced("level2", 2, 3, "/e/b", "1 of 6")

    def test_worst_of_several_is_reported(self):
        racks = dict.fromkeys(range(6), "a") | {6: "b", 7: "b", 8: "c"}
        lists = [[n % 6, 6 + n % 2, 8] for n in range(8)]
        assert self.unequal(racks, *lists) == forced("zone", 3, 8, "c", "1 of 9")

    def test_impossible_rules_force_nothing(self):
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": "distinct"}),))
        assert self.unequal(ZONES, [1, 2, 3], policy=policy) == []

    def test_a_cluster_without_live_brokers_forces_nothing(self):
        assert self.unequal({1: "a"}, [1], dead=[1]) == []

    def test_counted_racks_force_their_count(self):
        policy = Policy(topics=(TopicBlock(match=("*",), count=(RackCount(rack="a", min=2),)),))
        assert self.unequal(ZONES, [1, 2, 3], [1, 2, 4], policy=policy) == []
        racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "b", 6: "b", 7: "b"}
        assert self.unequal(racks, [1, 2, 3], [1, 2, 4], policy=policy) == forced(
            "zone", 1, 2, "a", "2 of 7"
        )

    def test_not_checked_if_balance_is_off(self):
        racks = {1: "a", 2: "a", 3: "b"}
        policy = Policy(balance=BalancePolicy(replicas="off"))
        lists = [1, 3], [2, 3], [1, 3]
        assert self.unequal(racks, *lists) != []
        assert self.unequal(racks, *lists, policy=policy) == []
