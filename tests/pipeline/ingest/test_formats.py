"""The registry of flow formats, which the command line, the generator and the checks use."""

import subprocess
import sys

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FlowFormat
from rackwise.pipeline.ingest.formats import DEFAULT, FORMATS, input_format


def test_names_are_those_of_the_command_line():
    assert [*FORMATS] == ["vpc", "canonical", "request-log", "gcp", "azure", "tgw", "obi"]
    assert all(each.name == name for name, each in FORMATS.items())
    assert DEFAULT in FORMATS


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InvalidConfig, match="expected vpc, canonical, request-log, gcp, azure, tgw or obi, got csv"
    ):
        input_format("csv")


@pytest.mark.parametrize("generated", FlowFormat)
def test_exactly_one_format_reads_each_generated_format(generated):
    assert len([each for each in FORMATS.values() if generated in each.generated_as]) == 1


def test_each_reason_has_a_sentence():
    for each in FORMATS.values():
        assert all(text.endswith(".") for text in each.reasons.values())


def test_the_registry_loads_without_spark():
    code = "import sys, rackwise.pipeline.ingest.formats; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
