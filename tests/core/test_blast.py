from hypothesis import given
from hypothesis import strategies as st

from laws import check_blast_radius
from rackwise.core import audit
from rackwise.core.blast import TablePartitions, blast_radius
from rackwise.core.model import Cluster
from rackwise.core.policy import Policy, RackPolicy
from small_clusters import small_cluster
from strategies import crowded_clusters, policies
from vectors import audit_vector

DEMO = {1: "/eu/a", 2: "/eu/b", 3: "/eu/c"}


def lose(rack, racks, lists, policy=None, **options):
    cluster = small_cluster(racks, lists, **options)
    losses = blast_radius(cluster, policy or Policy())
    check_blast_radius(losses, cluster, policy or Policy())
    return next(loss for loss in losses if loss.rack == rack)


def test_audit_module_exports_blast_radius():
    assert audit.blast_radius is blast_radius


def test_vector():
    cluster, policy, vector = audit_vector()
    losses = blast_radius(cluster, policy)
    found = [
        {
            "rack": loss.rack,
            "brokers": list(loss.brokers),
            "offline": [f"{topic}-{partition}" for topic, partition in loss.offline],
            "under_min_isr": [f"{topic}-{partition}" for topic, partition in loss.under_min_isr],
            "leaders_lost": loss.leaders_lost,
        }
        for loss in losses
    ]
    assert found == vector["blast_radius"]
    check_blast_radius(losses, cluster, policy)


@given(st.data())
def test_losses_equal_a_naive_count(data):
    cluster = data.draw(crowded_clusters())
    policy = data.draw(policies(cluster))
    check_blast_radius(blast_radius(cluster, policy), cluster, policy)


@given(st.from_type(Cluster))
def test_any_snapshot_has_losses_of_all_racks(cluster):
    check_blast_radius(blast_radius(cluster), cluster, Policy())


LISTS = {"t-0": [1, 2], "t-1": [2, 3], "t-2": [3, 1]}


class TestDemo:
    """Three zones, one broker each, min.insync.replicas 2."""

    def test_one_zone(self):
        loss = lose("/eu/a", DEMO, LISTS, min_isr=2)
        assert len(loss.offline) == 0
        assert list(loss.under_min_isr) == [("t", 0), ("t", 2)]
        assert (loss.leaders_lost, loss.top_survivor, loss.replicas_lost) == (1, (2, 2), 2)
        assert (loss.level, loss.level_name, loss.brokers) == (2, "level2", (1,))

    def test_whole_region(self):
        loss = lose("/eu", DEMO, LISTS, min_isr=2)
        assert list(loss.offline) == [("t", 0), ("t", 1), ("t", 2)]
        assert (loss.leaders_lost, loss.top_survivor) == (3, None)
        assert (loss.level, loss.level_name, loss.brokers) == (1, "level1", (1, 2, 3))


ZONES = {1: "a", 2: "a", 3: "b", 4: "c"}


class TestNextLeader:
    def survivor(self, replicas, **options):
        return lose("a", ZONES, {"t-0": replicas}, **options).top_survivor

    def test_first_in_list_order_outside_the_rack(self):
        assert self.survivor([1, 2, 4, 3]) == (4, 1)

    def test_must_be_in_sync_and_live(self):
        assert self.survivor([1, 4, 3], isr={"t-0": [1, 3]}) == (3, 1)
        assert self.survivor([1, 4, 3], dead=[4]) == (3, 1)

    def test_can_be_an_added_replica(self):
        assert self.survivor([1, 4], adding={"t-0": [4]}) == (4, 1)

    def test_offline_partitions_have_no_leader(self):
        assert self.survivor([1, 2]) is None

    def test_lowest_id_is_reported_for_equal_survivors(self):
        lists = {"t-0": [4], "t-1": [3], "t-2": [1]}
        assert lose("a", ZONES, lists).top_survivor == (3, 1)


class TestRestore:
    def test_known_bytes_are_summed_and_unknown_sizes_counted(self):
        loss = lose(
            "a",
            ZONES,
            {"t-0": [1, 2], "t-1": [1, 3], "t-2": [2]},
            sizes={"t-0": 10, "t-1": None, "t-2": 2**63 - 1},
            dead=[2],
        )
        assert (loss.replicas_lost, loss.unknown_sizes) == (4, 1)
        assert loss.bytes_to_restore == 20 + 2**63 - 1

    def test_sums_beyond_64_bit(self):
        lists = {f"t-{n}": [1] for n in range(5)}
        sizes = dict.fromkeys(lists, 2**63 - 1)
        assert lose("a", ZONES, lists, sizes=sizes).bytes_to_restore == 5 * (2**63 - 1)

    def test_added_replicas_do_not_count(self):
        loss = lose("b", ZONES, {"t-0": [1, 3]}, adding={"t-0": [3]})
        assert loss.replicas_lost == 0


def test_partition_under_min_isr_stays_so_after_any_loss():
    racks = {1: "a", 2: "b", 3: "c"}
    options = {"isr": {"t-0": [1], "t-1": []}, "min_isr": 2}
    loss = lose("c", racks, {"t-0": [1, 2], "t-1": [1, 2]}, **options)
    assert list(loss.under_min_isr) == [("t", 0)]
    assert list(loss.offline) == [("t", 1)]


def test_brokers_without_rack_survive_unless_grouped_as_one_rack():
    racks = {1: "a", 2: None}
    assert len(lose("a", racks, {"t-0": [1, 2]}).offline) == 0
    one_rack = Policy(racks=RackPolicy(missing="one-rack"))
    assert lose("(no rack)", racks, {"t-0": [2]}, one_rack).leaders_lost == 1


def test_no_rack_has_no_loss():
    assert blast_radius(small_cluster({1: None}, {"t-0": [1]})) == ()


def test_partitions_behave_as_a_sequence():
    cluster = small_cluster({1: "a"}, {"t-0": [1], "t-1": [1], "u-7": [1]})
    (loss,) = blast_radius(cluster)
    assert list(loss.offline) == [("t", 0), ("t", 1), ("u", 7)]
    assert loss.offline[-1] == ("u", 7)
    assert isinstance(loss.offline[1:], TablePartitions)
    assert list(loss.offline[1:]) == [("t", 1), ("u", 7)]
    assert repr(loss.offline) == "TablePartitions(3)"
    assert loss.offline.rows.tolist() == [0, 1, 2]
