"""A real HTTP server on loopback as a Maven repository of Spark's Kafka connector."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODULE = "spark-sql-kafka-0-10_2.13"
OWN = f"org/apache/spark/{MODULE}"
CLIENTS = "org/apache/kafka/kafka-clients/3.9.2/kafka-clients-3.9.2"
NEEDED = (
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.spark", "spark-tags_2.13", "4.2.0"),  # Spark has it
)


def pom(group, name, version, needed=()):
    """A POM with dependencies."""
    more = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version><scope>compile</scope></dependency>"
        for group, name, version in needed
    )
    return (
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>"
        f"<artifactId>{name}</artifactId><version>{version}</version>"
        f"<dependencies>{more}</dependencies></project>"
    ).encode()


def files_of(*versions, is_listed=True):
    """The files of a repository with these versions of the connector; path -> content."""
    files = {f"{CLIENTS}.pom": pom(*NEEDED[0]), f"{CLIENTS}.jar": b"clients"}
    for version in versions:
        place = f"{OWN}/{version}/{MODULE}-{version}"
        files[f"{place}.pom"] = pom("org.apache.spark", MODULE, version, NEEDED)
        files[f"{place}.jar"] = b"connector"
    if is_listed:
        listed = "".join(f"<version>{version}</version>" for version in versions)
        files[f"{OWN}/maven-metadata.xml"] = (
            f"<metadata><versioning><versions>{listed}</versions></versioning></metadata>".encode()
        )
    return files


@contextmanager
def repository(files, *, hangs_at=None, code=404):
    """The address of a server of these files, and the paths that it was asked for.

    `hangs_at`: a part of the paths that get no answer; `code`: the answer for an unknown path.
    """
    asked = []
    is_over = threading.Event()
    sums = {f"{path}.sha1": hashlib.sha1(content).hexdigest() for path, content in files.items()}  # noqa: S324 (Maven's)
    whole = files | {path: text.encode() for path, text in sums.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if hangs_at is not None and hangs_at in self.path:
                is_over.wait()
                return
            content = whole.get(self.path[1:])
            self.send_response(code if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content or b"")

        do_HEAD = do_GET  # noqa: N815 (http.server's name)

        def log_message(self, *_):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()
