"""What a fleet file means: defaults, hours of a day, names and brokers of one cluster each."""

from __future__ import annotations

import pytest

from json_schemas import fault
from rackwise.core.daily_hours import DailyHours
from rackwise.core.errors import InvalidConfig, InvalidFleetFile
from rackwise.core.fleet_file import FLEET_TABLES, FleetCluster, fleet_of, toml_path
from rackwise.core.json.forms import Definitions


def clusters_of(table):
    return fleet_of(table, name="f.toml").clusters


def refused(table):
    with pytest.raises(InvalidFleetFile) as raised:
        fleet_of(table, name="f.toml")
    return raised.value


def test_a_key_of_a_cluster_wins_over_the_default_and_the_others_keep_it():
    found = clusters_of(
        {
            "defaults": {"provider": "aws", "owner": "platform", "window": "22:00-05:00"},
            "clusters": {
                "eu": {"bootstrap": "k1:9092, k2:9092", "owner": "payments"},
                "us": {"bootstrap": ["k3:9092"], "throttle": "50MB"},
            },
        }
    )
    hours = DailyHours(22 * 60, 5 * 60)
    assert found == (
        FleetCluster(
            name="eu",
            servers=("k1:9092", "k2:9092"),
            owner="payments",
            provider="aws",
            window=hours,
        ),
        FleetCluster(
            name="us",
            servers=("k3:9092",),
            owner="platform",
            provider="aws",
            window=hours,
            throttle="50MB",
        ),
    )
    assert found[0].bootstrap_server == "k1:9092,k2:9092"


