"""Findings about the options and executors of a Spark job that reads Kafka."""

from __future__ import annotations

import re
import sys

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.spark_racks.check import (
    AUTOMATIC,
    RULES,
    SPARK_RULES,
    Answers,
    Jvm,
    allow_list,
    diagnose_spark,
    variable_of,
)
from rackwise.pipeline.spark_racks.recipes import ENV_PROVIDER, client_rack_options
from readings import healthy
from refusals import called, check_refused

RECIPE = client_rack_options()
RACK = "kafka.client.rack"
CLASS = "kafka.config.providers.env.class"
ALLOWED = "kafka.config.providers.env.param.allowlist.pattern"


def jvm(pid, value, **more):
    return Jvm(host="h", pid=str(pid), value=value, **({"clients": "3.9.2"} | more))


def answers(values=("a", "b"), *, driver="a", is_allowed=True, **more):
    executors = {jvm(place, value, **more): 4 for place, value in enumerate(values)}
    return Answers(
        executors=executors, driver=jvm(9, driver, **more), asked=8, is_allowed=is_allowed
    )


def found(options=RECIPE, replies=None, cluster=None):
    return diagnose_spark(options, "CLIENT_RACK", replies or answers(), cluster)


def rules(*given, **named):
    return [each.rule for each in found(*given, **named)]


def without(*keys, **more):
    return {key: value for key, value in RECIPE.items() if key not in keys} | more


class TestTheRecipe:
    def test_its_four_options_give_no_findings(self):
        assert len(RECIPE) == 4
        whole = found(cluster=healthy())
        assert (list(whole), whole.not_checked) == ([], {})

    def test_it_works_with_another_variable(self):
        options = client_rack_options("ZONE")
        assert (variable_of(options, "CLIENT_RACK"), allow_list(options)) == ("ZONE", "ZONE")


OPTIONS = [
    (without(RACK), ["rack-not-set"]),
    (without(RACK, **{RACK: ""}), ["rack-not-set"]),
    ({}, ["rack-not-set"]),
    (without("kafka.config.providers"), ["provider-missing"]),
    (without(**{"kafka.config.providers": "file, vault"}), ["provider-missing"]),
    (without(CLASS), ["provider-missing"]),
    (without(**{CLASS: "org.apache.kafka.FileConfigProvider"}), ["provider-wrong"]),
    (without(**{RACK: "${env:/etc:CLIENT_RACK}"}), ["provider-wrong"]),
    (without(**{"kafka.config.providers": " vault , env "}), []),
    (without(ALLOWED), []),
    ({key.replace("kafka.", "KAFKA."): value for key, value in RECIPE.items()}, []),
]


@pytest.mark.parametrize(("options", "expected"), OPTIONS)
def test_options(options, expected):
    assert rules(options) == expected


class TestAConstant:
    def test_it_is_an_error_if_executors_have_several_racks(self):
        (only,) = found({RACK: "a"})
        assert only.message == (
            "option kafka.client.rack: rack-is-constant: wanted ${env:CLIENT_RACK}; "
            "had a for executors in a, b"
        )

    def test_it_is_correct_if_all_executors_have_one_rack(self):
        assert rules({RACK: "a"}, answers(("a", "a"))) == []

    def test_it_is_not_checked_if_no_executor_has_a_rack(self):
        result = found({RACK: "a"}, answers((None, None)))
        assert list(result) == []
        assert result.not_checked["rack-is-constant"] == "no executor has CLIENT_RACK"

    def test_it_is_checked_against_the_brokers(self):
        assert rules({RACK: "z"}, answers(("a", "a")), healthy()) == ["reading-client-rack"]


