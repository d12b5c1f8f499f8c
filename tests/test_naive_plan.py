"""The slow planner against the vectors: both were written from the same sentences."""

import pytest

from naive_plan import Question
from planner_vectors import Case, checksum, generated_lists, tiny_cases
from rackwise.core.policy import Slack
from vectors import planner_vectors

CASES = list(tiny_cases())


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request) -> Case:
    return request.param


@pytest.fixture
def question(case) -> Question:
    return case.question


def test_there_are_27_solves_of_24_clusters():
    assert len(CASES) == 27
    assert len(planner_vectors()["plans"]) == 24


def test_what_is_possible(case, question):
    assert question.impossible == case.expect.get("impossible", [])


def feasible(cases):
    return [case for case in cases if case.expect["feasible"]]


@pytest.mark.parametrize("case", feasible(CASES), ids=lambda case: case.name)
class TestFeasible:
    def test_minimum_and_bound(self, case):
        question = case.question
        assert question.minimum() == case.expect["minimum"] * case.unit
        assert question.bound_without_prices() == case.expect["bound_without_prices"] * case.unit

    def test_placements_are_counted(self, case):
        question = case.question
        assert question.placements() == case.expect["placements"]
        assert question.optimal_placements() == case.expect["optimal_placements"]

    def test_secondary(self, case):
        expect = case.expect
        wanted = dict(expect["secondary"])
        wanted = {k.removesuffix("_GB"): v * (10**9 if "GB" in k else 1) for k, v in wanted.items()}
        first = expect["minimum"] * case.unit
        assert case.question.secondary() == (first, *wanted.values())

    def test_loads_of_the_plan_are_allowed(self, case):
        question = case.question
        loads = {int(id_): n for id_, n in case.expect["loads"].items()}
        assert sorted(loads) == list(question.brokers)
        assert question.is_allowed(tuple(loads[id_] for id_ in question.brokers))

    def test_groups_hold_all_fair_loads(self, case):
        question = case.question
        for group in case.expect["certificate"]["groups"]:
            places = [question.brokers.index(id_) for id_ in group["brokers"]]
            for loads in question.fair:
                assert sum(loads[i] for i in places) == group["total"]
                if not isinstance(question.policy.balance.replicas, Slack):
                    assert all(group["high"] - loads[i] in {0, 1} for i in places)

    def test_the_certificate_gives_its_bound(self, case):
        question, said = case.question, case.expect["certificate"]
        groups = []
        for group in said["groups"]:
            high = max(group.get("high", 0), 0)
            box = group.get("low_high") or {i: (max(high - 1, 0), high) for i in group["brokers"]}
            box = {int(i): span for i, span in box.items()}
            low, high_ = ({i: span[j] for i, span in box.items()} for j in (0, 1))
            groups.append((low, high_, group["total"]))
        prices = {int(i): price * case.unit for i, price in said["prices"].items()}
        topic_prices = {(t, b): price for t, b, _, price in said.get("topic_prices", ())}
        for topic, broker, cap, _ in said.get("topic_prices", ()):
            assert question.caps[topic][broker] == cap
        bound = question.lower_bound(prices, groups, topic_prices)
        assert bound == said["lower_bound"] * case.unit


@pytest.mark.parametrize(
    "row",
    [row for row in planner_vectors()["generated"]["clusters"] if row["partitions"] <= 6000],
    ids=lambda row: "-".join(map(str, list(row.values())[:4])),
)
def test_the_recipe_gives_the_clusters_of_the_file(row):
    lists = generated_lists(
        row["kind"], row["brokers"], row["racks"], row["partitions"], row["replication"]
    )
    assert lists[:3].tolist() == row["first"]
    assert lists[-1].tolist() == row["last"]
    assert checksum(lists) == row["checksum"]
