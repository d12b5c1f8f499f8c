"""The exchange graph is compared with all possible exchanges."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from planning_problems import problems
from rackwise.core.model import Ragged
from rackwise.core.planning.model import Repair
from rackwise.core.planning.problem.cheapest_sets import NEVER
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.exchange_graph import ExchangeGraph, PricedSets
from rackwise.core.policy import Policy
from small_clusters import small_cluster


def lengths(graph):
    """Length of the arc from each node to each other node; `NEVER` if there is no arc."""
    nodes = graph.classes * graph.brokers
    found = np.full((nodes, nodes), NEVER, dtype=np.int64)
    for node in range(nodes):
        start = np.full((graph.classes, graph.brokers), NEVER, dtype=np.int64)
        start.ravel()[node] = 0
        found[node] = graph.relax(start).ravel()
    return np.where(found > NEVER // 2, NEVER, found)


def test_example_of_the_module_docstring():
    cluster = small_cluster({1: "/a", 2: "/a", 3: "/a", 4: "/b"}, {"t-0": [1, 4], "t-1": [1, 4]})
    instance = instance_of(cluster, Policy(), Repair())
    graph = ExchangeGraph.of(PricedSets.of(instance, Ragged.of([[0, 3], [1, 3]])))
    found = lengths(graph)
    assert found[0, 1] == found[0, 2] == 1
    assert found[1, 0] == -1
    assert found[1, 2] == 0
    assert found[3, 0] == found[0, 3] == NEVER


def test_rack_keeps_its_least_number():
    racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b", 5: "/c", 6: "/c"}
    cluster = small_cluster(racks, {"t-0": [1, 2, 3, 5]})
    instance = instance_of(cluster, Policy(), Repair())
    found = lengths(ExchangeGraph.of(PricedSets.of(instance, instance.held)))
    assert found[2, 5] == NEVER
    assert found[2, 3] == found[0, 3] == found[0, 5] == 1


def test_empty_graph():
    cluster = small_cluster({1: "/a"}, {})
    instance = instance_of(cluster, Policy(), Repair())
    graph = ExchangeGraph.of(PricedSets.of(instance, Ragged.of([])))
    assert lengths(graph).tolist() == [[0]]


@given(problems(), st.data())
def test_arc_is_the_cheapest_exchange(problem, data):
    question = problem.question
    assume(question.brokers and not question.impossible)
    instance = problem.instance
    by_topic = data.draw(st.booleans())
    chosen = [data.draw(st.sampled_from(sets)) for sets in question.options]
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    sets = Ragged.of([sorted(index[b] for b in x) for x in chosen])
    classes = instance.topic.astype(np.int64) if by_topic else np.zeros(len(chosen), dtype=np.int64)
    placement = PricedSets.of(instance, sets, row_class=classes)
    graph = ExchangeGraph.of(placement, int(classes.max(initial=0)) + 1)
    wanted = np.full((graph.classes * len(index),) * 2, NEVER, dtype=np.int64)
    np.fill_diagonal(wanted, 0)
    for p, x, options, row_class in zip(
        question.partitions, chosen, question.options, classes.tolist(), strict=True
    ):
        for other in options:
            if len(x - other) != 1:
                continue
            (here,), (there,) = x - other, other - x
            arc = row_class * len(index) + index[here], row_class * len(index) + index[there]
            wanted[arc] = min(wanted[arc], question.cost(p, other) - question.cost(p, x))
    assert lengths(graph).tolist() == wanted.tolist()
