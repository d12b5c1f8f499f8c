"""Parquet files with damage where a reader trusts them: footers, page headers, pages, lengths.

A footer and a page header are structs of Thrift's compact protocol. They are decoded, changed and
encoded again, so that a lie arrives at the reader behind the protocol. Offsets behind a page header
that became longer or shorter are moved, so that all other pages stay sound.

```
PAR1  header page  header page ..  footer  length of footer  PAR1
```
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"PAR1"
TAIL = 8
"""Bytes of the length of the footer and of the last `MAGIC`."""
TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = (SHORT, INT, LONG)
ROW_GROUPS, COLUMNS, METADATA = 4, 1, 3
"""Ids of fields of a footer, a row group and a column."""
COMPRESSED_BYTES = 7
OFFSETS = (9, 10, 11)
"""Ids of fields of the metadata of a column: the first data, index and dictionary page."""
PAGE_BYTES = 3
PATH, STATISTICS, MAXIMUM = 3, 12, 5
LIES = (0, -1, 1, 2, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))


class Compact:
    """Reads values of Thrift's compact protocol."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def integer(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def value(self, kind: int):
        """An integer, bytes, a list as `[kind, values]`, a struct as `[[id, kind, value], ..]`."""
        if kind in INTEGERS:
            return self.integer()
        if kind == STRUCT:
            return self.struct()
        if kind == BINARY:
            return self.take(self.varint())
        if kind in {LIST, SET}:
            head = self.byte()
            count, inner = head >> 4, head & 15
            count = self.varint() if count == 15 else count
            return [inner, [self.value(inner) for _ in range(count)]]
        return self.byte() if kind in {BYTE, TRUE, FALSE} else self.take(8)

    def struct(self) -> list:
        fields, last = [], 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else self.integer()
            kind = head & 15
            fields.append([last, kind, None if kind in {TRUE, FALSE} else self.value(kind)])
        return fields


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def integer(number: int) -> bytes:
    return varint(number << 1 ^ number >> 63)


def encoded(kind: int, value) -> bytes:
    """The bytes of what `Compact.value` returns."""
    if kind in INTEGERS:
        return integer(value)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind in {LIST, SET}:
        inner, values = value
        head = bytes([0xF0 | inner]) + varint(len(values))
        return head + b"".join(encoded(inner, each) for each in values)
    if kind != STRUCT:
        return value if isinstance(value, bytes) else bytes([value & 255])
    made, last = b"", 0
    for number, inner, each in value:
        step = number - last
        short = 0 < step < 16
        made += bytes([step << 4 | inner]) if short else bytes([inner]) + integer(number)
        made += b"" if inner in {TRUE, FALSE} else encoded(inner, each)
        last = number
    return made + b"\0"


def field(struct: list, number: int):
    """The value of a field; None without it."""
    return next((value for own, _, value in struct if own == number), None)


def footer_of(data: bytes) -> list:
    """The footer of a sound file."""
    length = int.from_bytes(data[-TAIL:-4], "little")
    return Compact(data, len(data) - TAIL - length).struct()


def body_of(data: bytes) -> bytes:
    """The content of a sound file before its footer."""
    return data[: len(data) - TAIL - int.from_bytes(data[-TAIL:-4], "little")]


