"""A secret is never shown by accident."""

import copy
import pickle  # noqa: TID251 (a secret must refuse it)

import pytest

from rackwise.core.json.canonical import canonical_json
from rackwise.core.secret import Secret


def test_secret_is_never_shown():
    secret = Secret("canary")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>9}", "%s" % secret, repr([secret])]  # noqa: UP031 (each way is tried)
    assert not any("canary" in text for text in shown)
    assert secret.reveal() == "canary"
    for escape in (pickle.dumps, copy.copy, canonical_json):
        with pytest.raises(TypeError):
            escape(secret)
