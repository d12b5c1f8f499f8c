"""Opens files of object stores and HDFS in a process that has the credentials, with pyarrow.

Goals, in order: a file opens with what the environment of the process has, and nothing else; no
secret leaves the process; a store that does not answer is an error within seconds.

```
scheme             file system         credentials
s3 s3a s3n         S3                  AWS_* variables, a profile, the role of the machine or pod
gs                 Google Cloud        the application default credentials
abfs abfss         Azure, Data Lake 2  AZURE_STORAGE_KEY, else the default chain of Azure
hdfs               HDFS                those of libhdfs, which must be installed
/path              this machine        -
```

The tasks of Spark open flow files with this module, so the credentials are those of the executors.
Neither Spark's plan nor a frame has them. `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` names another
server than that of AWS, with its scheme: `http://10.0.0.5:9000`. The region is `AWS_REGION`, else
`AWS_DEFAULT_REGION`, else that of the bucket.

Limits: a file is as it was listed if its size and the second of its last change are equal. A key
with a `//`, or one that ends in `/`, is not a file.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pyarrow import fs

from rackwise.core.uri_credentials import has_credentials
from rackwise.pipeline.runtime.store_settings import s3_endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from rackwise.core.errors import RackwiseError

S3 = ("s3", "s3a", "s3n")
GOOGLE = ("gs",)
AZURE = ("abfs", "abfss")
HDFS = ("hdfs",)
SCHEMES = (*S3, *GOOGLE, *AZURE, *HDFS)
"""The schemes of stores that this module opens."""
CONNECT_S = 5
"""Seconds within which a connection must be established."""
ANSWER_S = 30
"""Seconds within which a store must answer a request."""
ATTEMPTS = 3
"""Attempts of a request."""
SECRETS = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    *("AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET"),
)
"""Variables whose values no message contains."""
LONGEST_REASON = 300
"""Characters of the reason of an error."""
_SHORTEST_SECRET = 4


class ChangedFile(OSError):
    """A file that is not as it was listed, or that changes while it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUri:
    """The address of a file or folder on a store: `scheme://authority/key`."""

    scheme: str
    authority: str
    """A bucket; for Azure `container@host`, for HDFS `host:port`."""
    key: str
    """Without a slash at the start."""

    @property
    def path(self) -> str:
        """The path for pyarrow."""
        return f"{self.head}{self.key}".rstrip("/")

    @property
    def head(self) -> str:
        """What precedes the key in `path`."""
        return "/" if self.scheme in HDFS else f"{self.authority.partition('@')[0]}/"

    @property
    def root(self) -> str:
        """What precedes the key."""
        return f"{self.scheme}://{self.authority}/"


def store_uri(text: str) -> StoreUri | None:
    """The parts of a URI of a store; None for a path and for a scheme that is not in `SCHEMES`.

    >>> store_uri("s3a://lake/flows/1.log").path
    'lake/flows/1.log'
    >>> store_uri("abfss://logs@account.dfs.core.windows.net/a").path
    'logs/a'
    >>> store_uri("file:///a") is None
    True
    """
    scheme, mark, rest = text.partition("://")
    if not mark or scheme.lower() not in SCHEMES:
        return None
    authority, _, key = rest.partition("/")
    return StoreUri(scheme=scheme.lower(), authority=authority, key=key.lstrip("/"))


def check_no_password(option: str, places: Iterable[str], error: type[RackwiseError]) -> None:
    """Raise the error, without the place, where a URI names a user, with or without a password."""
    if any(map(has_credentials, places)):
        raise error(
            f"invalid {option}: expected a URI without a user name and password, got one with them",
            wanted="a URI without a password",
            hint="set the credentials in the environment of Spark, such as AWS_* variables",
        )


def s3_options(environment: Mapping[str, str]) -> dict[str, Any]:
    """The options of pyarrow's S3 that the environment decides, apart from credentials.

    Raises `OSError` for an endpoint that is no URL.

    >>> s3_options({"AWS_ENDPOINT_URL": "http://10.0.0.5:9000", "AWS_REGION": "eu-west-1"})
    {'endpoint_override': '10.0.0.5:9000', 'scheme': 'http', 'region': 'eu-west-1'}
    >>> s3_options({})
    {}
    """
    options = {}
    if endpoint := s3_endpoint(environment):
        parts = urlsplit(endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise OSError(
                "invalid AWS_ENDPOINT_URL: expected http://HOST:PORT or https://HOST:PORT"
            )
        options = {
            "endpoint_override": f"{parts.netloc}{parts.path}".rstrip("/"),
            "scheme": parts.scheme,
        }
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if region or options:
        options["region"] = region or "us-east-1"
    return options


@lru_cache(maxsize=64)
def filesystem(scheme: str, authority: str) -> fs.FileSystem:
    """The file system of a store, once per process. Raises `OSError`, or `ImportError` without it.

    A worker of Spark is a fork, so that nothing may be opened before it begins.
    """
    if scheme in S3:
        options = s3_options(os.environ)
        if not options:
            options = _region_of(authority)
        return fs.S3FileSystem(
            connect_timeout=CONNECT_S,
            request_timeout=ANSWER_S,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            **options,
        )
    if scheme in GOOGLE:
        return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=CONNECT_S * ATTEMPTS))
    if scheme in AZURE:
        host = authority.rpartition("@")[2]
        return fs.AzureFileSystem(
            account_name=host.partition(".")[0],
            account_key=os.environ.get("AZURE_STORAGE_KEY"),
        )
    host, _, port = authority.partition(":")
    return fs.HadoopFileSystem(host or "default", int(port or 0))


def _region_of(bucket: str) -> dict[str, Any]:
    try:
        return {"region": fs.resolve_s3_region(bucket)}
    except OSError:
        return {}  # then the profile decides, or AWS answers with an error


def opened(uri: StoreUri) -> fs.FileSystem:
    """The file system of a URI. Raises as `filesystem` does."""
    return filesystem(uri.scheme, uri.authority)


@contextmanager
def open_place(place: str) -> Iterator[BinaryIO]:
    """A file to read and seek: a path of this machine, or a URI of a store. Raises `OSError`."""
    uri = store_uri(place)
    if uri is None:
        with Path(place).open("rb") as file:
            yield file
    else:
        with opened(uri).open_input_file(uri.path) as file:
            yield file


def check_unchanged(place: str, size: int, modified_s: int | None) -> None:
    """Raise `ChangedFile` if a file is not as it was listed, `OSError` if it is not there.

    `modified_s`: the second of its last change; None does not compare it.
    """
    uri = store_uri(place)
    if uri is None:
        now, at = Path(place).stat().st_size, modified_s
    else:
        (info,) = opened(uri).get_file_info([uri.path])
        if info.type is not fs.FileType.File:
            raise ChangedFile("the file was deleted after it was listed")
        now, at = info.size, modified_second(info)
    if now != size:
        raise ChangedFile(f"the file had {size} bytes when it was listed, and has {now}")
    if modified_s is not None and at != modified_s:
        raise ChangedFile("the file was replaced after it was listed")


def modified_second(info: fs.FileInfo) -> int:
    """The second of the last change of a file, since 1970; 0 if the store does not tell it."""
    return int((info.mtime_ns or 0) // 10**9)


def shown(error: Exception, environment: Mapping[str, str]) -> str:
    """The reason of an error in one line, without the secrets of the environment."""
    text = str(error).strip().partition("\n")[0].partition(" (Request ID:")[0]
    for name in SECRETS:
        value = environment.get(name, "")
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text[:LONGEST_REASON] or type(error).__name__
