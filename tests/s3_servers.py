"""A real S3 server on loopback, and one in front of it that can fail: for tests of object stores.

The server is moto, in its own process and with its own packages: they are installed once into
`build/s3`, from `s3_servers.txt` beside this file, and are no dependency of the tests.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pyarrow import fs

from rackwise.adapters.sandbox import resolve
from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import wait_until_true

LOCK = Path(__file__).with_suffix(".txt")
HOME = Path(__file__).parents[1] / "build" / "s3"
READY_S = 60
KEY, SECRET = "example-access-key-of-tests", "example-hidden-0123456789-abcdefghij"
"""Any credentials are those of the server, unless it enforces permissions."""


def installed():
    """The Python with the server; a stamp makes reruns free."""
    stamp = HOME / "s3.stamp"
    if not stamp.is_file() or stamp.read_text() != LOCK.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
        pip = [HOME / "bin" / "python", "-m", "pip", "install", "--quiet"]
        quiet = ["--disable-pip-version-check", "--requirement", LOCK]
        subprocess.run([*pip, *quiet], check=True)
        stamp.write_text(LOCK.read_text())
    return HOME / "bin" / "python"


def s3_jars():
    """Hadoop's S3 and its dependencies, in the form of `spark.jars`."""
    return ",".join(map(str, resolve("spark-s3-4.2.0")))


class S3Server:
    """A server of S3, used as a `with` block; `environment` is that of its clients.

    `free_requests`: how many requests are answered before permissions count; None never checks.
    """

    def __init__(self, folder, *, free_requests=None):
        (self.port,) = free_ports(1)
        self.url = f"http://{HOST}:{self.port}"
        allowed = [] if free_requests is None else [f"INITIAL_NO_AUTH_ACTION_COUNT={free_requests}"]
        self._server = ServerProcess(
            name="the S3 server",
            command=[
                *("/usr/bin/env", "--unset=PYTHONPATH", "--unset=AWS_ENDPOINT_URL", *allowed),
                *(str(installed()), "-m", "moto.server", "-H", HOST, "-p", str(self.port)),
            ],
            folder=folder,
        )

    def __enter__(self):
        self._server.folder.mkdir(parents=True, exist_ok=True)
        self._server.start()
        if not wait_until_true(self._answers, READY_S):
            self.__exit__()
            message = f"an S3 server is wanted within {READY_S} s"
            raise AssertionError(message)
        return self

    def __exit__(self, *_):
        self._server.stop()
        self._server.close()

    def _answers(self):
        page = f"http://{HOST}:{self.port}/moto-api/"
        with suppress(OSError), urllib.request.urlopen(page, timeout=1):
            return True
        return False

    @property
    def environment(self):
        return s3_environment(self.url)

    @property
    def store(self):
        """The store, to write and look at objects."""
        return fs.S3FileSystem(
            endpoint_override=f"{HOST}:{self.port}",
            scheme="http",
            region="us-east-1",
            access_key=KEY,
            secret_key=SECRET,
            allow_bucket_creation=True,
        )

    def put(self, bucket, files):
        """Make a bucket with objects: key -> content."""
        store = self.store
        store.create_dir(bucket)
        for key, content in files.items():
            with store.open_output_stream(f"{bucket}/{key}", compression=None) as out:
                out.write(content)

    def keys(self, bucket, below=""):
        """The keys of objects."""
        chosen = fs.FileSelector(f"{bucket}/{below}".rstrip("/"), recursive=True)
        chosen.allow_not_found = True
        found = self.store.get_file_info(chosen)
        start = len(bucket) + 1
        return sorted(info.path[start:] for info in found if info.type is fs.FileType.File)


def s3_environment(url, key=KEY, secret=SECRET):
    """The variables of a client."""
    return {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class Passing(BaseHTTPRequestHandler):
    """Passes requests on to the S3 server, or answers with an error."""

    protocol_version = "HTTP/1.1"

    def pass_on(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else None
        status = self.server.meets(self.command, self.path)
        if status is not None:
            self.answer(status, {}, b"")
            return
        headers = {key: value for key, value in self.headers.items() if key != "Connection"}
        onward = HTTPConnection(HOST, self.server.port_behind, timeout=30)
        onward.request(self.command, self.path, body=body, headers=headers)
        found = onward.getresponse()
        self.answer(found.status, found.headers, found.read())
        onward.close()

    def answer(self, status, headers, body):
        self.send_response(status)
        for key, value in headers.items():
            if key.lower() not in {"connection", "transfer-encoding", "server", "date"}:
                self.send_header(key, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.pass_on()

    def do_HEAD(self):
        self.pass_on()

    def do_PUT(self):
        self.pass_on()

    def do_POST(self):
        self.pass_on()

    def do_DELETE(self):
        self.pass_on()

    def log_message(self, *_):
        pass


@contextmanager
def in_front_of(server, meets):
    """The URL of a server that passes requests on.

    `meets`: called with the method and the path of each request before it is passed on; a number is
    the status of an error instead.
    """
    with ThreadingHTTPServer((HOST, 0), Passing) as front:
        front.daemon_threads = True
        front.meets, front.port_behind = meets, server.port
        thread = threading.Thread(target=front.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{HOST}:{front.server_port}"
        finally:
            front.shutdown()
            thread.join()
