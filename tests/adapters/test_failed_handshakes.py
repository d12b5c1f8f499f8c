"""Each HTTPS client says why a TLS handshake failed and what to do, and shows no secret."""

from __future__ import annotations

import json
import ssl

import pytest

from kafka_pem import AUTHORITY
from rackwise.adapters.kafka.logins.msk_iam import msk_login
from rackwise.adapters.kafka.logins.token_endpoint import TokenEndpoint
from rackwise.adapters.kubernetes import open_kubernetes, read_kubernetes
from rackwise.adapters.rpc.logins.key_endpoint import KeyEndpoint
from rackwise.adapters.sandbox.fetch import fetch
from rackwise.adapters.sandbox.lock import JarLocations, locked_jars
from rackwise.adapters.webhook import post
from rackwise.core.errors import RackwiseError
from rackwise.core.secret import Secret
from rackwise.pipeline.stream.maven import Line, ask
from refusals import check_refused
from tls_listeners import listener, pem_folder, tls_of
from writing_commands import SNAPSHOT

CANARY = "canary-5f0c9a7d"
PATH = f"/path?key={CANARY}"
BUNDLE = "set SSL_CERT_FILE to a PEM file with the authorities that you trust"
CHECK = "check the names and dates of the server's certificate; if its authority is not known here"
ENABLE = "enable TLS 1.2 or 1.3 on the server"
UNTRUSTED = "its certificate is not trusted"
REJECTED = "it rejected the certificate of this client"
SERVERS = {
    "another name": (
        {"name": "other"},
        "untrusted",
        f"{UNTRUSTED}: IP address mismatch, certificate is not valid for '127.0.0.1'",
    ),
    "expired": ({"name": "expired"}, "untrusted", f"{UNTRUSTED}: certificate has expired"),
    "foreign authority": (
        {"name": "stranger"},
        "untrusted",
        f"{UNTRUSTED}: unable to get local issuer certificate",
    ),
    "old protocol": (
        {"name": "good", "is_old": True},
        "old",
        "the server offers no TLS 1.2 or later",
    ),
    "no TLS": (None, "no tls", "the server there does not use TLS"),
    "wants a certificate": (
        {"name": "good", "asks": True},
        "rejected",
        "it requires a certificate of this client",
    ),
}
OWN = {
    "expired": f"{REJECTED}: certificate expired",
    "stranger": f"{REJECTED}: unknown ca",
}
"""A client's own certificate, and what a server that wants one says of it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pem_folder(tmp_path_factory.mktemp("pem"))


@pytest.fixture(autouse=True)
def trusts(folder, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))


def to_webhook(port, *_):
    post(Secret(f"https://127.0.0.1:{port}{PATH}"), {"text": "a notice"})


def to_jwks(port, *_):
    KeyEndpoint(f"https://127.0.0.1:{port}{PATH}", lambda **_: None)


def to_tokens(port, folder, own):
    tls = ssl.create_default_context(cadata=AUTHORITY)
    if own is not None:
        tls.load_cert_chain(folder / f"{own}.pem")
    TokenEndpoint(
        url=f"https://127.0.0.1:{port}{PATH}",
        client_id="audit",
        client_secret=Secret(CANARY),
        connect_s=10,
        read_s=10,
        tls=tls,
    ).fetch()


def to_kubernetes(port, folder, own):
    pem = str(folder / f"{own}.pem")
    pair = {} if own is None else {"client-certificate": pem, "client-key": pem}
    server = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(folder / "ca.pem"),
    }
    path = folder / "kubeconfig"
    document = {
        "clusters": [{"name": "c", "cluster": server}],
        "users": [{"name": "u", "user": {"token": CANARY, **pair}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    path.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(path))
        read_kubernetes(open_kubernetes(None), namespace=None)


def to_jars(port, folder, _own):
    fetch(
        locked_jars("kafka-4.4.0")[:1],
        places=JarLocations(cache=folder / "cache", maven=folder / "m2"),
        environment={"RACKWISE_MAVEN_URL": f"https://127.0.0.1:{port}", "PATH": ""},
        advance=lambda _: None,
    )


def to_sts(port, folder, _own):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL_STS": f"https://127.0.0.1:{port}",
            "AWS_CA_BUNDLE": folder / "ca.pem",
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": CANARY,
            "AWS_CONFIG_FILE": folder / "none",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, str(value))
        host = "b-1.audit.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"
        msk_login({"awsRoleArn": "arn:aws:iam::1:role/r"}, [host]).fetch()


CLIENTS = {
    "webhook": (
        to_webhook,
        {
            "untrusted": f"{CHECK}, {BUNDLE}",
            "old": ENABLE,
            "no tls": "check host and port in the URL of the webhook",
            "rejected": "use a webhook that asks for no client certificate: Rackwise has none",
        },
    ),
    "JWKS": (
        to_jwks,
        {
            "untrusted": f"{CHECK}, {BUNDLE}",
            "old": ENABLE,
            "no tls": "check host and port in --oauth-jwks",
            "rejected": "give an address that asks for no client certificate, or a file",
        },
    ),
    "tokens": (
        to_tokens,
        {
            "untrusted": f"{CHECK}, name it in sasl.jaas.config",
            "old": ENABLE,
            "no tls": "check host and port in sasl.oauthbearer.token.endpoint.url",
            "rejected": "name a certificate that the endpoint trusts in sasl.jaas.config",
        },
    ),
    "Kubernetes": (
        to_kubernetes,
        {
            "untrusted": f"{CHECK}, set certificate-authority of the cluster in the kubeconfig",
            "old": ENABLE,
            "no tls": "check host and port in `server` of the cluster in the kubeconfig",
            "rejected": "set client-certificate and client-key of the user in the kubeconfig",
        },
    ),
    "jars": (
        to_jars,
        {
            "untrusted": f"{CHECK}, {BUNDLE}",
            "old": ENABLE,
            "no tls": "check host and port in RACKWISE_MAVEN_URL",
            "rejected": "set RACKWISE_MAVEN_URL to a Maven repository that this machine can reach",
        },
    ),
    "STS": (
        to_sts,
        {
            "untrusted": f"{CHECK}, set AWS_CA_BUNDLE",
            "old": ENABLE,
            "no tls": "check host and port in AWS_ENDPOINT_URL_STS",
            "rejected": "check that AWS STS can be reached from here",
        },
    ),
}


NAMED_BY_URLLIB3 = f"{UNTRUSTED}: hostname '127.0.0.1' doesn't match 'elsewhere.test'"
"""What the client of STS says of another name."""


def check_named(call, made, folder, says, hint, *, own=None):
    """Law: one error whose message ends with the cause, the hint for it, and no secret."""
    context = None if made is None else tls_of(folder, **made)
    with listener(context) as port, pytest.raises(RackwiseError) as caught:
        call(port, folder, own)
    error = caught.value
    assert error.message.endswith((f": {says}", f": {NAMED_BY_URLLIB3}"))
    assert hint in error.hint
    assert CANARY not in f"{error} {error.as_dict()} {error!r} {error.__cause__!r}"
    assert error.__context__ is None or error.__suppress_context__
    assert error.message.isprintable()


@pytest.mark.filterwarnings("ignore:.*TLSv1.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_failed_handshake_has_its_cause_and_a_hint(folder, client, server):
    made, kind, says = SERVERS[server]
    call, hints = CLIENTS[client]
    check_named(call, made, folder, says, hints[kind])


@pytest.mark.parametrize("client", ["tokens", "Kubernetes"])
@pytest.mark.parametrize("own", OWN)
def test_a_certificate_of_the_client_that_is_not_accepted_is_named(folder, client, own):
    call, hints = CLIENTS[client]
    made = {"name": "good", "asks": True}
    check_named(call, made, folder, OWN[own], hints["rejected"], own=own)


def test_a_service_whose_issuer_has_an_expired_certificate_does_not_start(folder):
    words = ["serve", "--snapshot", SNAPSHOT, "--listen", "127.0.0.1:0"]
    issuer = ["--oauth-issuer", "https://issuer.test", "--oauth-audience", "rackwise"]
    with listener(tls_of(folder, "expired")) as port:
        address = f"https://127.0.0.1:{port}/path"
        check_refused(
            [*words, *issuer, "--oauth-jwks", f"{address}?key={CANARY}"],
            f"cannot get the JWKS {address}: {UNTRUSTED}: certificate has expired",
            f"{CHECK}, {BUNDLE}",
        )


@pytest.mark.filterwarnings("ignore:.*TLSv1.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("server", SERVERS)
def test_a_repository_of_connectors_is_named_with_its_cause(folder, server):
    made, _, says = SERVERS[server]
    with listener(None if made is None else tls_of(folder, **made)) as port:
        place = f"https://127.0.0.1:{port}/"
        assert ask(Line("4.2.1", "2.13"), [place]) == (None, f"{place}: {says}")
