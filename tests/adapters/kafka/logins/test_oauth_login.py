"""OAUTHBEARER against a real broker that checks each token with Kafka's own validator."""

from __future__ import annotations

import secrets
from contextlib import closing

import pytest

from oauth_brokers import oauth_cluster, settings_of
from rackwise.adapters.kafka import connect
from token_issuers import TokenIssuer

CANARY = secrets.token_hex(16)

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    with closing(TokenIssuer(tmp_path_factory.mktemp("issuer"), CANARY)) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory, issuer):
    with oauth_cluster(java_home, tmp_path_factory.mktemp("oauth"), issuer, brokers=1) as made:
        yield made


def test_a_login_with_client_credentials(cluster, issuer, tmp_path):
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        assert admin.describe_cluster()["brokers"][0]["rack"] == "a"