class TestJvms:
    def test_executors_without_the_variable_are_counted(self):
        (only,) = found(replies=answers(("a", None, "")))
        assert (only.rule, only.place) == ("variable-unset", "2 of 3 executors")
        assert only.had == "none on h pid 1, h pid 2"

    def test_a_driver_without_it_is_a_finding_of_severity_info(self):
        (only,) = found(replies=answers(driver=None))
        assert (only.rule, only.place, str(only.severity)) == ("variable-unset", "driver", "info")

    def test_a_driver_that_is_also_the_executor_is_reported_once(self):
        one = jvm(1, None)
        result = found(replies=Answers(executors={one: 8}, driver=one, asked=8))
        assert [each.place for each in result] == ["1 of 1 executor"]

    def test_a_driver_without_an_answer_is_not_checked(self):
        result = found(replies=Answers(executors={jvm(1, "a"): 8}, driver=None, asked=8))
        assert list(result) == []
        assert result.not_checked["variable-unset"] == "the driver could not be asked"

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, []),
            (ENV_PROVIDER, []),
            (f"other.Provider , {ENV_PROVIDER}", []),
            ("none", ["providers-disabled"]),
            ("", ["providers-disabled"]),
        ],
    )
    def test_a_jvm_that_forbids_the_provider_is_reported(self, value, expected):
        assert rules(replies=answers(providers=value)) == expected

    @pytest.mark.parametrize(
        ("version", "expected"),
        [("3.4.1", ["clients-too-old"]), ("3.5.0", []), ("4.0.0", []), ("10.0", [])],
    )
    def test_clients(self, version, expected):
        assert rules(replies=answers(clients=version)) == expected

    def test_without_kafka_clients_its_version_is_not_checked(self):
        assert (
            "kafka-clients is missing"
            in (found(replies=answers(clients=None)).not_checked["clients-too-old"])
        )

    @pytest.mark.parametrize(
        ("is_allowed", "had"), [(False, "CLIENT_RACK"), (None, "CLIENT_RACK, which is invalid")]
    )
    def test_an_allow_list(self, is_allowed, had):
        (only,) = found(replies=answers(is_allowed=is_allowed))
        assert (only.rule, only.had) == ("allowlist-blocks", had)


class TestBrokers:
    def test_a_rack_without_brokers_and_a_missing_selector(self):
        values = dict.fromkeys((1, 2, 3))
        result = found(replies=answers(("a", "B")), cluster=healthy(values=values))
        assert [each.rule for each in result] == ["reading-selector", "reading-client-rack"]

    def test_partitions_without_a_replica_in_a_rack_of_executors(self):
        lists = {"t-0": [1, 2], "t-1": [2, 3], "t-2": [2, 1]}
        (only,) = found(cluster=healthy(lists=lists, groups=[]))
        assert only.message == (
            "rack a: rf-below-racks: wanted a replica of each of 3 partitions; had of 2"
        )

    def test_without_racks_coverage_is_not_checked(self):
        result = found(replies=answers((None,)), cluster=healthy())
        assert result.not_checked["rf-below-racks"] == "no executor has a rack"


def test_every_rule_is_checked_or_listed_with_a_reason():
    """Law: a rule without findings was checked, or is listed as not checked."""
    for options in (RECIPE, {}, {RACK: "a"}):
        result = found(options, answers((None,)))
        assert set(result.counts) | set(result.not_checked) <= set(RULES)
        if not options:
            assert set(result.not_checked) >= set(SPARK_RULES) - {"rack-not-set"}


@pytest.mark.spark
class TestTheProbe:
    @pytest.mark.connect
    def test_one_jvm_answers_for_all_partitions(self, spark):
        from rackwise.pipeline.spark_racks.probe import ask

        result = ask(spark, "PATH", "P.*H")
        ((executor, number),) = result.executors.items()
        assert (number, result.asked, result.is_allowed) == (8, 8, True)
        assert result.driver == executor
        assert executor.value
        assert (executor.clients, executor.providers) == (None, None)

    @pytest.mark.parametrize(
        ("pattern", "expected"), [("PAT", False), ("(", None), ("A|PATH", True)]
    )
    def test_the_allow_list_is_a_java_pattern(self, spark, pattern, expected):
        from rackwise.pipeline.spark_racks.probe import _is_allowed

        assert _is_allowed(spark, "PATH", pattern) is expected

    def test_the_probe_and_the_check_in_one_call(self, spark):
        from rackwise.pipeline.spark_racks.probe import check_client_rack

        options = client_rack_options("PATH")
        result = check_client_rack(spark, options, variable="CLIENT_RACK")
        assert list(result) == []


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestTheCommand:
    def test_it_checks_a_session_and_prints_findings(self, tmp_path):
        write_snapshot(healthy(), tmp_path / "s.json")
        given = ["spark-check", "--snapshot", tmp_path / "s.json", "--variable", "NOT_SET"]
        code, out, _ = called(*given)
        assert code == 2
        assert out.startswith("NOT_SET: 1 executor answered, in 8 partitions asked\n")
        assert "\n  hint: set it where the executor is started " in out
        assert re.search(r"^warning 1 of 1 executor: variable-unset", out, re.MULTILINE)
        assert f"  {AUTOMATIC}" not in out

    def test_as_json(self):
        code, out, err = called("spark-check", "--json", "--variable", "PATH")
        result = parse(out.encode(), where="stdout", error=InvalidConfig)
        assert (code, err) == (0, "")
        assert (result["format"], result["asked"]) == ("rackwise.spark-check/1", 8)
        assert result["options"] == client_rack_options("PATH")
        assert [each["answers"] for each in result["executors"]] == [8]


