"""IP addresses as integers: one long to look brokers up by, one to look subnets up by.

Goals, in order: a text is an address exactly when Python's `ipaddress` says so; every lookup is one
of integers; each distinct text of a task is parsed once, however many rows have it. Spark columns
are parsed without Python, see `address_columns`.

```
text                  ip                                        prefix
10.0.0.1              167772161, 0..2^32-1                      0
2001:db8:0:42::7      below -1, by 60 bits of its SHA-256       2001 0db8 0000 0042, a signed long
10.0.0.256            -1                                        0
```

The upper 64 bits of IPv6 are looked up in subnets. Its digest never equals a number of IPv4; two of
a million distinct addresses share a digest once in two million runs.

What this does not do: zone indices (`fe80::1%eth0`); networks, see `subnet_racks`.
"""

from __future__ import annotations

from collections import deque
from hashlib import sha256
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.override import override
from rackwise.core.subnets import ipv4
from rackwise.pipeline.columns.arrays import NO_NUMBER, filled, is_valid, read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray
    from pyspark.sql import Column

NONE = NO_NUMBER
"""The long of a text that is not an address."""
NO_TEXT, DASH, NO_ADDRESS_CODE, FIRST_CODE = range(4)
"""Codes of a null, of `-`, of other texts that are no addresses, and of the first address."""
MOST_CACHED = 2**20
"""Texts that a reader knows when it forgets them, before the next batch."""
MOST_DICTIONARIES = 8
"""Dictionaries whose numbers a reader keeps: two row groups of four columns."""
SPARSEST = 16
"""Maximum elements of a table per number in it. Denser numbers, such as broker ids, are looked up
in a table; sparser numbers are looked up by their hash."""
LARGEST_TABLE = 2**20
"""Maximum elements of a table, 8 bytes each. A larger one does not fit the cache of a processor."""
SLOTS = 8
"""Minimum slots of a hash table per number in it."""
NUMBER_BITS = 64
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, odd: close numbers get distant slots (Knuth, 6.4)."""
HALF_BITS = 64
"""Bits of the prefix of an IPv6 address."""
DIGEST_DIGITS = 15
"""Hexadecimal digits of the SHA-256 of an IPv6 address: 60 bits, so that `ip` fits into a long."""
SIGN = 1 << 63

AddressNumber: TypeAlias = "tuple[int, int]"
"""`ip` and `prefix` of a text."""

NO_ADDRESS: AddressNumber = (NONE, 0)


class AddressReader:
    """Reads texts as codes of addresses; each distinct text is parsed once.

    ```
    text      null   -   10.0.0.1   10.0.0.256   10.0.0.1
    code      0      1   3          2            3            ip  -1 -1 -1 167772161
    ```

    >>> import pyarrow as pa
    >>> reader = AddressReader()
    >>> codes = reader.codes(pa.array(["10.0.0.1", None, "10.0.0.256", "10.0.0.1"]))
    >>> codes, reader.ip[codes]
    (array([3, 0, 2, 3]), array([167772161,        -1,        -1, 167772161]))
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str | None, int] = {None: NO_TEXT, "-": DASH}
        self._ip, self._prefix = _Longs(), _Longs()
        for column, number in ((self._ip, NONE), (self._prefix, 0)):
            column.extend([number] * FIRST_CODE)
        self._read: deque[tuple[pa.Array, NDArray[np.int64]]] = deque(maxlen=MOST_DICTIONARIES)
        self._found: dict[str, _Longs] = {}

    def begin_batch(self) -> None:
        """Forget all texts if they are many; codes of earlier batches are void."""
        if len(self._known) > MOST_CACHED:
            self._forget()

    @property
    def ip(self) -> NDArray[np.int64]:
        """`ip` of each code, -1 for a text that is no address; shape (codes,)."""
        return self._ip.whole

    @property
    def prefix(self) -> NDArray[np.int64]:
        """`prefix` of each code; shape (codes,)."""
        return self._prefix.whole

    def codes(self, texts: pa.Array) -> NDArray[np.int64]:
        """The code of each text, shape (n,): NO_TEXT, DASH, NO_ADDRESS_CODE or greater."""
        coded = texts.dictionary_encode()
        own = self._of_dictionary(coded.dictionary)
        if not len(own):
            return np.zeros(len(texts), dtype=np.int64)
        codes = own.take(filled(coded.indices, 0))
        if coded.indices.null_count:
            codes *= is_valid(coded.indices)
        return codes

    def by_code(
        self,
        name: str,
        find: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """What `find` gives for `ip` and `prefix` of each code, found once; shape (codes,).

        `name` identifies what is found.
        """
        column = self._found.setdefault(name, _Longs())
        first = len(column.whole)
        if first < len(self.ip):
            column.extend(find(self.ip[first:], self.prefix[first:]))
        return column.whole

    def _of_dictionary(self, distinct: pa.Array) -> NDArray[np.int64]:
        """The code of each of some texts.

        The batches of a row group have one dictionary, and so have its columns in many logs.
        """
        for texts, codes in self._read:
            if texts.equals(distinct):
                return codes
        texts = read_texts(distinct)
        found = [*map(self._known.get, texts)]
        if None in found:
            self._add(text for text, code in zip(texts, found, strict=True) if code is None)
            found = [*map(self._known.get, texts)]
        codes = np.array(found, dtype=np.int64)
        self._read.append((distinct, codes))
        return codes

    def _add(self, texts: Iterable[str]) -> None:
        numbers: list[AddressNumber] = []
        first = len(self.ip)
        for text in dict.fromkeys(texts):
            number = address_number(text)
            is_address = number[0] != NONE
            self._known[text] = first + len(numbers) if is_address else NO_ADDRESS_CODE
            if is_address:
                numbers.append(number)
        for column, added in zip(
            (self._ip, self._prefix), zip(*numbers, strict=True), strict=False
        ):
            column.extend(added)


class _Longs:
    """Longs to which more are added, without a copy of all of them each time."""

    def __init__(self) -> None:
        self._data, self._count = np.zeros(0, dtype=np.int64), 0

    @property
    def whole(self) -> NDArray[np.int64]:
        """All of them."""
        return self._data[: self._count]

    def extend(self, numbers: ArrayLike) -> None:
        """Add some at the end."""
        added = np.asarray(numbers, dtype=np.int64)
        count = self._count + len(added)
        if count > len(self._data):
            self._data = np.concatenate([self.whole, np.zeros(count, dtype=np.int64)])
        self._data[self._count : count] = added
        self._count = count


def address_number(text: str) -> AddressNumber:
    """`ip` and `prefix` of one text, see the top of this file."""
    if ":" not in text:
        four = ipv4(text)
        return NO_ADDRESS if four is None else (four, 0)
    try:
        six = int(IPv6Address(text))
    except AddressValueError:
        return NO_ADDRESS
    if "%" in text:
        return NO_ADDRESS
    digest = sha256(f"{six:032x}".encode()).hexdigest()[:DIGEST_DIGITS]
    high = six >> HALF_BITS
    return NONE - 1 - int(digest, 16), high - 2 * SIGN if high >= SIGN else high


def keyed(ip: Column, small: Column, bits: int) -> Column:
    """One long of an address and a number of at most `bits` bits (up to 31), to join on.

    For IPv4 the two lie side by side. For IPv6 it is a digest of both, with the sign bit set.
    """
    beside = F.shiftleft(ip, bits).bitwiseOR(small.cast("long"))
    digest = F.xxhash64(ip, small.cast("long"))
    signed = digest.bitwiseOR(F.shiftleft(F.lit(1).cast("long"), 63))
    return F.when(ip >= 0, beside).when(ip < 0, signed)


def never_null(key: Column) -> Column:
    """A key for the right side of a left join; -1 instead of null.

    Spark filters nulls out of a nullable key first. It pushes that filter through all expressions
    above and so repeats each of them many times in the plan.
    """
    return F.coalesce(key, F.lit(-1).cast("long"))


class PairIndex:
    """Rows by an address or id and a number from 0, such as a port; exact, in two lookups."""

    def __init__(self, ips: Iterable[int], smalls: Iterable[int]) -> None:
        ips, smalls = (np.array(list(values), dtype=np.int64) for values in (ips, smalls))
        # Dense codes keep the keys of pairs small: code of an address * width + code of a number.
        distinct, codes = np.unique(ips, return_inverse=True)
        distinct_smalls, small_codes = np.unique(smalls, return_inverse=True)
        self._width = len(distinct_smalls) + 1  # one more, for numbers that are in no row
        keys = codes.astype(np.int64) * self._width + small_codes
        rows = np.argsort(keys)
        self._count = len(keys)
        self._ips = NumberLookup(distinct, np.arange(len(distinct)))
        self._smalls = NumberLookup(distinct_smalls, np.arange(len(distinct_smalls)))
        self._pairs = NumberLookup(keys[rows], rows)

    def __len__(self) -> int:
        return self._count

    def find(self, ips: NDArray[np.int64], smalls: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each pair, -1 where there is none; shape (n,)."""
        return self.find_coded(self.codes(ips), smalls)

    def codes(self, ips: NDArray[np.int64]) -> NDArray[np.int64]:
        """A code of each address or id, -1 where it is in no row; shape (n,)."""
        return self._ips.find(ips)

    def find_coded(self, codes: NDArray[np.int64], smalls: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same as `find`, for `codes` of addresses."""
        # A number in no row has the code -1, so that its key is that of the last, empty column of
        # the address before. An address in no row gives a key below 0.
        return self._pairs.find(codes * self._width + self._smalls.find(smalls))


class NumberLookup:
    """A value for each of some ascending numbers.

    Numbers that lie close together are looked up in a table, others by their hash. A slot of the
    hash table has one number. Where several numbers have one slot, those that are not in it are
    found by binary search:

    ```
    numbers  7 42 99      slot(7) = slot(99) = 0      slot  0  1  2  3
                                                      has   7  .  42 .     is shared  1 0 0 0
    ```
    """

    def __init__(self, ordered: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """`ordered`: ascending numbers; `values`: the value of each, from 0; same shape."""
        self._ordered, self._values, self._table = ordered, values, None
        spread = int(ordered[-1]) - int(ordered[0]) if len(ordered) else LARGEST_TABLE
        if spread < min(SPARSEST * len(ordered), LARGEST_TABLE):
            self._table = np.full(spread + 3, -1)  # one -1 at each end, for `clip` in `find`
            self._table[ordered - ordered[0] + 1] = values
            return
        bits = max((SLOTS * len(ordered) - 1).bit_length(), 1)
        self._shift = np.uint64(NUMBER_BITS - bits)
        slots = self._slots(ordered)
        self._is_shared = np.bincount(slots, minlength=1 << bits) > 1
        # An empty slot has the number 0 and the value of a number that is not there.
        self._keys, self._found = np.zeros(1 << bits, dtype=np.int64), np.full(1 << bits, -1)
        self._keys[slots], self._found[slots] = ordered, values

    @override
    def __reduce__(self) -> tuple[type, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Only the numbers are sent to workers; each builds its table."""
        return type(self), (self._ordered, self._values)

    def find(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The value of each number, -1 where there is none; shape (n,)."""
        if not len(self._ordered):
            return np.full(len(numbers), -1)
        if self._table is not None:
            before = self._ordered[:1] - 1
            found: NDArray[np.int64] = self._table.take(numbers - before, mode="clip")
            return found
        slots = self._slots(numbers)
        found = np.where(self._keys[slots] == numbers, self._found[slots], -1)
        others = np.flatnonzero(self._is_shared[slots] & (found < 0))
        if len(others):
            found[others] = self._search(numbers[others])
        return found

    def _search(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        places = np.minimum(np.searchsorted(self._ordered, numbers), len(self._ordered) - 1)
        return np.where(self._ordered[places] == numbers, self._values[places], -1)

    def _slots(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slot of each number: the leading bits of its product with `HASH_FACTOR`."""
        product = numbers.astype(np.int64, copy=False).view(np.uint64) * HASH_FACTOR
        return (product >> self._shift).view(np.int64)
