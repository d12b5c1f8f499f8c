from rackwise.core.override import override


def test_override_returns_the_method():
    def method():
        return 1

    assert override(method) is method
