"""SaslHandshake and SaslAuthenticate: bytes of their versions, and frames that are none."""

from __future__ import annotations

import pytest

from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.replica_service.calls import read_call
from rackwise.core.replica_service.login_calls import read_login_call
from rackwise.core.sasl.gate import Admission, LoginStage, admit
from rackwise.core.wire.api_versions import read_api_versions_response
from rackwise.core.wire.sasl import (
    AuthenticateResponse,
    read_authenticate_request,
    read_handshake_request,
    write_authenticate_response,
    write_handshake_response,
)
from service_frames import header


def test_a_handshake_is_read_and_answered():
    assert read_handshake_request(b"\0\x05PLAIN") == "PLAIN"
    assert write_handshake_response(33, ("A", "B")).hex() == "002100000002000141000142"
    call = read_login_call(header(17, 1, version=1) + b"\0\x01A")
    assert call.mechanism == "A"
    assert call.answer(0, ()).hex() == "0000000a00000007000000000000"


@pytest.mark.parametrize(
    ("version", "request_", "answer"),
    [
        (0, "00000001ab", "003a00016500000001cd"),
        (1, "00000001ab", "003a00016500000001cd0000000000000005"),
        (2, "02ab00", "003a026502cd000000000000000500"),
    ],
)
def test_each_version_of_a_step(version, request_, answer):
    assert read_authenticate_request(bytes.fromhex(request_), version=version) == b"\xab"
    response = AuthenticateResponse(
        error_code=58, error_message="e", auth_bytes=b"\xcd", session_lifetime_ms=5
    )
    assert write_authenticate_response(response, version=version).hex() == answer
    frame = header(36, version, version=2 if version == 2 else 1) + bytes.fromhex(request_)
    call = read_login_call(frame)
    assert (call.version, call.data) == (version, b"\xab")
    assert call.answer(response).endswith(bytes.fromhex(answer))
    assert "\\xab" not in repr(call)


@pytest.mark.parametrize(
    ("version", "data"),
    [(1, "ffffffff"), (2, "0000"), (1, "00000002ab"), (2, "05ab00"), (1, "00000001abcd")],
)
def test_steps_that_are_none(version, data):
    with pytest.raises(RemoteProtocolError):
        read_authenticate_request(bytes.fromhex(data), version=version)


def test_versions_that_are_not_served():
    for key, version in ((17, 0), (17, 2), (36, 3), (36, -1), (18, 0)):
        with pytest.raises(RemoteProtocolError, match="expected a message of a login"):
            read_login_call(header(key, version, version=1))
    with pytest.raises(LocalProtocolError):
        read_authenticate_request(b"", version=3)


def test_clients_see_the_keys_of_a_login_only_where_they_log_in():
    frame = header(18, 0, version=1)
    for has_logins in (False, True):
        answer = read_call(frame, api_key=68, host="h", port=1, has_logins=has_logins)
        ranges = read_api_versions_response(answer[8:], version=0).ranges
        found = {each.api_key: (each.least, each.most) for each in ranges}
        login = {17: (1, 1), 36: (0, 2)} if has_logins else {}
        assert found == {3: (0, 1), 18: (0, 4), 68: (0, 0)} | login


@pytest.mark.parametrize(
    ("stage", "admissions"),
    [
        (LoginStage.START, "begin close answer close"),
        (LoginStage.BEGUN, "reject step close close"),
        (LoginStage.OPEN, "begin reject answer answer"),
    ],
)
def test_which_request_may_come_when(stage, admissions):
    assert [admit(stage, key).value for key in (17, 36, 18, 68)] == admissions.split()


def test_a_session_that_is_over_admits_a_login_alone():
    over = [admit(LoginStage.OPEN, key, is_over=True, since_s=1.0) for key in (17, 36, 18, 68)]
    assert over == [Admission.BEGIN, Admission.REJECT, Admission.CLOSE, Admission.CLOSE]
    assert admit(LoginStage.OPEN, 17, since_s=0.9) is Admission.REJECT
