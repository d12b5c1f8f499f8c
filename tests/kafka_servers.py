"""Fixtures that start real Kafka and ZooKeeper, and the rules for when they cannot.

```
environment                       tests marked java, kafka, zookeeper
-                                 run; without Java or a jar they are left out
KAFKA=0                           left out
KAFKA_VERSION=4.3                 brokers in KRaft mode are of Kafka 4.3, not of the default version
RACKWISE_REQUIRE_KAFKA=1          run; whatever is missing fails them, and a skip fails the run
                                  tests marked prometheus
-                                 run; what is missing is fetched (see prometheus_tools); where it
                                  cannot be, they are left out
RACKWISE_REQUIRE_PROMETHEUS=1     run; whatever is missing fails them
                                  tests marked kerberos
-                                 run; what is missing is fetched (see kerberos_realm); where it
                                  cannot be, they are left out
RACKWISE_REQUIRE_KERBEROS=1       run; whatever is missing fails them
```

The first and the last lines of a run name the tests that are left out, their number and the reason.
"""

from __future__ import annotations

import os
import socket
import warnings
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

import pytest

import kerberos_realm
import prometheus_tools
from lone_zookeeper import LoneZooKeeper
from rackwise.adapters.sandbox import DEFAULT_KAFKA, KAFKA_3_9, KRAFT_JARS, Sandbox, resolve
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.pipeline.runtime.java import find_java

LEFT_OUT = ("java", "kafka", "zookeeper")
FETCHED = {"prometheus": prometheus_tools.missing, "kerberos": kerberos_realm.missing}
"""Marker -> why its tests cannot run, after an attempt to fetch what they need, or None."""
SERVERS = ("server", *LEFT_OUT, "spark", *FETCHED)
KAFKA_VERSION = os.environ.get("KAFKA_VERSION") or DEFAULT_KAFKA
KRAFT_SET = KRAFT_JARS[KAFKA_VERSION]
JARS = {"kafka": KRAFT_SET, "zookeeper": KAFKA_3_9}
REQUIRED = {name for name in FETCHED if os.environ.get(f"RACKWISE_REQUIRE_{name.upper()}") == "1"}
CLIENTS_WARN = {
    "(read|open)_text is deprecated": DeprecationWarning,  # at its import, on Python 3.11 and 3.12
    r"unclosed <ssl.SSLSocket": ResourceWarning,  # kazoo drops those that trust nobody
    r"unclosed <socket.*laddr=.'0.0.0.0', \d+.>": ResourceWarning,  # it drops refused connections
}


class SelfClosing(socket.socket):
    """kafka-python's connections; a client that closes during a connect leaves the socket open."""

    def __del__(self):
        self.close()


def close_connections_under_way():
    """Close sockets that kafka-python leaves open, in whichever test they are collected."""
    try:
        from kafka.net.inet import KafkaNetSocket
    except ModuleNotFoundError:
        return
    KafkaNetSocket.socket = lambda _, *kind: SelfClosing(*kind)


@dataclass
class Course:
    """What this run does with tests that need a server, and how they ended."""

    is_required: bool
    is_refused: bool
    missing: dict[str, str | None] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def lines(self):
        return [
            f"left out: {number} test{'s' * (number != 1)} on real servers: {reason}"
            for reason, number in sorted(self.left_out.items())
        ]

    def reason(self, item):
        """Why this test is left out; None if it runs or fails for what is missing."""
        needs = [name for name in LEFT_OUT if item.get_closest_marker(name)]
        if needs and self.is_refused:
            return "KAFKA=0"
        fetched = [name for name in FETCHED if item.get_closest_marker(name)]
        reasons = [FETCHED[name]() for name in fetched if name not in REQUIRED]
        if not self.is_required:
            reasons += [self.looked_for(name) for name in needs]
        return next(filter(None, reasons), None)

    def looked_for(self, need):
        """What is missing for a marker's tests; looked up once a run, before any test."""
        if need not in self.missing:
            try:
                find_java(os.environ)
                if need in JARS:
                    resolve(JARS[need])
            except (MissingDependency, InvalidConfig) as error:
                self.missing[need] = error.message
            else:
                self.missing[need] = None
        return self.missing[need]


COURSE = pytest.StashKey[Course]()


def pytest_configure(config):
    for message, kind in CLIENTS_WARN.items():
        config.addinivalue_line("filterwarnings", f"ignore:{message}:{kind.__name__}")
        warnings.filterwarnings("ignore", message, kind)  # for the sweep after the last test
    close_connections_under_way()
    course = Course(
        is_required=os.environ.get("RACKWISE_REQUIRE_KAFKA") == "1",
        is_refused=os.environ.get("KAFKA") == "0",
    )
    if course.is_required and course.is_refused:
        raise pytest.UsageError(
            "KAFKA=0 leaves real Kafka out, RACKWISE_REQUIRE_KAFKA=1 requires it; unset one"
        )
    config.stash[COURSE] = course


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    course = config.stash[COURSE]
    kept, gone = [], []
    for item in items:
        reason = course.reason(item)
        if reason is None:
            kept.append(item)
        else:
            gone.append(item)
            course.left_out[reason] = course.left_out.get(reason, 0) + 1
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = kept


