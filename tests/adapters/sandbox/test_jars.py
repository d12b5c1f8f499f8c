"""The locked jars: their sources, and the files that are rejected."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rackwise.adapters.sandbox import (
    KAFKA_3_9,
    KAFKA_4_3,
    KAFKA_4_4,
    lock,
    locked_jars,
    resolve,
)
from rackwise.adapters.sandbox.fetch import fetch, repository_of
from rackwise.adapters.sandbox.lock import Jar, JarLocations
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.core.constants import MAVEN_CENTRAL
from rackwise.core.errors import InvalidConfig, JarMissing

BODY = b"a jar, for all that is asked here\n" * 5000
LOCK = Path(lock.__file__).with_name("jars.toml").read_text(encoding="utf-8")


def a_jar(name="one", body=BODY):
    return Jar(
        coordinate=f"org.example:{name}:1.0",
        size=len(body),
        sha512=hashlib.sha512(body).hexdigest(),
        sets=("test",),
    )


class Repository(ThreadingHTTPServer):
    """A Maven repository on loopback: path -> body; what is not in it is a 404."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.bodies = {}
        self.asked = Counter()
        self.sent = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/maven2"

    def serve(self, jar, body=BODY):
        self.bodies[f"/maven2/{jar.path}"] = body


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path] += 1
        body = self.server.bodies.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        view = memoryview(body)
        try:
            for at in range(0, len(view), 1 << 16):
                self.server.sent += self.wfile.write(view[at : at + (1 << 16)])
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def repository():
    with Repository() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def places(tmp_path):
    return JarLocations(cache=tmp_path / "cache", maven=tmp_path / "m2")


@pytest.fixture
def environment(repository, tmp_path):
    return {"RACKWISE_MAVEN_URL": repository.url, "PATH": str(tmp_path / "bin"), "HOME": "/nobody"}


def fetched(wanted, places, environment):
    heard = []
    paths = fetch(wanted, places=places, environment=environment, advance=heard.append)
    assert sum(heard) == sum(jar.size for jar in wanted)
    return paths


class TestTheLock:
    def test_it_names_no_address(self):
        assert "://" not in LOCK

    @pytest.mark.parametrize(
        ("name", "count", "main"),
        [
            (KAFKA_4_4, 45, "org.apache.kafka:kafka_2.13:4.4.0"),
            (KAFKA_4_3, 46, "org.apache.kafka:kafka_2.13:4.3.1"),
            (KAFKA_3_9, 57, "org.apache.zookeeper:zookeeper:3.8.6"),
        ],
    )
    def test_a_set_is_a_closure_with_a_log_binding(self, name, count, main):
        chosen = locked_jars(name)
        coordinates = [jar.coordinate for jar in chosen]
        assert len(chosen) == count
        assert main in coordinates
        assert any("log4j-slf4j-impl" in each or "slf4j-reload4j" in each for each in coordinates)
        assert coordinates == sorted(coordinates)

    def test_all_hashes_are_sha_512_and_no_two_jars_share_a_name(self):
        every = {
            jar.coordinate: jar
            for name in (KAFKA_3_9, KAFKA_4_3, KAFKA_4_4)
            for jar in locked_jars(name)
        }
        assert all(re.fullmatch("[0-9a-f]{128}", jar.sha512) for jar in every.values())
        assert all(0 < jar.size < 32 << 20 for jar in every.values())
        assert len({jar.file_name for jar in every.values()}) == len(every)

    def test_an_unknown_set_is_refused_with_the_known_ones(self):
        with pytest.raises(InvalidConfig) as caught:
            locked_jars("kafka-0.8")
        assert re.fullmatch(
            "invalid set of jars: expected kafka-3.9.2 or kafka-4.3.1.*, got kafka-0.8",
            caught.value.message,
        )

    def test_a_coordinate_is_a_path_in_every_repository(self):
        jar = a_jar()
        assert jar.path == "org/example/one/1.0/one-1.0.jar"
        assert jar.file_name == "one-1.0.jar"


