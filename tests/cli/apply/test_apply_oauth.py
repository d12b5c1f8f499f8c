"""`rackwise apply` and its neighbours with OAUTHBEARER: tokens that end while they run."""

from __future__ import annotations

import secrets
import threading
from contextlib import closing
from pathlib import Path

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, plan_file, shown
from kafka_traffic import create, delete, produce, until
from oauth_brokers import oauth_cluster, properties_of, settings_of
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.files.throttle_request import request_path, write_request
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.cli.main import run
from rackwise.core.secret import Secret
from token_issuers import TokenIssuer

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "owned"
FIRST, SECOND = (secrets.token_hex(16) for _ in range(2))
LIVES_S = 4
"""A token ends several times in a run."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with closing(TokenIssuer(tmp_path_factory.mktemp("issuer"), FIRST)) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory, served):
    with oauth_cluster(java_home, tmp_path_factory.mktemp("oauth"), served, brokers=3) as made:
        yield made


@pytest.fixture
def issuer(served):
    served.secret, served.mode, served.lives_s = FIRST, "token", LIVES_S
    served.asked.clear()
    return served


@pytest.fixture
def admin(cluster):
    """A client that needs no login."""
    with closing(connect(cluster.bootstrap)) as made:
        yield made
        delete(made, NAME)


@pytest.fixture
def path(admin, cluster, tmp_path):
    create(admin, NAME, [[0, 1], [0, 1]])
    produce(cluster.bootstrap, {(NAME, 0): 300})
    return plan_file(tmp_path / "p.json", admin, {(NAME, 0): (0, 2), (NAME, 1): (1, 0)})


@pytest.fixture
def rackwise(capsys, state, tmp_path, issuer, cluster):  # noqa: ARG001 (where its journal is)
    """Run a command with a login: its exit code, stdout and stderr, without a secret in them."""

    def call(*words, secret=FIRST):
        settings = tmp_path / "client.properties"
        settings.touch(0o600)
        lines = settings_of(issuer, tmp_path) | {"default.api.timeout.ms": "10000"}
        key = "sasl.oauthbearer.client.credentials.client.secret"
        settings.write_text(properties_of(lines | {key: Secret(secret)}))
        where = ["--bootstrap-server", cluster.login, "--command-config", str(settings)]
        code = run([*words, *where])
        captured = capsys.readouterr()
        assert not secrets_in(captured.out + captured.err, issuer)
        return code, captured.out, captured.err

    return call


def test_an_apply_outlives_its_tokens_and_a_moment_without_an_issuer(
    admin, issuer, path, rackwise, state
):
    def trouble():
        until(lambda: len(issuer.asked) > 2, "some tokens to end")
        issuer.mode = "busy"
        until(lambda: len(issuer.asked) > 4, "questions to an issuer that is down")
        issuer.mode = "token"
        (journal,) = state.glob("*/*.journal")
        write_request(request_path(journal), 100_000_000, lasts_ms=600_000)

    thread = threading.Thread(target=trouble)
    thread.start()
    code, out, err = rackwise("apply", path, "--throttle", "1", "--debug")
    thread.join()
    assert code == 0, (out, err)
    shown(admin, NAME, {0: [0, 2], 1: [1, 0]})
    assert len(issuer.asked) > 4
    assert no_throttles(admin)
    assert not files_with_secrets(state, issuer)


def test_a_secret_that_is_replaced_ends_the_run_and_the_new_one_goes_on(
    admin, issuer, path, rackwise, state
):
    def rotate():
        until(lambda: TopicPartition(NAME, 0) in admin.list_partition_reassignments(), "a move")
        until(lambda: lists(admin, NAME)[1] == [1, 0], "the move without bytes")
        issuer.secret = SECOND
        issuer.rotate()

    thread = threading.Thread(target=rotate)
    thread.start()
    code, out, err = rackwise("apply", path, "--throttle", "1")
    thread.join()
    assert code == 3, (out, err)
    assert "got status 401, invalid_client" in out + err
    assert "throttle" in out + err, "what is left on the cluster is named"
    (journal,) = state.glob("*/*.journal")
    assert [each.type for each in parse_journal(journal.read_bytes(), journal).entries][-1] == "end"
    assert not files_with_secrets(state, issuer)
    code, out, err = rackwise("resume", path)
    assert (code, out) == (1, "")
    assert "got status 401, invalid_client" in err.splitlines()[0]
    faster = ("--throttle", "100MB", "--throttle-over", "ours")
    code, out, err = rackwise("resume", path, *faster, secret=SECOND)
    assert code == 0, (out, err)
    shown(admin, NAME, {0: [0, 2], 1: [1, 0]})
    assert no_throttles(admin)


def no_throttles(admin):
    left = read_throttles(admin, topics=[NAME], brokers=[0, 1, 2])
    return not any([*left.brokers.values(), *left.topics.values()])


def secrets_in(text, issuer):
    return [each for each in (FIRST, SECOND, *issuer.tokens) if each in text or each[-40:] in text]


def files_with_secrets(folder, issuer):
    files = [each for each in Path(folder).rglob("*") if each.is_file()]
    return [each for each in files if secrets_in(each.read_text(errors="replace"), issuer)]
