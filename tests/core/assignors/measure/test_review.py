"""Is there a better assignment: what a formula tells without a solver."""

import pytest

from assignments import group_of, hide_solver, replicas_in, tps
from rackwise.core.assignors.measure.review import review
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.errors import MissingDependency

GROUP = group_of("t", m="a", n="b")
RACKS = replicas_in(t="a a b b")
CROSSED = Assignment.of({"m": tps("t-0 t-2"), "n": tps("t-1 t-3")})
LOCAL = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2 t-3")})


def having(made, members=None):
    return {
        key: Member(
            topics=member.topics, rack=member.rack, owned=made.partitions[key], generation=1
        )
        for key, member in (members or GROUP).items()
    }


@pytest.fixture
def no_solver(monkeypatch):
    hide_solver(monkeypatch)


@pytest.mark.usefixtures("no_solver")
class TestWithoutASolver:
    def test_a_formula_tells_the_best(self):
        found = review(CROSSED, having(CROSSED), RACKS)
        assert (found.best, found.is_better, found.now.best_local) == (None, True, 4)
        assert not review(LOCAL, having(LOCAL), RACKS).is_better

    def test_how_many_are_local_then(self):
        assert review(CROSSED, having(CROSSED), RACKS).best_local == 4

    def test_nobody_knows_without_a_rack(self):
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
    def test_where_none_does_the_command_to_install_it_is_told(self, members, terms):
        with pytest.raises(MissingDependency) as raised:
            review(CROSSED, having(CROSSED, members), RACKS, **terms)
        assert raised.value.hint == "pip install 'rackwise[plan]'"
