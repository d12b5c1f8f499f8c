"""A stand-in for the IAM listener of Amazon MSK, in front of a listener of a real broker.

It speaks TLS, answers SaslHandshake and SaslAuthenticate itself, and checks the token: a request
that is signed by AWS's public algorithm (Signature Version 4, query parameters), written here
anew. What comes after the login goes to the broker's plaintext listener unchanged, and the broker's
addresses are those of the stand-in by an advertised listener. It is not MSK: it knows one key, and
no policies of IAM.

Source: AWS General Reference, "Create a signed AWS API request"; README of `aws-msk-iam-auth`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import ssl
import struct
import threading
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

HANDSHAKE, AUTHENTICATE, VERSIONS = 17, 36, 18
HOST = "127.0.0.1"
LIVES_S = 900
REJECTED = 58
COMPACT = 2


class SigningKey:
    """An access key, as the stand-in knows it."""

    def __init__(self, access_key, secret_key, session_token=None):
        self.access_key, self.secret_key = access_key, secret_key
        self.session_token = session_token


def fault_of(token, key, region, now):
    """What is wrong with a token, or None. `now`: a `datetime` in UTC."""
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, strict_parsing=True)
    query = dict(pairs)
    if (parts.scheme, parts.netloc, parts.path) != ("https", f"kafka.{region}.amazonaws.com", "/"):
        return "another endpoint"
    if query["Action"] != "kafka-cluster:Connect":
        return "another action"
    if query.get("X-Amz-Security-Token") != key.session_token:
        return "another session"
    day = query["X-Amz-Date"][:8]
    scope = f"{day}/{region}/kafka-cluster/aws4_request"
    if query["X-Amz-Credential"] != f"{key.access_key}/{scope}":
        return "another credential"
    signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if query["X-Amz-Expires"] != str(LIVES_S) or (now - signed_at).total_seconds() > LIVES_S:
        return "expired"
    # The user agent is added after the signature.
    signed = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in pairs
        if name not in {"X-Amz-Signature", "User-Agent"}
    )
    canonical = "\n".join(
        [
            "GET",
            "/",
            "&".join(f"{name}={value}" for name, value in signed),
            f"host:{parts.netloc}",
            "",
            "host",
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    to_sign = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            query["X-Amz-Date"],
            scope,
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    secret = f"AWS4{key.secret_key}".encode()
    for step in (day, region, "kafka-cluster", "aws4_request"):
        secret = hmac.digest(secret, step.encode(), "sha256")
    wanted = hmac.new(secret, to_sign.encode(), "sha256").hexdigest()
    return None if hmac.compare_digest(wanted, query["X-Amz-Signature"]) else "another signature"


class MskStandIn:
    """One TLS port; `target` is the broker's port. `lives_ms`: how long a login holds."""

    def __init__(self, pem, key, region, clock, *, lives_ms=0):
        self.target = None
        self.key, self.region, self.clock, self.lives_ms = key, region, clock, lives_ms
        self.logins = []
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(pem)
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, raw):
        with (
            suppress(OSError, EOFError),
            self.tls.wrap_socket(raw, server_side=True) as client,
            socket.create_connection((HOST, self.target)) as broker,
        ):
            is_in = False
            while True:
                request = frame_of(client)
                key, version, number = struct.unpack_from(">hhi", request)
                if key == HANDSHAKE:
                    name = b"OAUTHBEARER"
                    body = struct.pack(">hih", 0, 1, len(name)) + name
                elif key == AUTHENTICATE:
                    is_in, body = self._login(version, request)
                elif is_in or key == VERSIONS:
                    broker.sendall(struct.pack(">i", len(request)) + request)
                    answer = frame_of(broker)
                    client.sendall(struct.pack(">i", len(answer)) + answer)
                    continue
                else:
                    return  # as a broker: nothing without a login
                answer = struct.pack(">i", number) + body
                client.sendall(struct.pack(">i", len(answer)) + answer)

    def _login(self, version, request):
        """Whether a token is accepted, and the answer."""
        is_compact = version >= COMPACT
        # Key, version, number, client id; in later versions tagged fields, of which there are none.
        (size,) = struct.unpack_from(">h", request, 8)
        body = request[10 + max(size, 0) + is_compact :]
        sent = (body[number_of(body)[1] :] if is_compact else body[4:]).rstrip(b"\0").decode()
        head, _, rest = sent.partition("\x01auth=Bearer ")
        now = self.clock()
        fault = (
            "no token"
            if head != "n,,"
            else fault_of(rest[: rest.index("\x01")], self.key, self.region, now)
        )
        self.logins.append(fault)
        message = b"" if fault is None else f"stand-in for MSK: {fault}".encode()
        answer = struct.pack(">h", 0 if fault is None else REJECTED)
        lives = struct.pack(">q", self.lives_ms)
        if is_compact:
            body = b"\0" + answer + bytes([len(message) + 1]) + message + b"\1" + lives + b"\0"
        else:
            answer += struct.pack(">h", len(message)) + message + struct.pack(">i", 0)
            body = answer + (lives if version else b"")
        return fault is None, body


def number_of(data):
    """An unsigned varint at the start, and its length."""
    number = place = 0
    while data[place] & 0x80:
        number |= (data[place] & 0x7F) << 7 * place
        place += 1
    return number | data[place] << 7 * place, place + 1


def frame_of(sock):
    (size,) = struct.unpack(">i", exactly(sock, 4))
    return exactly(sock, size)


def exactly(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data
