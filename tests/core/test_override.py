from rackwise.core.override import override


def test_a_mark_and_nothing_else():
    def method():
        return 1

    assert override(method) is method
