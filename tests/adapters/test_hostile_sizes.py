"""Each reader of text or bytes needs time linear in the size of hostile input.

A reader is given a shape of input in two sizes. If the larger one takes measurable time, it may
take at most 2.5 times as much per doubling. A quadratic reader takes 4 times as much. The CPU time
of this thread counts, so the load of the machine does not.
"""

from contextlib import suppress
from pathlib import Path
from time import thread_time

import pytest

from rackwise.adapters.clients.confluent.statistics import read_statistics
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.files.plan.read import parse_plan
from rackwise.adapters.files.plan.reassignment import parse_placement, parse_racks
from rackwise.adapters.files.policy import parse_policy
from rackwise.adapters.files.snapshot.read import parse_snapshot
from rackwise.adapters.files.tables.owners import parse_owners
from rackwise.adapters.files.tables.prices import parse_prices
from rackwise.adapters.files.tables.rates import parse_clients, parse_rates
from rackwise.adapters.kafka.client_config import jaas_options
from rackwise.core.errors import InputError, RackwiseError
from rackwise.core.java_properties import property_entries
from rackwise.core.json.strict import parse
from rackwise.core.placement.manual import parse_assignment
from rackwise.core.racks import Rack
from rackwise.core.subnets import parse_subnets
from rackwise.core.wire.batches import read_batch_spans
from rackwise.core.wire.consumer import decode_blob, decode_sticky_user_data, decode_subscription
from rackwise.core.wire.endpoints import read_endpoint
from rackwise.core.wire.ibp import parse_ibp, parse_software
from rackwise.core.wire.metadata import read_metadata_response
from rackwise.core.wire.replica_assignment import read_request
from rackwise.core.wire.topic_node import read_topic_node

SIZE = 2**15
DOUBLINGS = 3
MOST_PER_DOUBLING = 2.5
MEASURABLE_S = 0.1
"""Below this, a machine's noise is larger than what is measured."""


def of_file(reader):
    return lambda data: reader(data, where="file")


def of_text(reader):
    return lambda data: reader(data.decode("latin-1"))


READERS = {
    "JSON": lambda data: parse(data, where="file", error=InputError),
    "journal": lambda data: parse_journal(data, Path("journal")),
    "metadata response": lambda data: read_metadata_response(data, version=9),
    "node of a topic": lambda data: read_topic_node("t", data),
    "snapshot": of_file(parse_snapshot),
    "plan": of_file(parse_plan),
    "policy": of_file(parse_policy),
    "placement": of_file(parse_placement),
    "racks of brokers": of_file(parse_racks),
    "prices": of_file(parse_prices),
    "owners": of_file(parse_owners),
    "rates": of_file(parse_rates),
    "clients": of_file(parse_clients),
    "properties": of_text(property_entries),
    "JAAS": of_text(jaas_options),
    "subnets": of_text(parse_subnets),
    "rack": of_text(Rack),
    "assignment": of_text(parse_assignment),
    "endpoint": of_text(read_endpoint),
    "inter-broker protocol": of_text(parse_ibp),
    "software": of_text(parse_software),
    "statistics": of_text(read_statistics),
    "subscription": decode_subscription,
    "user data of rackwise": decode_blob,
    "user data of sticky": decode_sticky_user_data,
    "record batches": read_batch_spans,
    "placement request": read_request,
}

UNITS = (
    *(b"9", b"a", b" ", b"\n", b"\\", b'"', b"\0", b"\xff", b"-", b"[", b"a.", b"1.", b"a,", b"/a"),
    *(b'{"a":', b"[[a]]\n", b"a=1\n", b"a=", b"a\\\n", b"a={b=", b"[::", b"0:1,", b"\0\0\0\1"),
    *(b'"\\', b'"\\"".', b"'a", b'"",', b'"\\ud800",', b"\\u0041", b"1,a\n"),
    *(b"a@10.0.0.0/8<>", b"99999999999999999999,"),
)
FRAMES = (b"%s", b"[%s0]", b'{"format":"%s"}', b'"%s"', b"a%s=1", b"a=%s", b'a="""%s', b"b,r\n%s")


def inputs(size):
    """Hostile inputs of about `size` bytes: each unit repeated, in each frame."""
    for unit in UNITS:
        for frame in FRAMES:
            yield frame.replace(b"%s", unit * (size // len(unit)))


def seconds(reader, data):
    begin = thread_time()
    with suppress(RackwiseError):
        reader(data)
    return thread_time() - begin


@pytest.mark.parametrize("name", READERS)
def test_time_is_linear(name):
    reader = READERS[name]
    for small, large in zip(inputs(SIZE >> DOUBLINGS), inputs(SIZE), strict=True):
        if seconds(reader, large) > MEASURABLE_S:
            large_s, small_s = (
                min(seconds(reader, each) for _ in range(3)) for each in (large, small)
            )
            assert large_s < MOST_PER_DOUBLING**DOUBLINGS * small_s, large[:40]
