"""Plans made by the flow: the laws of plans, judged by brute force, and the other path beside."""

from hypothesis import given, reject

from laws_planning import check_minimal, check_plan
from planning_problems import PRICES, problems
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.policy import check_policy


@given(problems())
def test_no_placement_is_cheaper_and_both_paths_say_so(problem):
    question = problem.question
    try:
        check_policy(question.policy, question.cluster)
        found = problem.plan("flow")
    except InvalidPolicy:
        reject()
    except Infeasible as error:
        named = {text.split(" ")[0] for text in error.impossible}
        assert named == set(question.impossible) or not question.impossible
        assert question.impossible or not any(map(question.is_allowed, question.all_loads))
        return
    assert not question.impossible
    check_minimal(found, question)
    check_plan(found, problem.cluster, problem.policy, prices=PRICES)
    assert problem.plan("exchange").verdict == found.verdict
