"""What `rackwise.core.identity` offers by itself, without a name of a module below it."""

import inspect

import pytest

from rackwise.core import identity

CALLED = {
    "decide": ["observation", "rules"],
    "step": ["state", "event"],
    "watch_step": ["state", "event"],
    "operations": ["take", "observation"],
    "garbage": ["mappings", "registered", "claims", "owners", "now_ms", "min_age_ms"],
    "parse_properties": ["data"],
    "parse_meta": ["data"],
    "format_meta": ["meta"],
    "key_problem": ["key"],
    "parse_mapping": ["node", "key"],
    "format_mapping": ["m"],
    "parse_registration": ["node", "id"],
}


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_takes_these(name):
    assert list(inspect.signature(getattr(identity, name)).parameters) == CALLED[name]


def test_every_name_is_there_once_and_in_order():
    assert list(identity.__all__) == sorted(set(identity.__all__))
    assert all(hasattr(identity, name) for name in identity.__all__)
    assert set(CALLED) <= set(identity.__all__)
