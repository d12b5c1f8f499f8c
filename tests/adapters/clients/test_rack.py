"""Where this process is, by what it was told."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rackwise.adapters.clients import detect_rack, inkless_client_id, rack

AWS = {
    ("PUT", "/latest/api/token"): "token",
    ("GET", "/latest/meta-data/placement/availability-zone-id"): "use1-az4",
    ("GET", "/latest/meta-data/placement/availability-zone"): "us-east-1a",
}
GOOGLE = {("GET", "/computeMetadata/v1/instance/zone"): "projects/7/zones/europe-west1-b"}
AZURE = {
    ("GET", "/metadata/instance/compute/location?api-version=2021-02-01&format=text"): "westeurope",
    ("GET", "/metadata/instance/compute/zone?api-version=2021-02-01&format=text"): "3",
}
HEADERS = {
    "token": "X-aws-ec2-metadata-token-ttl-seconds",
    "use1-az4": "X-aws-ec2-metadata-token",
    "us-east-1a": "X-aws-ec2-metadata-token",
    "projects/7/zones/europe-west1-b": "Metadata-Flavor",
}


@contextmanager
def service(answers, *, wants_headers=True):
    """A metadata service on loopback; `wants_headers`: those that the real ones want."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            text = answers.get((self.command, self.path))
            is_right = text is not None and (
                not wants_headers or self.headers[HEADERS.get(text, "Metadata")]
            )
            self.send_response(200 if is_right else 404)
            self.end_headers()
            self.wfile.write((text or "").encode() if is_right else b"no")

        do_GET = do_PUT = answer  # noqa: N815

        def log_message(self, *_told):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("KAFKA_CLIENT_RACK", raising=False)


def test_the_environment_comes_first(monkeypatch, tmp_path):
    file = tmp_path / "rack"
    file.write_text("from-file\n")
    monkeypatch.setenv("KAFKA_CLIENT_RACK", " ")
    assert detect_rack(file=file) == "from-file"
    monkeypatch.setenv("KAFKA_CLIENT_RACK", "use1-az1 ")
    assert detect_rack(file=file) == "use1-az1"


def test_variables_of_other_names(monkeypatch):
    monkeypatch.setenv("ZONE", "z")
    assert detect_rack(env=("NODE_ZONE", "ZONE")) == "z"


LABELS = 'app="cart"\ntopology.kubernetes.io/region="eu"\ntopology.kubernetes.io/zone="eu-a"\n'


def test_the_zone_among_the_labels_of_the_pod(tmp_path):
    """KEP-4742: a kubelet writes a line key="value" for each label of the pod."""
    file = tmp_path / "labels"
    file.write_text(LABELS)
    assert detect_rack(file=file) == "eu-a"


def test_a_file_that_cannot_be_read_says_nothing(tmp_path):
    file = tmp_path / "rack"
    file.write_bytes(b"\xff")
    assert detect_rack(file=file) is None
    assert detect_rack(file=tmp_path) is None


@pytest.mark.parametrize("text", [None, "", " \n", 'app="cart"\n', "a\nb\n"])
def test_a_file_that_says_nothing(tmp_path, text):
    file = tmp_path / "rack"
    if text is not None:
        file.write_text(text)
    assert detect_rack(file=file) is None


@pytest.mark.parametrize(
    ("answers", "rack"),
    [
        (AWS, "use1-az4"),
        (GOOGLE, "europe-west1-b"),
        (AZURE, "westeurope-3"),
        (dict(list(AZURE.items())[:1]), None),
        ({}, None),
    ],
    ids=["aws", "google", "azure", "azure without zones", "nobody"],
)
def test_the_cloud_is_asked_last_and_only_if_wanted(answers, rack):
    with service(answers) as address:
        assert detect_rack(metadata_service=True, address=address) == rack
        assert detect_rack(address=address) is None


def test_a_service_that_is_not_there_says_nothing():
    with service({}) as address:
        pass
    assert detect_rack(metadata_service=True, address=address) is None


def test_aws_gives_the_name_of_the_zone_if_asked():
    with service(AWS) as address:
        found = detect_rack(metadata_service=True, aws_zone="name", address=address)
    assert found == "us-east-1a"


def test_a_service_that_answers_slowly_does_not_hold_up_the_client():
    """It sends a header often enough for every timeout of a socket, and has an answer at last."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for text in (b"token", b"use1-az4"):
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\n")
                    for _ in range(30):
                        if is_over.wait(0.1):
                            return
                        connection.sendall(b"X-Wait: yes\r\n")
                    connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            assert detect_rack(metadata_service=True, address=server.getsockname()) is None
        finally:
            is_over.set()
            thread.join()


def test_a_client_id_tells_diskless_topics_where_the_client_is():
    assert inkless_client_id("app", "az1") == "app,diskless_az=az1"


PAGES = ["<html>proxy login</html>", "<html>\r\n proxy login\r\n</html>", "a b", "x" * 201]


@pytest.mark.parametrize("page", PAGES, ids=["a line", "lines", "a blank", "too long"])
def test_a_proxy_in_place_of_the_service_is_no_rack_and_no_error(page, capfd, monkeypatch):
    """Its page is neither the value of a header nor a zone; the other clouds are still asked."""
    monkeypatch.setattr(rack, "TOTAL_S", 60)
    with service(dict.fromkeys([*AWS, *GOOGLE, *AZURE], page), wants_headers=False) as address:
        assert detect_rack(metadata_service=True, address=address) is None
    token = dict.fromkeys(AWS, page)
    with service({**token, **GOOGLE}, wants_headers=False) as address:
        assert detect_rack(metadata_service=True, address=address) == "europe-west1-b"
    assert "Traceback" not in capfd.readouterr().err
