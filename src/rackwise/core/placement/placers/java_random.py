"""Java's random numbers: `java.util.Random`, and the generator of Kafka's own placement tests.

Goal: a seed gives exactly the integers that Kafka draws. Then tests can compare placers with Kafka
row by row, and can use the expected rows of Kafka's own tests.

```
JavaRandom(42)   s = 42 ^ 0x5DEECE66D
                 next(bits): s = (s * 0x5DEECE66D + 11) mod 2^48, its highest bits
MockRandom(17)   s = 17
                 next(bits): s = (s * 2862933555777941757 + 3037000493) mod 2^64, its highest bits
```

A draw below b uses r = next(31). If b is a power of two, the result is the highest bits of b * r.
Otherwise the result is r mod b, and r is drawn again if it lies in the last, incomplete run of b.
From 2^31 on, a draw uses two words, as in `nextLong(bound)` of Java 17.

The random numbers are not of good quality. A few draws reveal the state of either generator.

Source: `java.util.Random`; `MockRandom` in Kafka's tests of its placers.
"""

from __future__ import annotations

from rackwise.core.errors import InvalidConfig

MULTIPLIER = 0x5DEECE66D
INCREMENT = 11
STATE_BITS = 48
MOCK_MULTIPLIER = 2862933555777941757
MOCK_INCREMENT = 3037000493
MOCK_STATE_BITS = 64
INT_END = 1 << 31
LONG_END = 1 << 63


class JavaRandom:
    """`java.util.Random(seed)`: `randrange(b)` is `nextInt(b)`, from 2^31 on `nextLong(b)`.

    >>> rng = JavaRandom(42)
    >>> [rng.randrange(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    __slots__ = ("_state",)

    _multiplier, _increment, _bits = MULTIPLIER, INCREMENT, STATE_BITS

    def __init__(self, seed: int) -> None:
        self._state: int = (seed ^ MULTIPLIER) & ((1 << STATE_BITS) - 1)

    def randrange(self, stop: int, /) -> int:
        """An integer of 0 .. stop - 1. Raises `InvalidConfig` for a stop outside 1 .. 2^63 - 1."""
        if not 1 <= stop < LONG_END:
            raise InvalidConfig(
                f"invalid stop: expected 1 to 2^63 - 1, got {stop}",
                wanted="1 to 2^63 - 1",
                had=stop,
            )
        if stop >= INT_END:
            return self._long(stop)
        drawn = self._next(31)
        if stop & (stop - 1) == 0:
            return (stop * drawn) >> 31
        while drawn - drawn % stop + stop > INT_END:
            drawn = self._next(31)
        return drawn % stop

    def _next(self, bits: int) -> int:
        size = self._bits
        self._state = (self._state * self._multiplier + self._increment) & ((1 << size) - 1)
        return self._state >> (size - bits)

    def _word(self) -> int:
        """`nextLong()` modulo 2^64: the lower half is signed before it is added."""
        high, low = self._next(32), self._next(32)
        return ((high << 32) + (low if low < INT_END else low - (1 << 32))) & ((1 << 64) - 1)

    def _long(self, stop: int) -> int:
        if stop & (stop - 1) == 0:
            return self._word() & (stop - 1)
        drawn = self._word() >> 1
        while drawn - drawn % stop + stop > LONG_END:
            drawn = self._word() >> 1
        return drawn % stop


class MockRandom(JavaRandom):
    """Kafka's `MockRandom`: the same draws from another generator, seeded with its state.

    >>> rng = MockRandom()
    >>> [rng.randrange(4) for _ in range(5)]
    [2, 2, 0, 3, 0]
    """

    __slots__ = ()

    _multiplier, _increment, _bits = MOCK_MULTIPLIER, MOCK_INCREMENT, MOCK_STATE_BITS

    def __init__(self, state: int = 17) -> None:
        super().__init__(0)
        self._state = state & ((1 << MOCK_STATE_BITS) - 1)
