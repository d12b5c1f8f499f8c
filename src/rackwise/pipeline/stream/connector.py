"""The jars of a connector of Spark, such as that of Kafka, for a session that is to be started.

Goals, in order: a session that has a connector is left as it is; the version fits the Spark that
runs and exists; a failure is one line, after a bounded time, before Spark's Java is started.

```
jars of the conf, of spark-defaults.conf or of Spark's folder    used as they are
else   the version of Spark, from the name of its spark-core     4.2.1, Scala 2.13
       the version that the repository has (`maven.ask`)         4.2.0
       its jars (`maven.Ivy`)                                    -> spark.jars
```

What this does not do: change a session that runs. Its user gives `--packages` (`coordinate_for`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.pipeline.runtime.remotes import is_local
from rackwise.pipeline.runtime.session import REMOTE, SUBMITTED
from rackwise.pipeline.stream.maven import (
    REPOSITORIES,
    Ivy,
    Line,
    ask,
    repositories,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

JARS, PACKAGES = "spark.jars", "spark.jars.packages"
CLASS_PATH = "spark.driver.extraClassPath"


def connector_conf(
    conf: Mapping[str, str], *, master: str | None = None, kind: type[Line] = Line
) -> dict[str, str]:
    """The conf of a new session plus the jars of the connector, unless it has jars already.

    The session of spark-submit or of a Spark Connect server runs already, so nothing is added.
    Raises `ConnectorMissing`, `JavaMissing`.
    """
    import pyspark

    env = os.environ
    if names_server(master) or (master is None and SUBMITTED in env):
        return dict(conf)
    home = Path(env.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    jars = [path.name for path in sorted((home / "jars").glob("*.jar"))]
    every = {**_defaults(home, env), **conf}
    if _has_jars(every, jars, env, kind.artifact):
        return dict(conf)
    cores = [re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar) for jar in jars]
    line = next((kind(found[2], found[1]) for found in cores if found), None)
    if line is None:
        line = kind(pyspark.__version__, "2.13")
    return {**conf, JARS: ",".join(Ivy(line, home, jars, every, env).fetch())}


def names_server(master: str | None) -> bool:
    """Whether the environment names a Spark Connect server, whose session runs already."""
    return master is None and not is_local(os.environ.get(REMOTE) or "local")


def coordinate_for(spark: SparkSession, *, kind: type[Line] = Line) -> str:
    """The Maven coordinate of the connector for a session that runs, as a repository has it.

    If no repository answers, it has the version of the session.
    """
    scala = "java_method('scala.util.Properties', 'versionNumberString')"
    number = str(spark.sql(f"SELECT {scala}").collect()[0][0])
    line = kind(spark.version, ".".join(number.split(".")[:2]))
    places = repositories({REPOSITORIES: spark.conf.get(REPOSITORIES, None) or ""}, os.environ)
    version, _ = ask(line, places)
    return f"{line.group}:{line.module}:{version or line.version}"


def _has_jars(
    every: Mapping[str, str], jars: Sequence[str], env: Mapping[str, str], artifact: str
) -> bool:
    """Whether somebody has named jars for the session, or Spark's folder has the connector."""
    named = env.get("PYSPARK_SUBMIT_ARGS", "")
    if JARS in every or PACKAGES in every or "--jars" in named or "--packages" in named:
        return True
    for entry in every.get(CLASS_PATH, "").split(os.pathsep):
        path = Path(entry)
        names = [each.name for each in path.parent.glob("*.jar")] if path.name == "*" else []
        jars = [*jars, path.name, *names]
    return any(name.startswith(artifact) for name in jars)


def _defaults(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The conf of `spark-defaults.conf`."""
    path = Path(env.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    lines = [line.strip() for line in text.splitlines()]
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line[:1] != "#"]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}  # noqa: PLR2004 (key and value)
