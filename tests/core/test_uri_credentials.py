"""Credentials in URIs: also those that a parser takes for a host and a path."""

from __future__ import annotations

import pytest

from rackwise.core.uri_credentials import has_credentials


@pytest.mark.parametrize(
    "uri",
    [
        "s3://AKIAEXAMPLE:abcdef+ghi@logs/vpc",
        "s3://AKIAEXAMPLE:abc/def+ghi@logs/vpc",
        "s3://AKIAEXAMPLE:/def@logs/vpc",
        "s3://AKIAEXAMPLE:12/34@logs/vpc",
        "S3A://AKIAEXAMPLE:abc?def@logs/vpc",
        "gs://user:abc#def@logs/vpc",
        "s3://AKIAEXAMPLE@logs",
        "https://user:abc/def@host/a",
        "hdfs://user@host:9000/a",
        "hdfs://[::1]:abc/def@host/a",
        "abfss://logs:key@account.dfs.core.windows.net/a",
        "abfss://logs:a/b@account.dfs.core.windows.net/a",
    ],
)
def test_a_user_in_a_uri_is_seen_also_where_the_secret_has_a_slash(uri):
    assert has_credentials(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://logs",
        "s3://logs/a:b@c",
        "abfss://logs@account.dfs.core.windows.net/a:b@c",
        "WASBS://logs@account:10000/a",
        "hdfs://host:9000/a@b",
        "hdfs:///a:b@c",
        "hdfs://[2001:db8::1]:9000/a",
        "hdfs://[2001:db8::1]/a",
        "/a:b@c",
        "flows/a:b",
        "",
    ],
)
def test_a_host_a_port_a_container_and_a_key_are_no_credentials(uri):
    assert not has_credentials(uri)
