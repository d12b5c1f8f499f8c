"""When the keys of an issuer are fetched again, by times that are given."""

from __future__ import annotations

import pytest

from rackwise.core.sasl.key_freshness import FRESH_S, KEPT_S, PAUSE_S, KeyAges, KeyUse, key_use

READ_S = 1000.0


def used(age_s, *, tried_ago_s=None, is_known=True, **more):
    now_s = READ_S + age_s
    tried_s = READ_S if tried_ago_s is None else now_s - tried_ago_s
    return key_use(KeyAges(read_s=READ_S, tried_s=tried_s, **more), now_s, is_known=is_known)


@pytest.mark.parametrize("age_s", [0.0, FRESH_S - 1])
@pytest.mark.parametrize("more", [{}, {"has_failed": True}, {"is_fetching": True}])
def test_a_known_key_is_used_at_once_while_the_keys_are_fresh(age_s, more):
    assert used(age_s, **more) is KeyUse.USE


@pytest.mark.parametrize("age_s", [FRESH_S, KEPT_S - 1])
def test_older_keys_are_fetched_first_while_the_endpoint_answers(age_s):
    assert used(age_s) is KeyUse.FETCH_FIRST
    assert used(age_s, tried_ago_s=0, is_fetching=True) is KeyUse.FETCH_FIRST


@pytest.mark.parametrize("age_s", [FRESH_S, KEPT_S - 1])
def test_older_keys_are_used_while_the_endpoint_fails(age_s):
    assert used(age_s, tried_ago_s=PAUSE_S, has_failed=True) is KeyUse.USE_AND_FETCH
    assert used(age_s, tried_ago_s=PAUSE_S - 1, has_failed=True) is KeyUse.USE


@pytest.mark.parametrize("has_failed", [False, True])
def test_keys_of_an_hour_are_not_used(has_failed):
    assert used(KEPT_S, tried_ago_s=PAUSE_S, has_failed=has_failed) is KeyUse.FETCH_FIRST
    assert used(KEPT_S, tried_ago_s=PAUSE_S - 1, has_failed=has_failed) is KeyUse.NONE


@pytest.mark.parametrize("age_s", [PAUSE_S, FRESH_S, KEPT_S])
def test_an_unknown_key_is_fetched_by_its_first_token(age_s):
    assert used(age_s, is_known=False) is KeyUse.FETCH_FIRST


@pytest.mark.parametrize("age_s", [0.0, FRESH_S, KEPT_S])
def test_unknown_keys_begin_no_fetch_within_the_pause_but_wait_for_one_in_progress(age_s):
    assert used(age_s, tried_ago_s=PAUSE_S - 1, is_known=False) is KeyUse.NONE
    waits = used(age_s, tried_ago_s=PAUSE_S - 1, is_known=False, is_fetching=True)
    assert waits is KeyUse.FETCH_FIRST
