"""Settings with which Spark writes to object stores, from the environment of the driver.

Credentials are never among them: Hadoop's own providers find those.

```
s3://       the file system of s3a://, because AWS writes s3:// where Hadoop says s3a://
attempts    3, each connection within 5 s; by itself, Hadoop tries for many minutes
path style  with AWS_ENDPOINT_URL: other servers have no host name for each bucket
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_HADOOP = "spark.hadoop.fs"


def s3_endpoint(environment: Mapping[str, str]) -> str | None:
    """The URL of another server than that of AWS; None if the environment names none.

    >>> s3_endpoint({"AWS_ENDPOINT_URL": "http://10.0.0.5:9000"})
    'http://10.0.0.5:9000'
    """
    named = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    return named or None


def store_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The conf of a session that writes to stores: key -> value."""
    endpoint = s3_endpoint(environment)
    own = {f"{_HADOOP}.s3a.endpoint": endpoint, f"{_HADOOP}.s3a.path.style.access": "true"}
    return {
        f"{_HADOOP}.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        f"{_HADOOP}.s3a.attempts.maximum": "3",
        f"{_HADOOP}.s3a.retry.limit": "3",
        f"{_HADOOP}.s3a.connection.establish.timeout": "5s",
        **({key: value for key, value in own.items() if value} if endpoint else {}),
    }
