"""Files of stores: their addresses, what the environment decides, and files that change."""

from __future__ import annotations

import os

import pytest

from rackwise.core.errors import InvalidFlows
from rackwise.pipeline.runtime.store_settings import store_settings
from rackwise.pipeline.runtime.stores.filesystems import (
    ChangedFile,
    check_no_password,
    check_unchanged,
    open_place,
    s3_options,
    shown,
    store_uri,
)


@pytest.mark.parametrize(
    ("text", "root", "path"),
    [
        ("s3a://lake/flows/a b.log", "s3a://lake/", "lake/flows/a b.log"),
        ("S3://lake/flows/", "s3://lake/", "lake/flows"),
        ("s3://lake", "s3://lake/", "lake"),
        ("gs://lake/f", "gs://lake/", "lake/f"),
        (
            "abfss://logs@it.dfs.core.windows.net/f",
            "abfss://logs@it.dfs.core.windows.net/",
            "logs/f",
        ),
        ("hdfs://name-1:8020/f/g", "hdfs://name-1:8020/", "/f/g"),
        ("hdfs:///f", "hdfs:///", "/f"),
    ],
)
def test_the_address_of_a_file(text, root, path):
    uri = store_uri(text)
    assert (uri.root, uri.path) == (root, path)
    assert path.startswith(uri.head.rstrip("/"))


@pytest.mark.parametrize("text", ["/a/b", "flows", "file:///a", "dbfs:/a", "wasbs://a@b/c"])
def test_other_places_are_those_of_spark(text):
    assert store_uri(text) is None


class TestEnvironment:
    def test_the_endpoint_of_s3_precedes_that_of_all_services(self):
        both = {"AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_S3": "https://b:2"}
        assert s3_options(both)["endpoint_override"] == "b:2"
        assert s3_options(both)["scheme"] == "https"

    def test_the_region_is_that_of_the_environment(self):
        assert s3_options({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "x"}) == {
            "region": "eu-west-1"
        }
        assert s3_options({"AWS_DEFAULT_REGION": "eu-west-2"}) == {"region": "eu-west-2"}
        assert s3_options({"AWS_ENDPOINT_URL": "http://a:1"})["region"] == "us-east-1"

    @pytest.mark.parametrize("url", ["10.0.0.5:9000", "ftp://a", "http://", "http://key:secret@a"])
    def test_an_endpoint_that_is_no_url_is_rejected(self, url):
        with pytest.raises(OSError, match="invalid AWS_ENDPOINT_URL: expected http") as caught:
            s3_options({"AWS_ENDPOINT_URL": url})
        assert "secret" not in str(caught.value)

    def test_spark_has_the_same_endpoint_and_no_credentials(self):
        environment = {"AWS_ENDPOINT_URL": "http://a:1", "AWS_SECRET_ACCESS_KEY": "hush-hush"}
        conf = store_settings(environment)
        assert conf["spark.hadoop.fs.s3a.endpoint"] == "http://a:1"
        assert conf["spark.hadoop.fs.s3a.path.style.access"] == "true"
        assert "hush-hush" not in str(conf)
        assert "spark.hadoop.fs.s3a.endpoint" not in store_settings({})

    def test_no_message_has_a_secret(self):
        environment = {"AWS_SECRET_ACCESS_KEY": "hush-hush", "AWS_SESSION_TOKEN": "token"}
        error = OSError("no: hush-hush, token (Request ID: 7)\nmore")
        assert shown(error, environment) == "no: ***, ***"
        assert shown(OSError("no"), {"AWS_SESSION_TOKEN": ""}) == "no"


@pytest.mark.parametrize(
    "uri", ["s3a://key:canary@lake/flows", "s3://KEY:abc/canary@logs/vpc", "s3://canary@lake/a"]
)
def test_credentials_in_a_uri_are_rejected_and_not_shown(uri):
    with pytest.raises(InvalidFlows, match="expected a URI without a user name") as caught:
        check_no_password("--flows", ["flows", uri], InvalidFlows)
    assert "canary" not in f"{caught.value.as_dict()} {caught.value.hint}"


def test_a_container_and_a_path_are_no_credentials():
    check_no_password("--flows", ["abfss://logs@account/a:b@c", "/a:b@c"], InvalidFlows)


def test_a_file_of_this_machine_is_opened(tmp_path):
    (tmp_path / "a.log").write_bytes(b"content")
    with open_place(str(tmp_path / "a.log")) as file:
        file.seek(3)
        assert file.read(4) == b"tent"


def test_a_file_that_changes_after_it_was_listed_is_rejected(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"content")
    check_unchanged(str(path), 7, None)
    os.truncate(path, 5)
    with pytest.raises(ChangedFile, match="had 7 bytes when it was listed, and has 5"):
        check_unchanged(str(path), 7, None)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        check_unchanged(str(path), 7, None)
