"""Users of SCRAM for tests of the service, and a client of SASL on a bare socket."""

from __future__ import annotations

import base64
import hashlib
import hmac

from rackwise.core.sasl.scram_credentials import HASHES, make_credential, write_credential
from rackwise.core.wire.headers import read_response_header
from rackwise.core.wire.reader import Reader
from rpc_servers import connected, received
from service_frames import framed, header

USERS = {"alice": "canary-of-alice", "bob": "canary-of-bob"}
ITERATIONS = 4096


def scram_file(folder, users=USERS, mechanisms=tuple(HASHES)):
    """A file of SCRAM users, each with an entry for each mechanism."""
    path = folder / "users.scram"
    lines = [
        write_credential(
            name,
            make_credential(
                password, mechanism=mechanism, salt=name.encode() * 4, iterations=ITERATIONS
            ),
        )
        for name, password in users.items()
        for mechanism in mechanisms
    ]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path


def handshake(mechanism):
    """A frame of SaslHandshake, version 1."""
    raw = mechanism.encode()
    return framed(header(17, 1, version=1) + len(raw).to_bytes(2, "big") + raw)


def authenticate(data):
    """A frame of SaslAuthenticate, version 1."""
    return framed(header(36, 1, version=1) + len(data).to_bytes(4, "big") + data)


def handshake_code(frame):
    """The error code and the mechanisms of an answer to a handshake."""
    _, start = read_response_header(frame, version=0)
    reader = Reader(frame, start)
    return reader.int16(), [reader.text() for _ in range(reader.count(2))]


def step_of(frame):
    """Error code, message, bytes and lifetime in ms of an answer to SaslAuthenticate."""
    _, start = read_response_header(frame, version=0)
    reader = Reader(frame, start)
    code, message, data = reader.int16(), reader.nullable_text(), reader.nullable_octets()
    lifetime = int.from_bytes(reader.octets(8), "big")
    reader.close()
    return code, message, data, lifetime


def proof(password, mechanism, first_bare, server_first, *, binding="biws"):
    """The client's last message of SCRAM (RFC 5802)."""
    name = HASHES[mechanism]
    fields = dict(each.split("=", 1) for each in server_first.split(","))
    salted = hashlib.pbkdf2_hmac(
        name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"])
    )
    key = hmac.digest(salted, b"Client Key", name)
    bare = f"c={binding},r={fields['r']}"
    signed = f"{first_bare},{server_first},{bare}".encode()
    signature = hmac.digest(hashlib.new(name, key).digest(), signed, name)
    mixed = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{bare},p={base64.b64encode(mixed).decode()}".encode()


class SaslSocket:
    """A client of the service on a socket, one message at a time."""

    def __init__(self, port, *, source="127.0.0.1"):
        self.sock = connected(port, source=source)

    def close(self):
        self.sock.close()

    def sent(self, frame):
        """The answer to a frame, None if the connection has ended."""
        self.sock.sendall(frame)
        return received(self.sock)

    def begun(self, mechanism):
        """The error code of a handshake."""
        return handshake_code(self.sent(handshake(mechanism)))[0]

    def stepped(self, data):
        """The answer to a message of the login."""
        return step_of(self.sent(authenticate(data)))

    def scram(self, user, password, mechanism="SCRAM-SHA-512"):
        """The answer to the last message of a login; `server_first` keeps the server's first."""
        assert self.begun(mechanism) == 0
        bare = f"n={user},r=abcdefghijklmnop"
        code, _, data, _ = self.stepped(f"n,,{bare}".encode())
        assert code == 0
        self.server_first = data.decode()
        self.final = proof(password, mechanism, bare, self.server_first)
        return self.stepped(self.final)