class TestPlaces:
    def test_the_cache_is_the_named_folder_else_the_users(self):
        home = {"HOME": "/users/kim"}
        assert JarLocations.of(home).cache == Path("/users/kim/.cache/rackwise/jars")
        assert JarLocations.of(home).maven == Path("/users/kim/.m2/repository")
        assert JarLocations.of(home | {"XDG_CACHE_HOME": "/c"}).cache == Path("/c/rackwise/jars")
        assert JarLocations.of(home | {"XDG_CACHE_HOME": ""}).cache == Path(
            "/users/kim/.cache/rackwise/jars"
        )
        assert JarLocations.of(home | {"RACKWISE_CACHE": "/jars"}).cache == Path("/jars")

    def test_the_cache_comes_before_maven_and_a_damaged_jar_is_passed_over(self, places):
        jar = a_jar()
        assert places.find(jar) is None
        in_maven = places.maven / jar.path
        in_maven.parent.mkdir(parents=True)
        in_maven.write_bytes(BODY)
        assert places.find(jar) == in_maven
        places.cache.mkdir()
        in_cache = places.cache / jar.file_name
        in_cache.write_bytes(BODY)
        assert places.find(jar) == in_cache
        in_cache.write_bytes(BODY[:-1] + b"!")
        assert places.find(jar) == in_maven
        in_maven.write_bytes(BODY[:-1])
        assert places.find(jar) is None
        in_maven.unlink()
        in_maven.mkdir()
        assert places.find(jar) is None


