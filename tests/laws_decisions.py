"""Laws of a decision about an id; imports only the values of the code that it judges."""

import re

from rackwise.core.identity.model import Observation, ReadMore, Refuse, Rules, Take, WaitFor
from rackwise.core.identity.refusals import ClusterMismatch

ROW = re.compile(r"D([1-9]|[12][0-9]|3[0-8])")
NOT_SET = {None, -1}


def check_decision(decision, observation: Observation, rules: Rules):
    """Every decision keeps these laws, whatever was observed and requested."""
    assert ROW.fullmatch(decision.row), "law of rows: one of the 38"
    if isinstance(decision, Take) and not rules.literal:
        check_take(decision, observation)
    if isinstance(decision, WaitFor):
        assert decision.on or observation.claims, "law of waiting: on something"
        assert decision.until_ms >= observation.now_ms, "law of waiting: not for the past"
        most = rules.wait_ms + rules.grace_ms or 60_000
        assert decision.until_ms <= observation.now_ms + most, (
            "law of waiting: at most the waiting time and the grace"
        )
    if isinstance(decision, ReadMore):
        assert (decision.id is None) == (decision.at != "at_risk"), "law of looks: of whom"
    if isinstance(decision, Refuse):
        check_refusal(decision)


def check_take(take: Take, seen: Observation):
    claim = seen.claims.get(take.id)
    is_ours = claim is not None and claim.session == seen.session
    assert is_ours or claim is None, "law of ids: not claimed by another"
    assert take.id not in seen.registered or is_ours, "law of ids: not registered"
    assert take.id not in seen.retired, "law of ids: not given up"
    stored = {d.meta.broker_id for d in seen.log_dirs if d.meta is not None} - {None}
    assert stored <= {take.id}, "law of disks: the id on a disk, or nothing"
    assert seen.configured in NOT_SET | {take.id}, "law of configurations: that id, or nothing"
    others = seen.reserved.get(take.id, ())
    if take.how == "gen":
        assert not others, "law of numbers: mapped by nobody"
        assert take.id not in (seen.used or ()), "law of numbers: in no replica list"
        assert take.id not in seen.owned, "law of numbers: never that of another start"
    if take.how == "b1":
        assert take.takes_from == tuple(others), "law of spares: who loses it is named"
    else:
        assert take.takes_from == (), "law of mappings: only a spare is taken from anybody"
    is_told = any(each.startswith("MAPPED_TWICE") for each in take.warnings)
    if take.how in {"configured", "meta"}:
        assert is_told == bool(others), "law of warnings: two keys of one id are told"


def check_refusal(refuse: Refuse):
    error = refuse.error
    assert error.row == refuse.row, "law of refusals: the row"
    said = f" ({refuse.row}, {error.code})"
    assert str(error).endswith(said), "law of refusals: the row and the code are said"
    check_code(type(error), error.code)
    assert error.wanted is not None, "law of refusals: wanted"
    assert error.hint, "law of refusals: the remedy"
    assert str(error).isprintable(), "law of refusals: names are escaped"
    assert "\n" not in str(error), "law of refusals: one sentence"


def check_code(error, code):
    """A code is its class name in capitals. `WrongCluster` is a class of the whole product."""
    name = "WrongCluster" if error is ClusterMismatch else error.__name__
    assert code.replace("_", "").lower() == name.lower(), "law of codes"
