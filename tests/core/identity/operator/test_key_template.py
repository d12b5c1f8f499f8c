"""Keys of running brokers, made from their registrations."""

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.model import Registration
from rackwise.core.identity.operator.key_template import KeyTemplate
from rackwise.core.identity.refusals import KeyInvalid, KeyMissing, KeyUnstable

TWO_HOSTS = Registration(
    broker_id=7,
    endpoints=frozenset({"K7.internal:9092", "203.0.113.7:9093"}),
    listeners={"INSIDE": "K7.internal:9092", "OUTSIDE": "203.0.113.7:9093"},
)


def at(*endpoints):
    return Registration(broker_id=7, endpoints=frozenset(endpoints))


@pytest.mark.parametrize(
    ("template", "endpoints", "key"),
    [
        ("{host}", ["Kafka-7.Example.com:9092"], "kafka-7.example.com"),
        ("{host}", ["kafka-7:9092", "KAFKA-7:9093"], "kafka-7"),
        ("{label}", ["kafka-7.example.com:9092"], "kafka-7"),
        ("{host}-{port}", ["kafka-7:9092"], "kafka-7-9092"),
        ("kafka-{broker.id}", [], "kafka-7"),
        ("{broker.id}", ["127.0.0.1:9092"], "7"),
    ],
)
def test_a_key_is_what_acquire_would_make(template, endpoints, key):
    assert KeyTemplate.parse(template).key_of(at(*endpoints)) == key


def test_a_listener_is_named_where_brokers_have_several_hosts():
    with pytest.raises(KeyMissing, match=r"got 203\.0\.113\.7, k7\.internal") as refused:
        KeyTemplate.parse("{host}").key_of(TWO_HOSTS)
    assert "--listener with one of INSIDE, OUTSIDE" in refused.value.hint
    named = KeyTemplate.parse("{label}", listener="inside")
    assert named.key_of(TWO_HOSTS) == "k7"
    with pytest.raises(KeyMissing, match="got none"):
        KeyTemplate.parse("{host}", listener="other").key_of(TWO_HOSTS)


def test_a_broker_without_an_endpoint_has_no_host():
    with pytest.raises(KeyMissing, match="expected one host of id 7, got none") as refused:
        KeyTemplate.parse("{host}").key_of(at())
    assert refused.value.hint == "use --key kafka-{broker.id}"


@pytest.mark.parametrize("template", ["{host}", "{label}", "{host}-{port}"])
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "ip-10-0-0-1.internal", "localhost"])
def test_a_name_that_changes_with_the_address_is_accepted_only_on_request(template, host):
    with pytest.raises(KeyUnstable):
        KeyTemplate.parse(template).key_of(at(f"{host}:9092"))
    key = KeyTemplate.parse(template, allow_unstable=True).key_of(at(f"{host}:9092"))
    assert key.startswith(host.strip("[]").partition(".")[0])


def test_a_host_that_is_no_key_is_rejected():
    with pytest.raises(KeyInvalid):
        KeyTemplate.parse("{host}").key_of(at("a%b:9092"))
    with pytest.raises(KeyInvalid):
        KeyTemplate.parse("a/{broker.id}").key_of(at())


@pytest.mark.parametrize(
    "text", ["", "kafka", "{id}", "{host", "host}", "{}", "{host}}", "{{host}"]
)
def test_a_template_has_known_fields(text):
    with pytest.raises(InvalidConfig, match="invalid --key: expected a text with"):
        KeyTemplate.parse(text)