class TestFetching:
    def test_jars_land_in_the_cache_whole_and_nothing_else_does(
        self, repository, places, environment
    ):
        wanted = [a_jar(f"jar-{number}") for number in range(20)]
        for jar in wanted:
            repository.serve(jar)
        paths = fetched(wanted, places, environment)
        assert set(paths) == {jar.coordinate for jar in wanted}
        assert all(jar.is_at(paths[jar.coordinate]) for jar in wanted)
        assert sorted(path.name for path in places.cache.iterdir()) == sorted(
            jar.file_name for jar in wanted
        )
        assert set(repository.asked.values()) == {1}

    def test_a_damaged_jar_in_the_cache_is_replaced(self, repository, places, environment):
        jar = a_jar()
        repository.serve(jar)
        places.cache.mkdir()
        (places.cache / jar.file_name).write_bytes(b"damaged")
        assert fetched([jar], places, environment)[jar.coordinate].read_bytes() == BODY

    def test_another_jar_under_the_name_is_refused_and_not_kept(
        self, repository, places, environment
    ):
        jar = a_jar()
        other = b"!" + BODY[1:]
        repository.serve(jar, other)
        with pytest.raises(JarMissing) as caught:
            fetched([jar], places, environment)
        had = hashlib.sha512(other).hexdigest()
        assert (caught.value.wanted, caught.value.had) == (jar.sha512, had)
        assert caught.value.message == (
            f"invalid jar org.example:one:1.0: expected {len(BODY)} bytes with SHA-512 "
            f"{jar.sha512[:16]}..., got {len(BODY)} bytes with {had[:16]}... from "
            f"127.0.0.1:{repository.server_port}"
        )
        assert "RACKWISE_MAVEN_URL" in caught.value.hint
        assert list(places.cache.iterdir()) == []

    def test_an_endless_answer_is_cut_off_at_the_locked_size(self, repository, places, environment):
        jar = a_jar()
        repository.serve(jar, bytes(256 << 20))
        with pytest.raises(JarMissing, match=f"got more than {len(BODY)} bytes"):
            fetched([jar], places, environment)
        assert repository.sent < 64 << 20
        assert list(places.cache.iterdir()) == []

    def test_a_short_answer_is_refused(self, repository, places, environment):
        jar = a_jar()
        repository.serve(jar, BODY[:-1])
        with pytest.raises(JarMissing, match=f"got {len(BODY) - 1} bytes"):
            fetched([jar], places, environment)

    def test_a_missing_jar_is_told_with_the_way_out(self, places, environment, repository):
        jar = a_jar()
        with pytest.raises(JarMissing) as caught:
            fetched([jar], places, environment)
        assert caught.value.message == (
            f"cannot fetch jar org.example:one:1.0 from 127.0.0.1:{repository.server_port}: "
            "HTTP Error 404: Not Found"
        )
        assert caught.value.hint == (
            "set RACKWISE_MAVEN_URL to a Maven repository that this machine can reach, or copy "
            f"one-1.0.jar to {places.cache} (RACKWISE_CACHE sets another folder)"
        )
        assert repository.asked == {f"/maven2/{jar.path}": 2}

    def test_a_cache_that_cannot_be_written_is_told(self, places, environment):
        places.cache.write_bytes(b"a file")
        with pytest.raises(InvalidConfig) as caught:
            fetched([a_jar()], places, environment)
        assert caught.value.message == (f"cannot write the jar cache {places.cache}: File exists")
        assert caught.value.hint == "set RACKWISE_CACHE to a folder that you can write"

    def test_after_a_failure_the_other_jars_are_not_asked_for(
        self, places, environment, repository
    ):
        with pytest.raises(JarMissing, match=r"cannot fetch jar .*: HTTP Error 404"):
            fetched([a_jar(f"jar-{number}") for number in range(100)], places, environment)
        assert repository.asked.total() < 30

    def test_an_unreachable_repository_is_told(self, places, environment):
        port = free_ports(1)[0]
        environment |= {"RACKWISE_MAVEN_URL": f"http://127.0.0.1:{port}"}
        with pytest.raises(JarMissing, match=f"from 127.0.0.1:{port}: .*refused"):
            fetched([a_jar()], places, environment)

    def test_maven_is_asked_last_and_believed_by_hash_alone(
        self, places, environment, tmp_path, repository
    ):
        jar = a_jar()
        target = places.maven / jar.path
        program = tmp_path / "bin" / "mvn"
        program.parent.mkdir()
        (tmp_path / "body").write_bytes(BODY)
        program.write_text(
            f'#!/bin/sh\n[ "$4" = -Dartifact={jar.coordinate} ] || exit 1\n'
            f"/bin/mkdir -p {target.parent} && /bin/cp {tmp_path / 'body'} {target}\n"
        )
        program.chmod(0o700)
        assert fetched([jar], places, environment) == {jar.coordinate: target}
        (tmp_path / "body").write_bytes(b"something else")
        target.unlink()
        with pytest.raises(JarMissing):
            fetched([jar], places, environment)
        assert repository.asked.total() == 4


class TestTheRepositorysAddress:
    def test_it_is_maven_central_where_nothing_else_is_said(self):
        assert repository_of({}) == MAVEN_CENTRAL
        assert repository_of({"RACKWISE_MAVEN_URL": ""}) == MAVEN_CENTRAL
        assert repository_of({"RACKWISE_MAVEN_URL": "https://m.test/r/"}) == "https://m.test/r"

    @pytest.mark.parametrize(
        "address", ["file:///etc", "m.test/maven2", "https://", "https://kim:s3cret@m.test/r"]
    )
    def test_another_scheme_or_a_password_is_refused_and_not_repeated(self, address):
        with pytest.raises(InvalidConfig) as caught:
            repository_of({"RACKWISE_MAVEN_URL": address})
        assert caught.value.message == (
            "invalid RACKWISE_MAVEN_URL: expected https://HOST/PATH without user name and password"
        )
        assert "s3cret" not in str(caught.value.as_dict())


@pytest.mark.kafka
@pytest.mark.zookeeper
@pytest.mark.parametrize("name", [KAFKA_3_9, KAFKA_4_3, KAFKA_4_4])
def test_the_real_sets_resolve_to_the_locked_files(name):
    heard = []
    paths = resolve(name, advance=heard.append)
    assert all(jar.is_at(path) for jar, path in zip(locked_jars(name), paths, strict=True))
    assert sum(heard) == sum(jar.size for jar in locked_jars(name))
