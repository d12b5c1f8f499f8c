"""Options of the partitioner: read by Kafka's names, rejected, or found to have no effect."""

from __future__ import annotations

import pytest

from rackwise.core.errors import PartitionerConfigError
from rackwise.core.partitioner import PRODUCER_RULES, PartitionerConfig

ALL = {
    "batch.size": "1000",
    "client.rack": "/eu/a",
    "partitioner.adaptive.partitioning.enable": "FALSE",
    "partitioner.availability.timeout.ms": " 250 ",
    "partitioner.ignore.keys": "True",
    "partitioner.rack.aware": True,
    "rackwise.backlog.cap.windows": 7,
    "rackwise.draws": "even",
    "rackwise.eps": "0.2",
    "rackwise.max.skew": 2,
    "rackwise.rack.depth": "1",
    "rackwise.semantics": "kip",
    "linger.ms": 5,
    "bootstrap.servers": "partitioner.nothing",
}


def test_options_are_read_by_kafkas_names():
    assert PartitionerConfig.from_kafka(ALL) == PartitionerConfig(
        rack_aware=True,
        rack="/eu/a",
        ignore_keys=True,
        adaptive=False,
        availability_timeout_ms=250,
        sticky_bytes=1000,
        rack_depth=1,
        backlog_cap_windows=7,
        max_skew=2.0,
        eps=0.2,
        draws="even",
    )


def test_no_options_are_kafkas_defaults():
    config = PartitionerConfig.from_kafka({})
    assert config == PartitionerConfig()
    assert (config.rack_aware, config.adaptive, config.sticky_bytes) == (False, True, 16_384)


def test_optional_options_may_be_none():
    names = ("client.rack", "rackwise.max.skew", "rackwise.rack.depth", "partitioner.class")
    assert PartitionerConfig.from_kafka(dict.fromkeys(names)) == PartitionerConfig()


@pytest.mark.parametrize(
    ("options", "wanted", "had"),
    [
        ({"partitioner.rack.awar": "true"}, "partitioner.rack.aware", "partitioner.rack.awar"),
        ({"rackwise.epsilon": 1}, "rackwise.eps", "rackwise.epsilon"),
        ({"partitioner.klass": "x"}, "partitioner.class", "partitioner.klass"),
        ({"partitioner.rack.aware": "yes"}, "true or false", "yes"),
        ({"partitioner.rack.aware": 1}, "true or false", "1"),
        ({"batch.size": "many"}, "an integer", "many"),
        ({"batch.size": "16_384"}, "an integer", "16_384"),
        ({"rackwise.eps": "0_1"}, "a number", "0_1"),
        ({"batch.size": True}, "an integer", "True"),
        ({"batch.size": "9" * 400}, "an integer of 64 bits", "one of 1330 bits"),
        ({"rackwise.eps": 10**400}, "an integer of 64 bits", "one of 1330 bits"),
        ({"batch.size": -1}, ">= 1", -1),
        ({"partitioner.availability.timeout.ms": -1}, ">= 0", -1),
        ({"rackwise.backlog.cap.windows": "-1"}, ">= 0", -1),
        ({"rackwise.eps": "much"}, "a number", "much"),
        ({"rackwise.eps": False}, "a number", "False"),
        ({"rackwise.eps": "-0.1"}, ">= 0", -0.1),
        ({"rackwise.max.skew": 0.5}, ">= 1", 0.5),
        ({"client.rack": 7}, "a text", "7"),
        ({"rackwise.semantics": "java"}, "kip or upstream", "java"),
        ({"rackwise.semantics": None}, "a text", "None"),
        ({"rackwise.draws": "often"}, "random or even", "often"),
        ({"client.rack": "/eu/a", "rackwise.rack.depth": 3}, "1 to 2, the levels of /eu/a", 3),
        ({"rackwise.rack.depth": 0}, ">= 1", 0),
    ],
)
def test_invalid_options_are_rejected(options, wanted, had):
    with pytest.raises(PartitionerConfigError) as raised:
        PartitionerConfig.from_kafka(options)
    assert (raised.value.wanted, raised.value.had) == (wanted, had)
    assert str(wanted) in str(raised.value)
    assert str(had) in str(raised.value)
    assert raised.value.where


def test_a_window_of_0_bytes_is_rejected_with_a_hint():
    with pytest.raises(
        PartitionerConfigError, match="invalid sticky_bytes: expected >= 1, got 0"
    ) as raised:
        PartitionerConfig(sticky_bytes=0)
    assert raised.value.hint == "use the producer's batch.size"


