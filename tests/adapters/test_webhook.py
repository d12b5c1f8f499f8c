"""A webhook gets the document or the error says why, never with the URL."""

import socket
import ssl
import threading
import warnings

import pytest
import trustme

from rackwise.adapters.webhook import post, read_webhook
from rackwise.core.errors import InvalidConfig, RackwiseError, ServerRefused, Unreachable
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.secret import Secret
from webhooks import free_port, webhook

DOCUMENT = {"text": "prod: 1 topic became unsafe: é", "notices": []}


@pytest.fixture
def hook():
    with webhook() as made:
        yield made


def secret(hook):
    return read_webhook("${env:HOOK}", environ={"HOOK": hook.url})


def test_a_webhook_gets_the_document_as_json(hook):
    post(secret(hook), DOCUMENT)
    assert hook.documents == [DOCUMENT]
    assert hook.paths == ["/services/canary-5f0c9a7d?key=canary-81c0"]


def test_a_url_without_a_path_is_called_at_the_root(hook):
    port = hook.url.split(":")[2].split("/")[0]
    post(Secret(f"http://127.0.0.1:{port}"), DOCUMENT)
    assert hook.paths == ["/"]


@pytest.mark.parametrize("status", [301, 307, 400, 404, 500, 503])
def test_an_answer_that_is_no_success_is_an_error(hook, status):
    hook.answer = status
    with webhook() as other:
        hook.location = other.url
        with pytest.raises(ServerRefused) as raised:
            post(secret(hook), DOCUMENT)
    assert str(status) in raised.value.message
    assert hook.documents == other.documents == other.paths == []
    no_secret_in(raised.value)


@pytest.mark.parametrize("answer", ["hang", "drip"])
def test_a_webhook_that_does_not_answer_ends_after_the_limit(hook, answer):
    hook.answer = answer
    with pytest.raises(Unreachable, match=r"no answer within 0\.3 s") as raised:
        post(secret(hook), DOCUMENT, limit_s=0.3)
    no_secret_in(raised.value)


def test_a_webhook_that_shakes_no_hands_ends_after_the_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = Secret(f"https://127.0.0.1:{silent.getsockname()[1]}/canary-5f0c9a7d")
        with pytest.raises(Unreachable, match=r"no answer within 0\.3 s"):
            post(url, DOCUMENT, limit_s=0.3)


def test_a_name_that_is_looked_up_for_ever_ends_after_the_limit(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(30) and [])
    try:
        with pytest.raises(Unreachable, match=r"no answer within 0\.3 s"):
            post(Secret("https://hooks.example/canary-5f0c9a7d"), DOCUMENT, limit_s=0.3)
    finally:
        released.set()


@pytest.mark.parametrize("host", ["exa..mple", f"{'a' * 64}.example"])
def test_a_name_that_is_no_host_is_a_failed_call(host):
    with pytest.raises(Unreachable) as raised:
        post(Secret(f"https://{host}/canary-5f0c9a7d"), DOCUMENT)
    no_secret_in(raised.value)


def test_a_webhook_that_is_down_is_an_error():
    url = Secret(f"http://127.0.0.1:{free_port()}/canary-5f0c9a7d")
    with pytest.raises(Unreachable, match="Connection refused") as raised:
        post(url, DOCUMENT)
    no_secret_in(raised.value)


class TestTls:
    AUTHORITY = trustme.CA()

    def context(self, name):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.AUTHORITY.issue_cert(name).configure_cert(made)
        return made

    @pytest.fixture
    def is_trusted(self, tmp_path, monkeypatch):
        bundle = tmp_path / "ca.pem"
        self.AUTHORITY.cert_pem.write_to_path(str(bundle))
        monkeypatch.setenv("SSL_CERT_FILE", str(bundle))

    @pytest.mark.usefixtures("is_trusted")
    def test_a_certificate_of_a_trusted_authority_is_accepted(self):
        with webhook(self.context("127.0.0.1")) as hook:
            post(secret(hook), DOCUMENT)
            assert hook.documents == [DOCUMENT]

    @pytest.mark.usefixtures("is_trusted")
    def test_a_certificate_of_another_name_is_rejected(self):
        self.rejected("kafka.internal")

    def test_a_certificate_of_an_unknown_authority_is_rejected(self):
        self.rejected("127.0.0.1")

    def rejected(self, name):
        with webhook(self.context(name)) as hook:
            with pytest.raises(Unreachable, match="certificate is not trusted") as raised:
                post(secret(hook), DOCUMENT)
            assert hook.paths == []
        no_secret_in(raised.value)


class TestReference:
    def test_a_file_holds_the_url(self, tmp_path, hook):
        path = tmp_path / "url"
        path.write_text(f"{hook.url}\n")
        path.chmod(0o600)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read_webhook(f"${{file:{path}}}", environ={}).reveal() == hook.url
        path.chmod(0o644)
        with pytest.raises(SecretExposed, match="holds the URL of a webhook") as raised:
            read_webhook(f"${{file:{path}}}", environ={})
        no_secret_in(raised.value)

    @pytest.mark.parametrize(
        "text",
        [
            "https://hooks.example/canary-5f0c9a7d",
            "canary-5f0c9a7d",
            "",
            "${canary-5f0c9a7d",
            "x${env:HOOK}",
            "${env:https://hooks.example/canary-5f0c9a7d}",
            "${env:canary-5f0c9a7d}",
            "${file:https://hooks.example/canary-5f0c9a7d}",
        ],
    )
    def test_a_url_on_the_command_line_is_rejected_and_not_repeated(self, text):
        with pytest.raises(InvalidConfig, match="expected \\$\\{env:NAME\\}") as raised:
            read_webhook(text, environ={"HOOK": "https://hooks.example/"})
        no_secret_in(raised.value)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "canary-5f0c9a7d",
            "ftp://127.0.0.1/canary-5f0c9a7d",
            "http://hooks.example/canary-5f0c9a7d",
            "https:///canary-5f0c9a7d",
            "https://user:canary-5f0c9a7d@hooks.example/",
            "https://hooks.example:99999/canary-5f0c9a7d",
            "https://hooks.example/canary-5f0c9a7d\r\nX: y",
            "https://[::1/canary-5f0c9a7d",
            "https://exa..mple/canary-5f0c9a7d",
            f"https://{'a' * 64}.example/canary-5f0c9a7d",
        ],
    )
    def test_a_url_that_cannot_be_called_is_rejected_and_not_repeated(self, url):
        with pytest.raises(InvalidConfig, match="invalid --notify") as raised:
            read_webhook("${env:HOOK}", environ={"HOOK": url})
        no_secret_in(raised.value)

    def test_a_variable_that_is_not_set_is_named(self):
        with pytest.raises(InvalidConfig, match="HOOK, which is not set") as raised:
            read_webhook("${env:HOOK}", environ={})
        assert raised.value.hint == "set HOOK to the URL of the webhook"

    def test_http_is_accepted_for_this_machine(self):
        for host in ("localhost", "127.0.0.1", "[::1]"):
            read_webhook("${env:HOOK}", environ={"HOOK": f"http://{host}:1/"})


def no_secret_in(error: RackwiseError):
    assert "canary" not in f"{error.as_dict()}{error!r}{error}{error.__cause__}"
    assert error.__context__ is None or error.__suppress_context__
