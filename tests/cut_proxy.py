"""A TCP relay that drops answers: requests of the client arrive, answers do not."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from rackwise.adapters.sandbox.ports import HOST

CHUNK = 65536


class CutProxy:
    """Relays to `port` of this machine; `connect` is the relay's own host:port."""

    def __init__(self, port):
        self.target = port
        self.is_cutting = False
        self.cut_after = None
        self.cuts = 0
        self.pairs = []
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        self.connect = f"{HOST}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next_answer(self):
        """Forward the next request; close the connection in place of its answer."""
        self.is_cutting = True

    def cut_answer_to(self, request):
        """The same for the first request that contains these bytes."""
        self.cut_after = request

    def drop(self):
        """Close every connection now."""
        for pair in self.pairs:
            self._end(*pair)
        self.pairs.clear()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection((HOST, self.target))
                except OSError:
                    client.close()
                    continue
                self.pairs.append((client, server))
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._relay, args=(source, sink, source is server), daemon=True
                    ).start()

    def _relay(self, source, sink, is_answer):
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if is_answer and self.is_cutting:
                    self.is_cutting = False
                    self.cuts += 1
                    break
                if not is_answer and self.cut_after is not None and self.cut_after in data:
                    self.cut_after = None
                    self.cut_next_answer()
                sink.sendall(data)
        self._end(source, sink)

    def _end(self, *ends):
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