def with_footer(body: bytes, footer: list) -> bytes:
    """A file of this body and footer."""
    content = encoded(STRUCT, footer)
    return body + content + len(content).to_bytes(4, "little") + MAGIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a sound file."""

    header: list
    start: int
    """Offset of the header."""
    content: int
    """Offset of the content."""
    end: int


def columns_of(footer: list) -> list[list]:
    """The metadata of each column of each row group."""
    groups = field(footer, ROW_GROUPS)[1]
    return [field(column, METADATA) for group in groups for column in field(group, COLUMNS)[1]]


def pages_of(data: bytes) -> list[Page]:
    """All pages of a sound file."""
    found = []
    for column in columns_of(footer_of(data)):
        at = min(offset for offset in (field(column, own) for own in OFFSETS) if offset)
        end = at + field(column, COMPRESSED_BYTES)
        while at < end:
            reader = Compact(data, at)
            header = reader.struct()
            last = reader.at + field(header, PAGE_BYTES)
            found.append(Page(header=header, start=at, content=reader.at, end=last))
            at = last
    return found


def leaves(value, kind=STRUCT, path=""):
    """Each integer and text of a struct: its path of field ids, and the list and index it is in."""
    if kind == STRUCT:
        for entry in value:
            own = f"{path}.{entry[0]}"
            if entry[1] in {*INTEGERS, BINARY}:
                yield own, entry, 2
            elif entry[1] in {LIST, SET, STRUCT}:
                yield from leaves(entry[2], entry[1], own)
    else:
        inner, values = value
        for index, each in enumerate(values):
            if inner in {*INTEGERS, BINARY}:
                yield f"{path}[]", values, index
            elif inner in {LIST, SET, STRUCT}:
                yield from leaves(each, inner, f"{path}[]")


def lie(struct: list, rng: Random) -> str:
    """Change one value of a struct, each path as likely as any other; says which."""
    found: dict[str, list] = {}
    for path, place, index in leaves(struct):
        found.setdefault(path, []).append((place, index))
    path = rng.choice(sorted(found))
    place, index = rng.choice(found[path])
    had = place[index]
    if isinstance(had, bytes):
        place[index] = rng.choice([b"", b"\xff\xfe", had + b"x", had * 2, b"\0" * 9, had[:1]])
    else:
        near = [had + 1, had - 1, -had, had * 2, had + 2**31, rng.randrange(12)]
        place[index] = rng.choice([*LIES, *near, *near])
    return f"{path} {str(had)[:20]} -> {str(place[index])[:30]}"


def lying_footer(data: bytes, rng: Random) -> tuple[str, bytes]:
    footer = footer_of(data)
    said = [lie(footer, rng) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    return f"footer {', '.join(said)}", with_footer(body_of(data), footer)


def lying_page(data: bytes, rng: Random) -> tuple[str, bytes]:
    page = rng.choice(pages_of(data))
    said = [lie(page.header, rng) for _ in range(rng.choice([1, 1, 2]))]
    content = encoded(STRUCT, page.header)
    grown = len(content) - (page.content - page.start)
    footer = footer_of(data)
    for column in columns_of(footer):
        first = min(offset for offset in (field(column, own) for own in OFFSETS) if offset)
        is_own = first <= page.start < first + field(column, COMPRESSED_BYTES)
        for entry in column:
            is_moved = entry[0] in OFFSETS and entry[2] > page.start
            if is_moved or (entry[0] == COMPRESSED_BYTES and is_own):
                entry[2] += grown
    body = body_of(data)
    body = body[: page.start] + content + body[page.content :]
    return f"page {', '.join(said)}", with_footer(body, footer)


def flipped(data: bytes, rng: Random) -> tuple[str, bytes]:
    """Some bytes of one page, of one page header or of the footer."""
    page = rng.choice(pages_of(data))
    body = len(body_of(data))
    spans = [(page.start, page.content), (page.content, page.end), (page.content, page.end)]
    start, end = rng.choice([*spans, (body, len(data) - TAIL)])
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        at = rng.randrange(start, max(end, start + 1))
        made[at] = rng.choice([made[at] ^ 1 << rng.randrange(8), 0, 0xFF, rng.randrange(256)])
    return f"flipped in {start}..{end}", bytes(made)


def lying_length(data: bytes, rng: Random) -> tuple[str, bytes]:
    real = len(data) - TAIL - len(body_of(data))
    length = rng.choice(
        [0, 1, real - 1, real + 1, real * 2, len(data), 2**31 - 1, 2**31, 2**32 - 1]
    )
    return f"footer length {length}", data[:-TAIL] + length.to_bytes(4, "little") + MAGIC


def cut(data: bytes, rng: Random) -> tuple[str, bytes]:
    """A download that ended early; some programs leave zeros, or the end of the file, behind."""
    at = rng.randrange(4, len(data))
    rest = rng.choice([b"", b"", bytes(len(data) - at), data[-rng.randrange(1, 200) :]])
    return f"cut at {at}", data[:at] + rest


def shuffled(data: bytes, rng: Random) -> tuple[str, bytes]:
    """Row groups and columns that are swapped, repeated, or lost."""
    footer = footer_of(data)
    groups = field(footer, ROW_GROUPS)[1]
    kind = rng.choice(["swap", "repeat", "lose", "lose group", "lose field", "types"])
    group = rng.choice(groups)
    columns = field(group, COLUMNS)[1]
    if kind == "swap":
        one, other = rng.randrange(len(columns)), rng.randrange(len(columns))
        columns[one], columns[other] = columns[other], columns[one]
    elif kind == "repeat":
        groups.extend(groups * rng.choice([1, 50, 300]))
    elif kind == "lose":
        columns.pop(rng.randrange(len(columns)))
    elif kind == "lose group":
        groups.clear()
    elif kind == "lose field":
        victim = rng.choice([footer, group, *columns, *(field(each, METADATA) for each in columns)])
        victim.pop(rng.randrange(len(victim)))
    else:
        elements = field(footer, 2)[1]
        chosen = rng.choice(elements)
        chosen[:] = [list(each) for each in rng.choice(elements)]
    return f"footer {kind}", with_footer(body_of(data), footer)


DAMAGES = (
    *(lying_footer, lying_footer, lying_page, lying_page, lying_page),
    *(flipped, flipped, lying_length, cut, shuffled),
)


def bad_pages(file: Path) -> None:
    """Overwrite the header of every page of a file."""
    data = bytearray(file.read_bytes())
    for page in pages_of(bytes(data)):
        data[page.start : page.start + 8] = b"\xff" * 8
    file.write_bytes(data)


def with_short_maximum(data: bytes, name: str) -> bytes:
    """A file whose greatest value of a column of numbers has one byte: pyarrow 26 aborts."""
    footer = footer_of(data)
    for column in columns_of(footer):
        if field(column, PATH)[1] == [name.encode()]:
            for entry in field(column, STATISTICS):
                if entry[0] == MAXIMUM:
                    entry[2] = b"?"
    return with_footer(body_of(data), footer)


def damaged(data: bytes, seed: object) -> tuple[str, bytes]:
    """What was done to a sound file, and the damaged one; the same for the same seed."""
    rng = Random(str(seed))
    return rng.choice(DAMAGES)(data, rng)
