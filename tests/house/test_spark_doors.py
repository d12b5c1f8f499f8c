"""The pipeline runs the same on classic Spark and on Connect: it uses nothing that either lacks."""

import ast
from pathlib import Path

import pytest

PIPELINE = Path(__file__).parents[2] / "src" / "rackwise" / "pipeline"
CLASSIC_ALONE = {"sparkContext", "_sc", "rdd", "_jvm", "_jsc", "_jsparkSession", "_jdf", "_jc"}
CLASSIC_ALONE |= {"SparkContext", "newSession", "_jmap", "_jseq", "_jsc", "_jreader", "_gateway"}
ROW_BY_ROW = {"udf", "udtf", "arrow_udtf", "pandas_udf", "foreach", "toLocalIterator"}
ROW_BY_ROW |= {
    "UserDefinedFunction",
    "mapInPandas",
    "applyInPandas",
    "toPandas",
    "registerFunction",
}

OWN_JAVA = {"runtime/class_archive.py", "runtime/running.py"}
"""One ends the Java of a process that runs one command, and Connect has no Java of its own. The
other asks the driver how far its jobs are, and a Connect server where there is one."""


def used(text):
    """The names that are read, called or imported."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]


@pytest.mark.parametrize(
    "path", sorted(PIPELINE.rglob("*.py")), ids=lambda path: str(path.relative_to(PIPELINE))
)
def test_nothing_touches_what_connect_lacks_or_what_goes_row_by_row(path):
    found = set(used(path.read_text(encoding="utf-8")))
    is_own = str(path.relative_to(PIPELINE)) in OWN_JAVA
    assert found & (ROW_BY_ROW if is_own else CLASSIC_ALONE | ROW_BY_ROW) == set()


@pytest.mark.parametrize(
    "path", sorted(PIPELINE.rglob("*.py")), ids=lambda path: str(path.relative_to(PIPELINE))
)
def test_nothing_needs_a_spark_newer_than_4_0(path):
    """Arrow schemas come from `schemas.arrow_schema`, partitions from `tasks.in_own_partitions`."""
    text = path.read_text(encoding="utf-8")
    assert "repartitionById" not in text
    assert "import to_arrow_schema" not in text or path == PIPELINE / "schemas.py"


@pytest.mark.parametrize(
    "text",
    [
        "spark.sparkContext",
        "df.rdd.map(f)",
        "from pyspark.sql.functions import udf",
        "F.pandas_udf(f, 'long')",
        "from pyspark import SparkContext",
    ],
)
def test_it_would_be_seen(text):
    assert set(used(text)) & (CLASSIC_ALONE | ROW_BY_ROW)
