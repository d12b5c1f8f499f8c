"""The second half of a start, event by event: what becomes of a broker that boots."""

from dataclasses import replace

import pytest

from identity_events import (
    ALONE,
    HOLDING,
    MAPPED,
    OTHER,
    OURS,
    WROTE,
    ended,
    gathered,
    held,
    played,
)
from rackwise.core.identity.model import (
    Claim,
    Rules,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    MISSING,
    OWNERS,
    Check,
    Create,
    Delete,
    Put,
)
from rackwise.core.identity.refusals import (
    ClaimLost,
    IdInUse,
    NotRegistered,
)
from rackwise.core.identity.start.actions import (
    ChildEnded,
    Confirm,
    Hold,
    Release,
    Released,
    Signal,
    Spawned,
    Succeed,
    WriteMeta,
)


class TestHolding:
    def test_a_registration_of_ours_is_confirmed(self):
        action = played(*HOLDING, held(registration=OURS))[1]
        assert isinstance(action, Confirm)
        assert action.ops[:2] == (Put(FENCE, b""), Delete(f"{CLAIMS}/7"))
        assert [type(op) for op in action.ops[2:]] == [Create]

    def test_with_what_is_there_already(self):
        known = held(registration=OURS, owner=True, missing=True, claim=None)
        action = played(*HOLDING, known)[1]
        assert [type(op).__name__ for op in action.ops] == ["Put", "Put", "Delete"]
        assert [op.path for op in action.ops[1:]] == [f"{OWNERS}/7", f"{MISSING}/7"]

    def test_then_the_session_is_closed(self):
        events = (*HOLDING, held(registration=OURS))
        assert played(*events, ended("done"))[1] == Release()
        assert played(*events, ended("done"), Released(at_ms=9))[1] == Succeed(id=7)

    def test_a_confirmation_that_failed_is_looked_at_again(self):
        events = (*HOLDING, held(registration=OURS))
        assert played(*events, ended("unknown"))[1] == Hold(id=7, most_ms=0)

    def test_a_mapping_that_an_operator_moved_is_left_alone(self):
        moved = held(registration=OURS, mapping=None)
        gone = replace(moved, claim=None)
        assert played(*HOLDING, moved)[1].ops == (Put(FENCE, b""), Delete(f"{CLAIMS}/7"))
        assert played(*HOLDING, gone)[1].ops == (Put(FENCE, b""),)
        assert played(*HOLDING, moved, ended("done"))[1] == Release()

    @pytest.mark.parametrize(
        "foreign",
        [
            replace(OURS, endpoints=frozenset({"x:9092"})),
            replace(OURS, incarnation=50),
        ],
        ids=["endpoints", "incarnation"],
    )
    def test_a_foreign_registration_is_told_when_the_child_has_ended(self, foreign):
        events = (*HOLDING, held(registration=foreign))
        assert isinstance(played(*events)[1], Hold)
        action = played(*events, held(child=1))[1]
        assert isinstance(action.error, IdInUse)
        assert "id 7" in str(action.error)

    def test_or_at_once_without_a_child(self):
        foreign = replace(OURS, endpoints=frozenset(), incarnation=3)
        events = (gathered(), ended("done"), WROTE, held(registration=foreign))
        action = played(*events, launch=ALONE)[1]
        assert "session 0x5a" in str(action.error)

    def test_without_endpoints_the_incarnation_decides(self):
        unknown = replace(OURS, endpoints=frozenset())
        assert isinstance(played(*HOLDING, held(registration=unknown))[1], Confirm)
        no_time = replace(OURS, incarnation=None)
        assert isinstance(played(*HOLDING, held(registration=no_time))[1], Confirm)

    def test_a_child_that_ended_gives_the_claim_back(self):
        assert played(*HOLDING, held(child=9))[1] == Release()

    def test_nobody_registers_in_time(self):
        events = (gathered(), ended("done"), WROTE)
        assert played(*events, held(at_ms=105), launch=ALONE)[1] == Hold(id=7, most_ms=500)
        action = played(*events, held(at_ms=605), launch=ALONE)[1]
        assert isinstance(action.error, NotRegistered)
        assert "0.6 s" in str(action.error)
        assert isinstance(played(*HOLDING, held(at_ms=10**9))[1], Hold)


class TestALostSession:
    """The claim went with it while the child boots."""

    def test_it_is_claimed_again_while_the_mapping_is_ours(self):
        action = played(*HOLDING, held(claim=None))[1]
        claim, check = action.ops
        assert (claim.path, claim.ephemeral) == (f"{CLAIMS}/7", True)
        assert b'"nonce":"n"' in claim.data
        assert check == Check(f"{HOSTS}/h7", 4)
        events = (*HOLDING, held(claim=None))
        assert played(*events, ended("done"))[1] == Hold(id=7, most_ms=5_000)
        assert played(*events, ended("conflict"))[1] == Hold(id=7, most_ms=0)

    def test_our_old_claim_is_waited_for(self):
        old = Claim(broker_id=7, key="h7", nonce="n", session=OTHER)
        assert played(*HOLDING, held(claim=old))[1] == Hold(id=7, most_ms=500)

    def test_a_key_that_was_mapped_elsewhere_ends_the_child(self):
        events = (*HOLDING, held(claim=None, mapping=replace(MAPPED, broker_id=8)))
        assert played(*events)[1] == Signal()
        action = played(*events, ChildEnded(at_ms=20))[1]
        assert isinstance(action.error, ClaimLost)
        assert "nobody holds it" in str(action.error)
        assert action.unwrite == ("/a",)

    def test_a_second_start_of_the_key_keeps_the_files(self):
        second = Claim(broker_id=7, key="h7", nonce="m", session=OTHER)
        action = played(*HOLDING, held(claim=second), ChildEnded(at_ms=20))[1]
        assert "h7 holds it" in str(action.error)
        assert action.unwrite == ()

    def test_without_a_child_it_is_over_at_once(self):
        events = (gathered(), ended("done"), WROTE, held(claim=None, mapping=None))
        action = played(*events, launch=ALONE)[1]
        assert isinstance(action.error, ClaimLost)
        assert action.unwrite == ("/a",)

    def test_a_foreign_registration_does_not_need_the_claim(self):
        foreign = replace(OURS, incarnation=3)
        events = (*HOLDING, held(registration=foreign, claim=None))
        assert isinstance(played(*events)[1], Hold)


class TestToTheLetter:
    """The mapping is stored after the registration, and nothing is claimed."""

    rules = Rules.literal_kip()
    events = (gathered(), replace(WROTE, claim_czxid=None), Spawned(at_ms=6))

    def test_nothing_is_reserved(self):
        action = played(gathered(), rules=self.rules)[1]
        assert isinstance(action, WriteMeta)
        assert not action.claimed
        assert isinstance(played(*self.events, held(claim=None), rules=self.rules)[1], Hold)

    def test_the_mapping_comes_last(self):
        up = held(claim=None, registration=OURS)
        action = played(*self.events, up, rules=self.rules)[1]
        assert [(type(op).__name__, op.path) for op in action.ops] == [("Put", f"{HOSTS}/h7")]
        action = played(*self.events, replace(up, mapping=None), rules=self.rules)[1]
        assert [type(op).__name__ for op in action.ops] == ["Create"]
