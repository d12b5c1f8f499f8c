"""Whether a better assignment exists, by the formula that needs no solver."""

import pytest

from assignments import group_of, hide_solver, replicas_in, tps
from rackwise.core.assignors.measure.review import review
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.errors import MissingDependency

GROUP = group_of("t", m="a", n="b")
RACKS = replicas_in(t="a a b b")
CROSSED = Assignment.of({"m": tps("t-0 t-2"), "n": tps("t-1 t-3")})
LOCAL = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2 t-3")})


def having(result, members=None):
    return {
        key: Member(
            topics=member.topics, rack=member.rack, owned=result.partitions[key], generation=1
        )
        for key, member in (members or GROUP).items()
    }


@pytest.fixture
def no_solver(monkeypatch):
    hide_solver(monkeypatch)


@pytest.mark.usefixtures("no_solver")
class TestWithoutASolver:
    def test_the_formula_gives_the_best(self):
        found = review(CROSSED, having(CROSSED), RACKS)
        assert (found.best, found.is_better, found.now.best_local) == (None, True, 4)
        assert not review(LOCAL, having(LOCAL), RACKS).is_better

    def test_the_local_partitions_of_the_best(self):
        assert review(CROSSED, having(CROSSED), RACKS).best_local == 4

    def test_the_best_is_unknown_without_racks(self):
        members = group_of("t", m=None, n=None)
        assert review(CROSSED, having(CROSSED, members), RACKS).best_local is None

    @pytest.mark.parametrize(
        ("members", "terms"),
        [
            (GROUP, {"weights": {}}),
            (GROUP, {"balance": "per-topic"}),
            ({**GROUP, "n": Member(topics=(), rack="b")}, {}),
            (group_of("t", m="/e/a", n="/e/b"), {}),
        ],
    )
    def test_without_a_formula_the_hint_names_the_package_to_install(self, members, terms):
        with pytest.raises(MissingDependency) as raised:
            review(CROSSED, having(CROSSED, members), RACKS, **terms)
        assert raised.value.hint == "pip install rackwise"