def test_nan_is_rejected():
    with pytest.raises(PartitionerConfigError, match="invalid eps: expected >= 0, got nan"):
        PartitionerConfig(eps=float("nan"))


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("sticky_bytes", "16384", "an integer"),
        ("sticky_bytes", 1.5, "an integer"),
        ("sticky_bytes", True, "an integer"),
        ("availability_timeout_ms", None, "an integer"),
        ("backlog_cap_windows", [], "an integer"),
        ("rack_depth", "1", "an integer"),
        ("eps", "0.1", "a number"),
        ("eps", float("inf"), ">= 0"),
        ("max_skew", float("inf"), ">= 1"),
        ("rack", 5, "a text"),
        ("semantics", [], "kip or upstream"),
        ("draws", {}, "random or even"),
    ],
)
def test_a_value_of_another_type_is_rejected(field, value, wanted):
    with pytest.raises(PartitionerConfigError, match=f"invalid {field}: expected {wanted}, got "):
        PartitionerConfig(**{field: value})


@pytest.mark.parametrize("fields", [{"rack_depth": 1}, {"max_skew": 1.5}, {"draws": "even"}])
def test_upstream_rejects_levels_bounds_and_even_draws(fields):
    with pytest.raises(
        PartitionerConfigError, match="expected semantics kip, got semantics upstream"
    ):
        PartitionerConfig(rack="/eu/a", semantics="upstream", **fields)


def test_upstream_needs_a_rack_even_with_a_custom_partitioner():
    options = {
        "partitioner.rack.aware": "true",
        "partitioner.class": "com.example.Mine",
        "rackwise.semantics": "upstream",
    }
    with pytest.raises(
        PartitionerConfigError,
        match=r"client\.rack: expected a rack because partitioner\.rack\.aware is",
    ) as raised:
        PartitionerConfig.from_kafka(options)
    assert raised.value.had == "''"
    assert raised.value.hint == "set client.rack"
    config = PartitionerConfig.from_kafka(options | {"client.rack": "a"})
    assert (config.rack_aware, config.adaptive) == (True, False)


class TestACustomPartitioner:
    """KIP-1123: "This has no effect when a custom partitioner is used"."""

    CONFIG = PartitionerConfig.from_kafka(
        {"partitioner.class": "Mine", "partitioner.rack.aware": "true", "client.rack": "a"}
    )

    def test_it_disables_racks_and_weights(self):
        assert (self.CONFIG.rack_aware, self.CONFIG.adaptive) == (False, False)

    def test_it_is_reported(self):
        (found,) = self.CONFIG.problems(["a"])
        assert found.rule == "custom-partitioner"
        assert "no effect when a custom partitioner is used" in found.wanted
        assert found.had == "Mine"


class TestProblems:
    def test_a_blank_rack(self):
        (found,) = PartitionerConfig(rack_aware=True, rack="\t").problems(["a"])
        assert found.rule == "blank-rack"
        assert found.severity == PRODUCER_RULES["blank-rack"].severity
        assert found.message == (
            "producer: blank-rack: wanted a client.rack because partitioner.rack.aware is true; "
            r"had '\t'"
        )
        assert found.as_dict("hint")["hint"] == "set client.rack"

    def test_a_rack_that_no_broker_has(self):
        config = PartitionerConfig(rack_aware=True, rack="us-east-1a")
        (found,) = config.problems(["use1-az2", "use1-az1", None, "use1-az1"])
        assert found.rule == "rack-unmatched"
        assert (found.wanted, found.had) == ("one of use1-az1, use1-az2", "us-east-1a")
        assert found.hint == "use zone ids: zone names differ between accounts"

    def test_brokers_without_racks(self):
        (found,) = PartitionerConfig(rack_aware=True, rack="a").problems([None, ""])
        assert (found.wanted, found.hint) == (
            "brokers with racks",
            "set broker.rack on every broker",
        )

    def test_a_rack_is_compared_to_the_given_depth(self):
        shallow = PartitionerConfig(rack_aware=True, rack="/eu/a", rack_depth=1)
        assert shallow.problems(["/eu/b"]) == ()
        assert PartitionerConfig(rack_aware=True, rack="/eu/a").problems(["/eu/b"])

    @pytest.mark.parametrize("racks", [None, ["a"], ["b", "a"]])
    def test_no_problem(self, racks):
        assert PartitionerConfig(rack_aware=True, rack="a").problems(racks) == ()

    def test_a_rack_without_rack_awareness_changes_nothing(self):
        assert PartitionerConfig(rack="nowhere").problems(["a"]) == ()

    def test_a_no_break_space_is_a_rack(self):
        assert PartitionerConfig(rack_aware=True, rack="\xa0").problems(["\xa0"]) == ()