def pytest_runtest_setup(item):
    if any(item.get_closest_marker(name) for name in JARS):
        let_dropped_sockets_close()


class OwnSocket(socket.socket):
    """A socket that closes itself when it is dropped, without a warning."""

    def __del__(self):
        self.close()


@cache
def let_dropped_sockets_close():
    """kafka-python drops a socket that it closes while connecting; others still warn."""
    from kafka.net.inet import KafkaNetSocket

    KafkaNetSocket.socket = lambda _self, *told: OwnSocket(*told)


def pytest_report_header(config):
    course = config.stash[COURSE]
    if course.is_refused:
        return "real Kafka: left out (KAFKA=0)"
    return "real Kafka: required (RACKWISE_REQUIRE_KAFKA=1)" if course.is_required else None


def pytest_report_collectionfinish(config):
    return config.stash[COURSE].lines()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    if is_skip and any(item.get_closest_marker(name) for name in SERVERS):
        item.config.stash[COURSE].skipped.append(f"{report.nodeid}: {why(report)}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file that skips itself hides its marks, so it counts as a skip."""
    report = yield
    if report.skipped:
        collector.config.stash[COURSE].skipped.append(f"{report.nodeid}: {why(report)}")
    return report


def why(report):
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    course = session.config.stash[COURSE]
    if course.is_required and course.skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if course.left_out and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK  # every test of the run is left out, and said to be


def pytest_terminal_summary(terminalreporter, config):
    course = config.stash[COURSE]
    for line in course.lines():
        terminalreporter.write_line(line)
    if course.is_required and course.skipped:
        terminalreporter.write_line(
            f"failed: {len(course.skipped)} skipped where RACKWISE_REQUIRE_KAFKA=1 allows none",
            red=True,
        )
        for line in course.skipped:
            terminalreporter.write_line(f"  {line}")


@pytest.fixture(scope="session")
def java_home():
    """The home of a Java of at least version 17."""
    return or_failed(lambda: find_java(os.environ)).home


@pytest.fixture(scope="session")
def kraft_cluster(java_home, tmp_path_factory):
    """Four brokers of Kafka 4.x in racks a, b, c, a; a test that stops one starts it again."""
    folder = tmp_path_factory.mktemp("kraft")
    with or_failed(
        lambda: Sandbox.kraft(version=KAFKA_VERSION, brokers=4, java_home=java_home, folder=folder)
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def zookeeper_cluster(java_home, tmp_path_factory):
    """Three brokers of Kafka 3.9 in racks a, b, c on one ZooKeeper; the same rule."""
    folder = tmp_path_factory.mktemp("zookeeper")
    with or_failed(
        lambda: Sandbox.zookeeper(brokers=3, java_home=java_home, folder=folder)
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def lone_zookeeper(java_home, tmp_path_factory):
    """A ZooKeeper without brokers; a test that stops it starts it again. Use a chroot per test."""
    folder = tmp_path_factory.mktemp("lone-zookeeper")
    with or_failed(lambda: LoneZooKeeper(java_home=java_home, folder=folder)) as server:
        yield server


@pytest.fixture
def make_lone_zookeeper(java_home, tmp_path):
    """ZooKeepers of the test's own, `make_lone_zookeeper(settings={...})`; all end with it."""
    with ExitStack() as running:
        yield lambda **options: running.enter_context(
            or_failed(
                lambda: LoneZooKeeper(
                    java_home=java_home, folder=new_folder(tmp_path, "lone-zookeeper"), **options
                )
            )
        )


@pytest.fixture
def chroot(request):
    """A path of the test's own on a shared ZooKeeper: `lone_zookeeper.url + chroot`."""
    return f"/{sha256(request.node.nodeid.encode()).hexdigest()[:16]}"


@pytest.fixture(
    params=[
        pytest.param("kraft_cluster", marks=pytest.mark.kafka),
        pytest.param("zookeeper_cluster", marks=pytest.mark.zookeeper),
    ]
)
def cluster(request):
    """Each of the two clusters, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def admin(cluster):
    """An admin client of ours on the cluster."""
    from rackwise.adapters.kafka import connect

    with closing(connect(cluster.bootstrap)) as made:
        yield made


@pytest.fixture
def make_kraft(java_home, tmp_path):
    """Start clusters of the test's own, as in `make_kraft(brokers=1)`; all end with the test."""
    with ExitStack() as running:
        yield lambda **options: running.enter_context(
            or_failed(
                lambda: Sandbox.kraft(
                    version=KAFKA_VERSION,
                    java_home=java_home,
                    folder=new_folder(tmp_path, "kraft"),
                    **options,
                )
            )
        )


@pytest.fixture
def make_zookeeper(java_home, tmp_path):
    """The same in ZooKeeper mode."""
    with ExitStack() as running:
        yield lambda **options: running.enter_context(
            or_failed(
                lambda: Sandbox.zookeeper(
                    java_home=java_home, folder=new_folder(tmp_path, "zookeeper"), **options
                )
            )
        )


def new_folder(parent, name):
    return parent / f"{name}-{len(list(parent.glob(f'{name}-*')))}"


def or_failed(make):
    """The result of `make`; a missing Java or jar fails the test in two lines."""
    try:
        return make()
    except MissingDependency as error:
        pytest.fail(f"{error.message}\nhint: {error.hint}", pytrace=False)
