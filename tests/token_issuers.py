"""An issuer of tokens on loopback: a token endpoint and a JWKS over HTTPS, and its bad days.

`MODES` are what the token endpoint can do in place of an answer; JWKS are always served.
"""

from __future__ import annotations

import base64
import itertools
import json
import ssl
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from rackwise.adapters.clock import wall_clock_s

HOST = "127.0.0.1"
ISSUER, AUDIENCE = "https://issuer.test", "kafka"
CLIENT = "audit"
HUGE = 2 << 20


class TokenIssuer:
    """`url`, `jwks_url`; `secret` may change; `lives_s` is the lifetime of new tokens."""

    def __init__(self, folder, secret, *, is_encrypted=True):
        self.secret = secret
        self.lives_s = 3600
        self.mode = "token"
        self.said = {}
        self.claims = {}
        self.asked = []
        self.tokens = []
        self.authority = folder / "issuer-ca.pem"
        self.authority.write_text(AUTHORITY)
        self.released = threading.Event()
        self._ids = itertools.count()
        self.rotate()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self, 200, outer.jwks())

            def do_POST(self):
                with suppress(ConnectionError, ssl.SSLError):
                    outer.serve(self)

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        self.server.daemon_threads = True
        if is_encrypted:
            pem = folder / "issuer.pem"
            pem.write_text(KEY + CERTIFICATE + AUTHORITY)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(pem)
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        place = f"{'https' if is_encrypted else 'http'}://{HOST}:{self.server.server_address[1]}"
        self.url, self.jwks_url = f"{place}/token", f"{place}/jwks"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def rotate(self):
        """A new signing key; the old one is served no more."""
        self.kid = f"key-{next(self._ids)}"
        self._made_key = None

    @property
    def _key(self):
        if self._made_key is None:
            self._made_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return self._made_key

    def jwks(self):
        numbers = self._key.public_key().public_numbers()
        n, e = (
            encoded(number.to_bytes((number.bit_length() + 7) // 8, "big"))
            for number in (numbers.n, numbers.e)
        )
        key = {"kty": "RSA", "kid": self.kid, "use": "sig", "alg": "RS256", "n": n, "e": e}
        return {"keys": [key]}

    def token(self, **claims):
        now = wall_clock_s()
        body = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": CLIENT,
            "iat": int(now),
            "exp": int(now + self.lives_s),
            "jti": str(next(self._ids)),
            **self.claims,
            **claims,
        }
        head = {"alg": "RS256", "kid": self.kid, "typ": "JWT"}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (head, body))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
        made = f"{signed}.{encoded(signature)}"
        self.tokens.append(made)
        return made

    def serve(self, request):
        form = request.rfile.read(int(request.headers["Content-Length"])).decode()
        sent = request.headers["Authorization"].removeprefix("Basic ")
        pair = base64.b64decode(sent).decode()
        self.asked.append((pair, parse_qs(form)))
        if self.mode != "token":
            MODES[self.mode](self, request, pair)
        elif pair in {f"{CLIENT}:{text}" for text in (self.secret, quote_plus(self.secret))}:
            self.answer(
                request,
                200,
                {"access_token": self.token(), "expires_in": self.lives_s, "token_type": "Bearer"},
            )
        else:
            error = {"error": "invalid_client", "error_description": "Bad client credentials"}
            self.answer(request, 401, error)

    def answer(self, request, status, body, *, kind="application/json", **headers):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        for name, value in ({"Content-Type": kind} | headers).items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(raw)))
        request.end_headers()
        request.wfile.write(raw)


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _drip(issuer, request, _):
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not issuer.released.wait(0.05):
        request.wfile.write(b"X-Wait: yes\r\n")


def _endless(issuer, request, _):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n ")
    while not issuer.released.wait(0.05):
        request.wfile.write(b" ")


def _echo(issuer, request, pair):
    """An endpoint that repeats what it was sent."""
    sent = request.headers["Authorization"]
    said = f"secret {pair.partition(':')[2]} of {sent} is wrong\x1b[31m"
    issuer.answer(request, 400, {"error": "invalid_request", "error_description": said})


MODES = {
    "says": lambda issuer, request, _: issuer.answer(request, 400, issuer.said),
    "hang": lambda issuer, _request, _: issuer.released.wait(),
    "drip": _drip,
    "endless": _endless,
    "echo": _echo,
    "html": lambda issuer, request, _: issuer.answer(
        request, 200, b"<html>Please log in</html>", kind="text/html"
    ),
    "redirect": lambda issuer, request, _: issuer.answer(
        request, 302, b"", Location="https://login.test/?code=canary-query"
    ),
    "busy": lambda issuer, request, _: issuer.answer(request, 503, b"later", kind="text/plain"),
    "huge": lambda issuer, request, _: issuer.answer(request, 200, b" " * HUGE + b"{}"),
    "expired": lambda issuer, request, _: issuer.answer(
        request, 200, {"access_token": issuer.token(exp=1_700_000_000)}
    ),
    "list": lambda issuer, request, _: issuer.answer(request, 200, b"[" * 100_000),
    "no token": lambda issuer, request, _: issuer.answer(request, 200, {"token": "other"}),
    "odd token": lambda issuer, request, _: issuer.answer(
        request, 200, {"access_token": "canary\x01auth=Bearer other"}
    ),
    "unknown path": lambda issuer, request, _: issuer.answer(
        request, 404, b"no", kind="text/plain"
    ),
    "closes": lambda _issuer, request, _: request.connection.close(),
}
