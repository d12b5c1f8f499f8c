"""Loopback relays in front of brokers that count requests by key, and drop or rewrite answers.

Each relay's port is advertised by a listener of its own, so a client that came through a relay
stays behind the relays; brokers and other clients do not use them.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter, deque
from contextlib import suppress

HOST = "127.0.0.1"
ALTER_CONFIGS, CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 33, 19, 20, 37
ELECT, INCREMENTAL_ALTER_CONFIGS, ALTER_REASSIGNMENTS = 43, 44, 45
WRITES = frozenset(
    {
        ALTER_CONFIGS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        CREATE_PARTITIONS,
        ELECT,
        INCREMENTAL_ALTER_CONFIGS,
        ALTER_REASSIGNMENTS,
    }
)


class RequestProxies:
    """One relay per broker; `targets` are the brokers' own ports, set once they are known.

    `seen`: requests by key. `lose(key)`: the next answer to such a request does not arrive, and its
    connection ends. `rewrite(key, change)`, `rewrite_request(key, change)`: `change` replaces the
    bytes of the next one.
    """

    def __init__(self, count):
        self.targets = []
        self.seen = Counter()
        self._losing = Counter()
        self._changes = {}
        self._request_changes = {}
        self._lock = threading.Lock()
        self._listeners = [socket.create_server((HOST, 0)) for _ in range(count)]
        self.ports = [each.getsockname()[1] for each in self._listeners]
        self._pairs = []
        for place, listener in enumerate(self._listeners):
            threading.Thread(target=self._accept, args=(place, listener), daemon=True).start()

    @property
    def bootstrap(self):
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    @property
    def writes(self):
        """Requests that change something."""
        return sum(self.seen[key] for key in WRITES)

    def forget(self):
        self.seen.clear()

    def lose(self, key):
        self._losing[key] += 1

    def rewrite(self, key, change):
        self._changes[key] = change

    def rewrite_request(self, key, change):
        self._request_changes[key] = change

    def _accept(self, place, listener):
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    broker = socket.create_connection((HOST, self.targets[place]))
                except OSError:
                    client.close()
                    continue
                self._pairs.append((client, broker))
                keys = deque()
                for work in (self._forth, self._back):
                    threading.Thread(target=work, args=(client, broker, keys), daemon=True).start()

    def _forth(self, client, broker, keys):
        with suppress(OSError, EOFError), client.makefile("rb") as arriving:
            while True:
                body = _frame(arriving)
                key = struct.unpack_from(">h", body)[0]
                with self._lock:
                    self.seen[key] += 1
                    keys.append(key)
                    change = self._request_changes.pop(key, None)
                if change is not None:
                    body = change(body)
                broker.sendall(struct.pack(">i", len(body)) + body)
        _end(client, broker)

    def _back(self, client, broker, keys):
        with suppress(OSError, EOFError), broker.makefile("rb") as arriving:
            while True:
                body = _frame(arriving)
                with self._lock:
                    key = keys.popleft()
                    is_lost = self._losing[key] > 0
                    self._losing[key] -= is_lost
                    change = self._changes.pop(key, None)
                if is_lost:
                    break
                if change is not None:
                    body = change(body)
                client.sendall(struct.pack(">i", len(body)) + body)
        _end(client, broker)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for pair in self._pairs:
            _end(*pair)


def _frame(arriving):
    head = arriving.read(4)
    if len(head) < 4:
        raise EOFError
    return arriving.read(struct.unpack(">i", head)[0])


def _end(*ends):
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
