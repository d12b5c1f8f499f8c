"""Files with secrets: which modes are used, warned of and refused, and what is read at all."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from rackwise.adapters.secret_files import check_own, read_regular, read_secret
from rackwise.core.errors import InvalidConfig, SettingsWarning
from rackwise.core.identity.refusals import SecretExposed

HINT = "give another file"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"canary")

    def of_mode(mode):
        path.chmod(mode)
        return str(path)

    return of_mode


def read(path):
    return read_secret(path, what="password file", holds="a password", hint=HINT)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_file_of_its_owner_is_read_in_silence(secret, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(secret(mode)) == b"canary"


@pytest.mark.parametrize("mode", [0o440, 0o640, 0o450])
def test_a_file_that_the_group_may_read_is_read_with_a_warning_that_says_what_to_do(secret, mode):
    path = secret(mode)
    with pytest.warns(SettingsWarning) as told:
        assert read(path) == b"canary"
    (text,) = [str(each.message) for each in told]
    assert text == (
        f"{path} holds a password and its group may read it (mode {mode:04o}): run chmod 600 "
        f"{path}, unless the group has no other members"
    )


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o620, 0o660, 0o644, 0o777])
def test_a_file_that_others_may_use_or_the_group_may_write_is_refused(secret, mode):
    with pytest.raises(SecretExposed, match=f"expected 0600 or 0440, got {mode:04o}") as caught:
        read(secret(mode))
    assert "defaultMode: 0440 and fsGroup" in caught.value.hint
    assert "canary" not in str(caught.value.as_dict())


def test_a_file_that_others_may_write_is_not_its_owners(secret):
    for mode in (0o400, 0o600, 0o644, 0o444):
        check_own(Path(secret(mode)).stat(), "token", holds="a token")
    for mode in (0o620, 0o602, 0o666, 0o664):
        with pytest.raises(SecretExposed, match=f"expected 0600 or 0644, got {mode:04o}") as caught:
            check_own(Path(secret(mode)).stat(), "token", holds="a token")
        assert caught.value.hint == "run chmod go-w token"


def test_only_small_regular_files_are_read(tmp_path, secret):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(InvalidConfig, match="expected a regular file"):
            read_regular(str(path), what="store", hint=HINT)
    for path in (tmp_path / "none", "a\0b"):
        with pytest.raises(InvalidConfig, match="cannot read store "):
            read_regular(str(path), what="store", hint=HINT)
    with pytest.raises(InvalidConfig, match="expected at most 5 bytes, got 6") as caught:
        read_regular(secret(0o600), what="store", hint=HINT, max_bytes=5)
    assert caught.value.hint == HINT
