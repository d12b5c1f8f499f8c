"""Tables on a store that a killed run has left are found by the next run, others are not."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from rackwise.adapters.files import publish, table_claims
from rackwise.core.errors import RackwiseError

ONE, TWO = "s3a://lake/tables/runs/0123456789ab", "s3a://lake/tables/runs/ba9876543210"
KILLED = """
import os, signal, sys
from rackwise.adapters.files import table_claims
with table_claims(sys.argv[1]) as claims:
    claims.claim(sys.argv[2])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_run(out, uri):
    done = subprocess.run([sys.executable, "-c", KILLED, str(out), uri], check=False)
    assert done.returncode == -signal.SIGKILL


def test_tables_of_a_killed_run_are_abandoned(tmp_path):
    kill_a_run(tmp_path, ONE)
    with table_claims(tmp_path) as claims:
        assert claims.abandoned() == (ONE,)
        claims.release(ONE)
        assert claims.abandoned() == ()
    assert not any(tmp_path.iterdir())


def test_tables_of_a_run_that_goes_on_are_not(tmp_path):
    with table_claims(tmp_path) as running:
        running.claim(ONE)
        with table_claims(tmp_path) as claims:
            assert claims.abandoned() == ()
            claims.claim(TWO)
            claims.release(TWO)
        with table_claims(tmp_path) as claims:
            assert claims.abandoned() == ()
    with table_claims(tmp_path) as claims:
        assert claims.abandoned() == (ONE,)


def test_tables_that_are_published_are_kept_and_their_claim_is_forgotten(tmp_path):
    kill_a_run(tmp_path, ONE)
    publish(tmp_path, run_id=ONE[-12:], files={"summary.json": b"{}"}, tables=ONE)
    with table_claims(tmp_path) as claims:
        assert claims.abandoned() == ()
    assert not [*tmp_path.glob("unpublished/*")]


@pytest.mark.parametrize(
    "text", ["", "s3a://lake/tables", "s3a://lake/runs/", "/runs/0123456789ab"]
)
def test_only_tables_of_a_run_are_ever_given(tmp_path, text):
    """The next run removes what is given, so no other text may name a folder."""
    (tmp_path / "unpublished").mkdir()
    (tmp_path / "unpublished" / "a.uri").write_text(text)
    with table_claims(tmp_path) as claims:
        assert claims.abandoned() == ()


def test_a_folder_without_claims_has_none_and_is_not_made(tmp_path):
    with table_claims(tmp_path / "new") as claims:
        assert claims.abandoned() == ()
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with table_claims(tmp_path / "file") as claims, pytest.raises(RackwiseError, match="file"):
        claims.claim(ONE)


def test_a_file_that_is_not_utf_8_is_left_alone(tmp_path):
    kill_a_run(tmp_path, ONE)
    other = tmp_path / "unpublished" / "a.uri"
    other.write_bytes(b"s3a://lake/\xff/runs/0123456789ab")
    with table_claims(tmp_path) as claims:
        claims.claim(TWO)
        assert claims.abandoned() == (ONE,)
        claims.release(ONE)
        claims.release(TWO)
        assert claims.abandoned() == ()
    assert [*tmp_path.glob("unpublished/*")] == [other]