@pytest.mark.parametrize(
    ("keys", "where", "sentence"),
    [
        ({}, "clusters.eu", 'missing key "bootstrap"'),
        ({"bootstrap": "k1"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": "k 1:9092"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": "k\x1b[0m:1"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": "k1:0"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": "k1:65536"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": "k1:1,"}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": []}, "clusters.eu.bootstrap", "expected HOST:PORT"),
        ({"bootstrap": ["k1:1", 2]}, "clusters.eu.bootstrap[1]", "expected HOST:PORT"),
        (
            {"window": "22:00"},
            "clusters.eu.window",
            'expected HH:MM-HH:MM or HH:MM-HH:MM ZONE, got "22:00"',
        ),
        ({"window": "24:00-05:00"}, "clusters.eu.window", "expected HH:MM-HH:MM"),
        ({"window": "05:00-05:00"}, "clusters.eu.window", "expected HH:MM-HH:MM"),
        ({"window": 5}, "clusters.eu.window", "expected HH:MM-HH:MM or HH:MM-HH:MM ZONE, got 5"),
        ({"throttle": "50Mb"}, "clusters.eu.throttle", "expected a rate such as 50MB"),
        ({"throttle": "0"}, "clusters.eu.throttle", "expected a rate such as 50MB"),
        ({"throttle": 50}, "clusters.eu.throttle", "expected a rate such as 50MB, got 50"),
        ({"throttle": "9" * 40}, "clusters.eu.throttle", "expected a rate such as 50MB"),
        ({"policy": ""}, "clusters.eu.policy", "expected a text"),
        ({"flows": [""]}, "clusters.eu.flows[0]", "expected a path or URI"),
        ({"addresses": []}, "clusters.eu.addresses", "expected a path, or a list of paths"),
        ({"addresses": ["a", 1]}, "clusters.eu.addresses[1]", "expected a path, or a list"),
        ({"owner": ["a"]}, "clusters.eu.owner", "expected a text"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_key(keys, where, sentence):
    keys = {"bootstrap": "k1:1"} | keys if keys else keys
    error = refused({"clusters": {"eu": keys}})
    assert error.message.startswith(f"invalid f.toml at {where}: {sentence}")
    assert "\n" not in error.message


def test_an_unknown_key_names_the_nearest_one():
    error = refused({"clusters": {"prod-eu": {"bootstrap": "k:1", "windw": "22:00-05:00"}}})
    assert error.message == 'invalid f.toml at clusters.prod-eu.windw: unknown key "windw"'
    assert error.hint.startswith("did you mean window? known keys: bootstrap, ")


def test_a_file_of_one_cluster_table_too_few_says_what_to_write():
    assert "[clusters.NAME], got none" in refused({}).message
    assert "at clusters: expected a table" in refused({"clusters": [{}]}).message
    assert refused({"cluster": {}}).hint.startswith("did you mean clusters?")


def test_two_names_that_differ_only_in_case_are_both_named():
    error = refused({"clusters": {"eu": {"bootstrap": "a:1"}, "EU": {"bootstrap": "b:1"}}})
    assert error.message.endswith('a name that differs from "eu" by more than case, got "EU"')


def test_two_clusters_with_one_broker_are_both_named():
    error = refused({"clusters": {"eu": {"bootstrap": "a:1"}, "us": {"bootstrap": "b:1,A:1"}}})
    assert error.message.startswith("invalid f.toml at clusters.us.bootstrap: ")
    assert error.message.endswith('expected brokers that "eu" does not have, got "A:1"')
    assert "eu and us are one cluster" in error.hint


@pytest.mark.parametrize("name", ["a/b", "..", "", ".a", "a b", "x" * 101, "a\x1bb", "ä"])
def test_a_name_that_is_no_name_of_a_folder_is_refused(name):
    assert refused({"clusters": {name: {"bootstrap": "a:1"}}}).message.isprintable()


def test_a_value_from_a_reference_is_not_shown():
    with pytest.raises(InvalidFleetFile) as raised:
        fleet_of(
            {"clusters": {"eu": {"bootstrap": "k:1", "window": "canary-5"}}},
            name="f.toml",
            references={"$.clusters.eu.window": "${env:HOURS}"},
        )
    error = raised.value
    assert error.message.endswith('got another value from "${env:HOURS}"')
    assert "canary-5" not in f"{error.message} {error.hint} {error.as_dict()}"


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ({"clusters": {"us": {"bootstrap": ["b:1", "canary:1"]}}}, "$.clusters.us.bootstrap[1]"),
        ({"clusters": {"us": {"bootstrap": "b:1,canary:1"}}}, "$.clusters.us.bootstrap"),
        (
            {"clusters": {"us": {}}, "defaults": {"bootstrap": ["canary:1"]}},
            "$.defaults.bootstrap[0]",
        ),
        ({"clusters": {"us": {}}, "defaults": {"bootstrap": "canary:1"}}, "$.defaults.bootstrap"),
    ],
)
def test_brokers_of_two_clusters_from_a_reference_are_not_shown(table, place):
    clusters = {"eu": {"bootstrap": "canary:1"}} | table["clusters"]
    with pytest.raises(InvalidFleetFile) as raised:
        fleet_of(table | {"clusters": clusters}, name="f.toml", references={place: "${env:BROKER}"})
    error = raised.value
    assert 'got another value from "${env:BROKER}"' in error.message
    assert "canary" not in f"{error.message} {error.hint} {error.as_dict()}"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://key:canary@logs/a",
        "s3://KEY:abc/canary+ghi@logs/vpc",
        "s3a://canary@logs",
        "abfss://c:canary@x/",
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_credentials_in_a_uri_of_flows_are_rejected_and_not_shown(uri, is_list):
    flows = ["flows", uri] if is_list else uri
    error = refused({"clusters": {"eu": {"bootstrap": "k:1", "flows": flows}}})
    place = "clusters.eu.flows[1]" if is_list else "clusters.eu.flows"
    assert f"at {place}: expected a URI without user and password" in error.message
    assert "environment" in error.hint
    assert "canary" not in f"{error.message} {error.hint} {error.as_dict()}"


def test_a_container_of_azure_is_no_user():
    flows = ["abfss://logs@account.dfs.core.windows.net/a", "s3://logs/a@b", "a@b"]
    (found,) = clusters_of({"clusters": {"eu": {"bootstrap": "k:1", "flows": flows}}})
    assert found.flows == tuple(flows)


def test_an_unknown_cluster_names_the_nearest_one():
    fleet = fleet_of({"clusters": {"prod-eu": {"bootstrap": "k:1"}}}, name="f.toml")
    assert fleet.cluster("prod-eu").name == "prod-eu"
    with pytest.raises(InvalidConfig, match=r'no cluster is called "prod-ue" in f\.toml') as raised:
        fleet.cluster("prod-ue")
    assert raised.value.hint == "did you mean prod-eu? clusters: prod-eu"


def test_a_json_path_as_a_key_of_toml():
    assert toml_path('$.clusters["prod-eu"].window') == "clusters.prod-eu.window"
    assert toml_path('$.clusters["a/b"]') == 'clusters."a/b"'
    assert toml_path("$.defaults.flows[2]") == "defaults.flows[2]"
    assert toml_path("") == ""


def test_address_tables_are_a_path_or_a_list_and_those_of_a_cluster_win():
    eu, us = clusters_of(
        {
            "defaults": {"addresses": "pods.csv"},
            "clusters": {
                "eu": {"bootstrap": "k:1"},
                "us": {"bootstrap": "k:2", "addresses": ["a.csv", "b.csv"]},
            },
        }
    )
    assert (eu.addresses, us.addresses) == (("pods.csv",), ("a.csv", "b.csv"))


@pytest.mark.parametrize(
    ("keys", "is_right"),
    [
        ({"bootstrap": "k1:9092"}, True),
        ({"bootstrap": ["k1:9092"], "window": "22:00-05:00 Europe/Rome"}, True),
        ({"bootstrap": 7}, False),
        ({"bootstrap": ["k1:9092", 7]}, False),
        ({"bootstrap": "k1:9092", "window": "24:00-05:00"}, False),
        ({"bootstrap": "k1:9092", "window": 5}, False),
    ],
)
def test_the_schema_has_servers_as_a_text_or_a_list_and_a_window_as_hours(keys, is_right):
    schema = FLEET_TABLES.schema(definitions := Definitions())
    found = fault({"clusters": {"eu": keys}}, schema, {"$defs": definitions})
    assert (found is None) == is_right
