"""Lines of the log of `rackwise serve`: hostile names leave each of them one short line of JSON."""

from __future__ import annotations

import ssl
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from kafka_pem import CERTIFICATE, KEY
from rackwise.adapters.rpc.config import Tls
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.sasl.principals import certificate_principal
from rpc_servers import connected, received, response_of, running, said
from service_frames import assignment, framed, header

MOST_LINE = 2_000
"""Characters of a line, whatever clients are called."""
MOST_ID = 256
"""Characters of a client id that is served; a longer one is closed."""
MOST_NAME = 2_000
HOSTILE = (
    *("\x1b[31m", "\x9b2J", "\u202e", "\u2028", "\u2029", "\n", "\r\n", "\0", "\x7f", "\x85"),
    *('"', "'", "\\", "\\u0041", '{"type":"stopped"}', "\U000e0001", "\ufeff", "\u00e9", "a b"),
)
NAMES = st.builds(
    lambda parts, times: ("".join(parts) * times)[:MOST_NAME],
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=8), max_size=6),
    st.sampled_from([1, 1, 1, 100, 30_000]),
).filter(lambda text: not any(0xD800 <= ord(each) < 0xE000 for each in text))


def check_lines(lines):
    """Law: what `serve` prints is one printable line of JSON each, of bounded length."""
    for line in lines:
        with redirect_stdout(StringIO()) as out:
            Shell().document(line)
        (printed,) = out.getvalue().splitlines()
        assert printed.isprintable()
        assert len(printed) < MOST_LINE
        read = parse(printed.encode(), where="log", error=InvalidConfig)
        assert read == line
        assert all(each.isprintable() for each in read.values() if isinstance(each, str))


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


@given(name=NAMES)
def test_of_requests_with_any_client_id(server, name):
    seen = len(server.lines)
    whole = header(68, 0, version=2, client_id=name) + assignment()[19:]
    frames = said(server.port, framed(whole), is_over=False) if len(name) > MOST_ID else None
    if frames is None:
        (frame,) = said(server.port, framed(whole))
        assert response_of(frame)[1].error_code == 0
        assert [line["type"] for line in server.lines[seen:]] == ["request"]
    check_lines(server.lines[seen:])


@given(subject=st.lists(st.tuples(st.tuples(st.just("commonName"), NAMES)), min_size=1, max_size=3))
def test_of_any_subject_of_a_certificate(server, subject):
    seen = len(server.lines)
    connection = SimpleNamespace(peer="127.0.0.1:1", principal=certificate_principal(subject))
    server.server._logged_in(connection, "SCRAM-SHA-512", 0)
    check_lines(server.lines[seen:])


@given(detail=NAMES)
def test_of_any_reason_of_an_end(server, detail):
    seen = len(server.lines)
    server.server._counts.told.clear()
    server.server._count("protocol", "127.0.0.1:1", detail)
    assert len(server.lines) == seen + 1
    check_lines(server.lines[seen:])


def test_of_a_placer_that_breaks_with_a_long_message():
    def broken(_request, _seed):
        raise ValueError("\x1b\u2028" * 100_000)

    with running(broken) as server:
        said(server.port, framed(assignment()))
        (line,) = server.told("request")
    with redirect_stdout(StringIO()) as out:
        Shell().document(line)
    (printed,) = out.getvalue().splitlines()
    assert printed.isprintable()
    assert len(printed) < 60_000


def test_of_a_client_with_a_hostile_certificate(tmp_path):
    authority = trustme.CA()
    unit = '\u202e\u2028"=,' * 900
    issued = authority.issue_cert("client", organization_unit_name=unit)
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    (tmp_path / "server.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    (tmp_path / "key.pem").chmod(0o600)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(tmp_path / "both.pem")
    tls = Tls(
        certificate=tmp_path / "server.pem",
        key=tmp_path / "key.pem",
        client_ca=tmp_path / "ca.pem",
    )
    with running(tls=tls) as server:
        with context.wrap_socket(connected(server.port)) as sock:
            sock.sendall(framed(assignment()))
            assert response_of(received(sock))[1].error_code == 0
        (line,) = server.told("request")
        assert line["principal"].startswith("User:OU=")
        check_lines(server.lines)
