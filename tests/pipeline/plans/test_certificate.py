"""The lower bounds that Spark sums for many clusters at once equal those of core exactly."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from planner_vectors import generated_cluster, tiny_cases
from rackwise.core.errors import Infeasible
from rackwise.core.model import LogDir
from rackwise.core.planning.model import Balance, Certificate, Repair
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.certificate import lower_bound
from rackwise.core.policy import Policy
from rackwise.core.policy.model import BrokerPolicy, TopicBlock
from small_fleets import cluster, parsed
from vectors import planner_vectors

pytestmark = pytest.mark.spark
PLAIN = Policy()


def named(clusters):
    """The clusters, with their names as cluster ids."""
    return {name: replace(one, cluster_id=name) for name, one in clusters.items()}


def generated(largest):
    """The generated clusters of the vectors, by their recipes."""
    keys = ("kind", "brokers", "racks", "partitions", "replication")
    rows = [
        tuple(row[key] for key in keys)
        for row in planner_vectors()["generated"]["clusters"]
        if row["partitions"] <= largest
    ]
    return named({"-".join(map(str, row)): generated_cluster(*row) for row in rows})


def tiny():
    """The small clusters with the default policy: two levels, mixed replication factors."""
    found = {
        case.name: case.cluster
        for case in tiny_cases()
        if not case.said and case.asked[1] == Balance()
    }
    return named(found)


def drawn(certificate, rng):
    """The certificate with random prices; one is out of range, one is of an unknown broker."""
    prices = {id_: rng.randrange(-3, 4) for id_ in certificate.prices}
    prices[min(prices)] = 2**60
    return replace(certificate, prices=prices | {99_999: 7})


def spark_bounds(spark, clusters, certificates, *, goal, policy=PLAIN):
    from rackwise.pipeline.engines.local import LocalEngine
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.snapshots import read_snapshots
    from rackwise.pipeline.plans.certificate import BoundInputs, lower_bounds

    contents, parse = parsed({f"{name}.json": one for name, one in clusters.items()})
    fleet = fleet_of_snapshots(read_snapshots(contents, parse)[0])
    claims = BoundInputs(certificates=certificates, goal=goal, policy=policy, parse=parse)
    found = lower_bounds(SessionEngine(spark), fleet, claims)
    assert lower_bounds(LocalEngine(), fleet, claims) == found
    return found


def core_bounds(clusters, certificates, *, goal, policy=PLAIN):
    found = {}
    for name, certificate in certificates.items():
        try:
            found[name] = lower_bound(clusters[name], policy, certificate, goal=goal)
        except Infeasible:
            found[name] = None
    return found


def test_bounds_of_many_clusters_equal_core(spark):
    clusters = generated(6000) | tiny()
    plans = {name: plan(one, PLAIN, Balance()) for name, one in clusters.items()}
    certificates = {name: one.certificates[0] for name, one in plans.items()}
    assert {"two-levels", "rf-greater-than-racks", "mixed-rf"} <= set(certificates)
    rng = Random(5)
    others = {f"{name}!": one for name, one in generated(1000).items()}
    others = named(others)
    clusters |= others
    certificates |= {name: drawn(certificates[name[:-1]], rng) for name in others}
    found = spark_bounds(spark, clusters, certificates, goal=Balance())
    assert found == core_bounds(clusters, certificates, goal=Balance())
    assert {name: found[name] for name in plans} == {
        name: one.verdict.cost for name, one in plans.items()
    }
    assert all(found[name] < found[name[:-1]] for name in others)


@pytest.mark.parametrize(
    ("policy", "cordoned"),
    [
        (Policy(), 5),
        (Policy(topics=(TopicBlock(match=("t0",), exclude=True),)), None),
    ],
)
def test_bounds_with_a_cordoned_broker_or_an_excluded_topic(spark, policy, cordoned):
    random = generated_cluster("random", 12, 3, 200, 3)
    folder = (LogDir(path="/a", is_cordoned=True),)
    brokers = [
        replace(one, log_dirs=folder) if one.id == cordoned else one for one in random.brokers
    ]
    clusters = named({"one": replace(random, brokers=tuple(brokers))})
    plans = {name: plan(one, policy, Balance()) for name, one in clusters.items()}
    certificates = {name: one.certificates[0] for name, one in plans.items()}
    found = spark_bounds(spark, clusters, certificates, goal=Balance(), policy=policy)
    assert found == {name: one.verdict.cost for name, one in plans.items()}


def test_bounds_in_bytes_with_drained_and_excluded_brokers(spark):
    policy = Policy(brokers=BrokerPolicy(drain=(3,), exclude=(4,)))
    random = generated_cluster("random", 12, 3, 600, 3)
    sizes = np.array(Random(3).choices(range(2**40), k=600), dtype=np.int64)
    sized = replace(random, partitions=replace(random.partitions, bytes=sizes))
    racks = {1: "a", 2: "b", 3: "b", 4: "c", 5: "b"}
    full = cluster(racks, {"t": [(1, 2, 4)], "empty": []}, size=1)
    lost = cluster(racks, {"t": [(1, 2, 5)]}, size=1)
    nothing = cluster(racks, {})
    vast = cluster(racks, {"t": [(2, 3)] * 20_000}, size=2**50)
    clusters = {"sized": sized, "full": full, "lost": lost, "nothing": nothing, "vast": vast}
    clusters = named(clusters)
    made = plan(clusters["sized"], policy, Repair(), minimise="bytes")
    none = Certificate(
        objective="bytes", unit="bytes", groups=(), cuts=(), prices={1: 5, 2: -1}, lower_bound=0
    )
    certificates = dict.fromkeys(("full", "lost", "nothing", "vast"), none)
    certificates["sized"] = made.certificates[0]
    how = {"goal": Repair(), "policy": policy}
    found = spark_bounds(spark, clusters, certificates, **how)
    assert found == core_bounds(clusters, certificates, **how)
    assert found["sized"] == made.verdict.cost > 2**40
    assert found["lost"] is None
    assert found["vast"] > 2**64