FILES = "org.apache.kafka.common.config.provider.FileConfigProvider"
SELECTORS_OFF = dict.fromkeys((1, 2, 3))
REAL = [
    ("rack-not-set", {}, None),
    ("provider-missing", {RACK: "${env:PATH}"}, None),
    ("provider-wrong", client_rack_options("PATH") | {CLASS: FILES}, None),
    ("allowlist-blocks", client_rack_options("PATH") | {ALLOWED: "PAT"}, None),
    ("variable-unset", client_rack_options("NOT_SET"), None),
    ("reading-client-rack", {RACK: "z"}, healthy()),
    ("reading-selector", {RACK: "a"}, healthy(values=SELECTORS_OFF)),
    ("reading-broker-rack", {RACK: "a"}, healthy({1: "a", 2: "b", 3: None})),
    ("rf-below-racks", {RACK: "a"}, healthy(lists={"t-0": [2, 3]}, groups=[])),
]


def checked(options, *more):
    """Exit code and rules of a check of the session."""
    given = {"kafka.client.id": "job", **options}
    pairs = [word for key, value in given.items() for word in ("--kafka-option", f"{key}={value}")]
    code, out, err = called("spark-check", "--json", *pairs, *more)
    assert err == ""
    result = parse(out.encode(), where="stdout", error=InvalidConfig)
    return code, {each["rule"] for each in result["findings"]}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestEachFinding:
    @pytest.mark.parametrize(("rule", "options", "cluster"), REAL, ids=[row[0] for row in REAL])
    def test_it_is_printed_and_changes_the_exit_code(self, tmp_path, rule, options, cluster):
        more = []
        if cluster is not None:
            write_snapshot(cluster, tmp_path / "s.json")
            more = ["--snapshot", tmp_path / "s.json"]
        assert checked(options, *more) == (2, {rule})

    def test_a_jvm_that_forbids_the_provider(self, spark):
        options = client_rack_options("PATH")
        call = f"SELECT reflect('java.lang.System', '{{}}', '{AUTOMATIC}' {{}})"
        assert checked(options) == (0, set())
        spark.sql(call.format("setProperty", ", 'none'")).collect()
        try:
            assert checked(options) == (2, {"providers-disabled"})
        finally:
            spark.sql(call.format("clearProperty", "")).collect()
        assert checked(options) == (0, set())


REFUSED = [
    (
        ["--kafka-option", "client.rack=a"],
        "invalid --kafka-option: expected kafka.KEY=VALUE, got client.rack=a",
        (
            "for example --kafka-option 'kafka.client.rack=${env:CLIENT_RACK}'; repeat "
            "--kafka-option for each key"
        ),
    ),
    (
        ["--kafka-option", "kafka.client.rack=a", "--kafka-option", "kafka.client.rack=b"],
        "invalid --kafka-option: expected each key once, got kafka.client.rack twice",
        "omit one --kafka-option of this key",
    ),
    (
        ["--conf", "spark.x"],
        "invalid --conf: expected KEY=VALUE, got spark.x",
        "for example --conf 'spark.driver.memory=2g'; repeat --conf for each key",
    ),
    (
        ["--variable", "A=B"],
        "invalid --variable: expected the name of an environment variable, got 'A=B'",
        "use letters, digits and _",
    ),
    (
        ["--topic", "t"],
        "--topic requires --bootstrap-server or --snapshot",
        "omit --topic, or name the cluster that the job reads",
    ),
]


@pytest.mark.parametrize(("options", "message", "hint"), REFUSED)
def test_refused(options, message, hint):
    check_refused(["spark-check", *options], message, hint)


def test_without_pyspark_the_hint_has_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    code, out, err = called("spark-check")
    assert (code, out) == (1, "")
    assert err.endswith('hint: pip install "rackwise[spark]"\n')
