import pytest

from rackwise.core.model import Topic


@pytest.mark.parametrize(
    ("policy", "is_compacted"),
    [(None, False), ("delete", False), ("compact", True), ("compact,delete", True)],
)
def test_compacted_topics(policy, is_compacted):
    assert Topic(name="t", cleanup_policy=policy).is_compacted is is_compacted
