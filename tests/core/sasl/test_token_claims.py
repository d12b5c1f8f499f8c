"""The claims of a signed token: who is let in, for how long, and what a fault says."""

from __future__ import annotations

import pytest

from rackwise.core.sasl.outcome import Accepted, Rejected
from rackwise.core.sasl.principals import MOST_NAME
from rackwise.core.sasl.token_claims import LAST_S, TokenRules, judge_claims

NOW_S = 1_800_000_000.0
RULES = TokenRules(issuer="https://issuer.test", audience="kafka")
CLAIMS = {
    "iss": "https://issuer.test",
    "aud": "kafka",
    "sub": "alice",
    "iat": NOW_S - 10,
    "exp": NOW_S + 60,
}
NO_SECONDS = "the token claims exp, iat or nbf not as seconds since 1970"


def judged(rules=RULES, **claims):
    """The outcome with other claims; `...` = without the claim."""
    both = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not ...}
    return judge_claims(both, rules, now_s=NOW_S)


def why(**claims):
    outcome = judged(**claims)
    assert isinstance(outcome, Rejected)
    assert outcome.told is None
    return outcome.why


class TestAccepted:
    def test_a_login_lasts_until_the_token_ends(self):
        without_skew = TokenRules(issuer=RULES.issuer, audience="kafka", skew_s=0.0)
        assert judged() == judged(without_skew) == Accepted("alice", lasts_s=60.0)

    @pytest.mark.parametrize("ago_s", [0, 20])
    def test_a_login_after_the_end_lasts_for_the_rest_of_the_skew(self, ago_s):
        assert judged(exp=NOW_S - ago_s) == Accepted("alice", lasts_s=30.0 - ago_s)

    def test_the_audience_may_be_one_of_several(self):
        assert judged(aud=["other", "kafka"]) == judged()

    def test_another_claim_may_name_the_user(self):
        rules = TokenRules(issuer=RULES.issuer, audience="kafka", principal_claim="client_id")
        assert judged(rules, client_id="audit", sub=...).user == "audit"

    @pytest.mark.parametrize(
        "claims",
        [
            {"exp": NOW_S - 29.9},
            {"iat": NOW_S + 30},
            {"nbf": NOW_S + 30},
            {"nbf": 0},
            {"iat": 0},
            {"exp": LAST_S},
            {"exp": int(NOW_S) + 60},
        ],
    )
    def test_times_within_the_skew_are_accepted(self, claims):
        assert judged(**claims).user == "alice"

    @pytest.mark.parametrize("user", ["a", "\u00e4 b", "a" * MOST_NAME])
    def test_visible_names_are_accepted(self, user):
        assert judged(sub=user).user == user


class TestRejected:
    @pytest.mark.parametrize("issuer", [..., None, "", "https://issuer.test/", 7, [RULES.issuer]])
    def test_another_issuer_is_rejected(self, issuer):
        assert why(iss=issuer).startswith("the token claims another iss: expected https://issuer")

    @pytest.mark.parametrize("audience", [..., None, "kafk", "kafka x", [], ["a"], {"kafka": 1}])
    def test_another_audience_is_rejected(self, audience):
        assert why(aud=audience).startswith("the token claims another aud: expected kafka, got ")

    @pytest.mark.parametrize("name", ["exp", "iat", "nbf"])
    @pytest.mark.parametrize(
        "value", [None, "1800000000", True, -1, LAST_S + 1, float("inf"), float("nan"), [1]]
    )
    def test_a_time_that_is_not_in_seconds_is_rejected(self, name, value):
        assert why(**{name: value}) == NO_SECONDS

    @pytest.mark.parametrize("name", ["exp", "iat"])
    def test_a_token_without_an_end_or_a_begin_is_rejected(self, name):
        assert why(**{name: ...}) == NO_SECONDS

    @pytest.mark.parametrize("ago_s", [30, 3600])
    def test_a_token_that_ended_before_the_skew_is_rejected(self, ago_s):
        assert why(exp=NOW_S - ago_s) == f"the token expired {ago_s} s ago"

    @pytest.mark.parametrize("name", ["iat", "nbf"])
    def test_a_token_that_begins_after_the_skew_is_rejected(self, name):
        assert why(**{name: NOW_S + 31}) == "the token begins in 31 s: the clocks differ"

    @pytest.mark.parametrize(
        "user", [..., None, "", " a", "a ", " ", "a\n", "a\u202eb", "a" * (MOST_NAME + 1), 7, ["a"]]
    )
    def test_a_user_without_a_visible_name_is_rejected(self, user):
        assert why(sub=user).startswith("the token claims another sub: expected a name of up to")

    def test_a_fault_shows_the_claim_in_one_short_line(self):
        assert why(iss=...).endswith("got none")
        told = why(iss="a\nb\u202e" + "c" * 1000)
        assert "got 'a\\nb\\u202ec" in told
        assert told.isprintable()
        assert len(told) < 200
