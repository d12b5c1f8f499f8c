r"""Reads flow logs as text in a task: bytes of a file in, batches of rows out.

Goals, in order: each line is what Spark's reader makes of it, and is read once; a task keeps a
block of lines in memory, whatever the size of the file or of a line; no line takes a step of
Python.

```
bytes        cut into blocks at ends of lines; `\r\n` and `\r` end a line, too
a block      columns, by the CSV reader of Arrow, if it is ASCII and each line has all values
another      positions of line feeds and spaces, as numpy arrays of all its lines
             blank                      no row
             a header                   the first one of a file names its columns; others are bad
             too long, another charset, more or fewer values than the header      bad rows
             the others                 columns, by the CSV reader
```

Columns of numbers are integers in blocks where all of them are numbers or missing, and texts in
others. What is a number is the rule of `vpc_rows`. Arrow also reads `0x1f`, `-0` and tabs beside
digits, so blocks that may have these are texts.

A part of a file has the lines that begin in it:

```
            part 0 of 2            part 1 of 2
bytes       aaaa\nbbbbbb\ncc   |   cc\ndddd\n
lines       aaaa bbbbbb cccc       dddd
```

A gzip file is one part. It counts only if it is whole. So it is decompressed before its first row
is used: a small one once, in memory, a large one twice.

Limits: files of other compressions (Spark reads them); the numbers of lines in a file of several
parts (`text.with_line_numbers` finds them).
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import csv

from rackwise.pipeline.columns.arrays import cut_texts
from rackwise.pipeline.ingest.vpc_rows import MISSING
from rackwise.pipeline.runtime.stores.filesystems import ChangedFile, open_place
from rackwise.pipeline.schemas import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

LONGEST_LINE = 2**16
"""Bytes. A longer line is not a row of a flow log."""
FILE, LINE, CHARSET, COLUMNS, HEADER = (
    f"malformed:{what}" for what in ("file", "line", "charset", "columns", "header")
)
OF_FILE = 0
"""The `row_offset` of a row that represents a whole file."""
GZIP = ".gz"
OTHER_CODECS = (".bz2", ".deflate", ".lz4", ".lzo", ".snappy", ".xz", ".zst", ".zstd")
"""Ends of names of files that Spark decompresses, or that are no text at all."""
GZIP_WINDOW = 31
"""The `wbits` of zlib for a gzip header and the largest window."""
BLOCK = 2**23
"""Bytes that are read, or decompressed to, at a time: some 2^16 rows."""
CHUNK = 2**20
"""Bytes of a gzip file that are read at a time."""
HELD_BYTES = 2**26
"""Decompressed bytes up to which a gzip file stays in memory."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FAULTS = ("", COLUMNS, CHARSET, LINE, HEADER)
_CODES = pa.dictionary(pa.int32(), pa.string())
_MARKS = (b"srcaddr", b"dstaddr")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LINE_FEED, _SPACE, _FIRST_NOT_ASCII = 0x0A, 0x20, 0x80

_Chunks: TypeAlias = Callable[[], Iterator[bytes]]


class BrokenGzip(Exception):
    """A gzip file that is not a sequence of whole members and nothing else."""


class NoHeader(OSError):
    """A text file without a line that names columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHead:
    """What is found up to the header of a text file."""

    header: str | None = None
    """The first line that names columns."""
    first: str | None = None
    """The first line that is not blank, of a file without a header."""
    is_broken: bool = False
    """Whether it is a gzip file that cannot be decompressed so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A part of a flow log as text."""

    place: str
    """The path of the file, or its URI."""
    size: int
    """Bytes of the file when it was listed."""
    part: int = 0
    parts: int = 1

    def batches(
        self, needed: Sequence[str], coded: Sequence[str], numbers: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """The rows: columns of `needed` that the file has, `malformed`, `raw` and `row_offset`.

        `coded`: columns that are codes of their texts. `numbers`: columns that may be integers
        instead of texts. The line in `raw` may end with its line feed. A gzip file that is not
        whole is one row. Raises `OSError`.
        """
        try:
            content = self._content()
        except BrokenGzip:
            yield _faulty([FILE], [None], [OF_FILE])
            return
        earlier = _first_header(content.before())
        header = earlier or _first_header(content.rest())
        if header is None:
            if any(block.strip(b" \n") for block in blocks(content.own())):
                raise NoHeader("the file has lines, and none of them names columns")
            return
        names = column_names(header.decode(errors="replace"))
        columns = _Columns(
            names=names,
            needed=frozenset(needed),
            coded=frozenset(coded),
            numbers=frozenset(numbers),
        )
        has_header, first = earlier is not None, 1
        for block in blocks(content.own()):
            lines = _Lines.of(block)
            parts = [(0, lines)]
            if not has_header and (place := next(lines.headers(), None)) is not None:
                parts, has_header = lines.around(place), True
            for at, part in parts:
                offsets = np.arange(first + at, first + at + len(part))
                yield from part.batches(columns, offsets if self.parts == 1 else None)
            first += len(lines)

    def _content(self) -> _Content:
        if self.place.endswith(GZIP):
            whole = _whole_gzip(self.place)
            return _Content(before=partial(iter, ()), own=whole, rest=whole)
        begin, end = (
            _line_start(self, self.size * part // self.parts) for part in (self.part, self.part + 1)
        )
        return _Content(
            before=partial(_bytes, self.place, 0, begin),
            own=partial(_bytes, self.place, begin, end),
            rest=partial(_bytes, self.place, begin),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """Bytes of a file as chunks, from the start each time."""

    before: _Chunks
    """What precedes the lines of the part."""
    own: _Chunks
    """The lines of the part."""
    rest: _Chunks
    """These and what follows."""


def column_names(header: str) -> tuple[str, ...]:
    """The columns of a header line.

    >>> column_names("version account-id srcaddr")
    ('version', 'account_id', 'srcaddr')
    """
    return tuple(name.replace("-", "_").lower() for name in header.split(" "))


def is_header(line: bytes) -> bool:
    """Whether a line names columns."""
    return len(line) <= LONGEST_LINE and all(mark in line for mark in _MARKS)


def text_head(place: str) -> TextHead:
    """What begins a text file. Raises `OSError`."""
    first = None
    reads = _gzip_bytes if place.endswith(GZIP) else _bytes
    content = reads(place, step=LONGEST_LINE)
    try:
        for block in blocks(content):
            first = first or next((one for one in block.split(b"\n") if one.strip(b" ")), None)
            if (header := header_in(block)) is not None:
                return TextHead(header=header.decode(errors="replace"))
    except BrokenGzip:
        return TextHead(is_broken=True)
    return TextHead(first=None if first is None else first.decode(errors="replace"))


def is_whole_gzip(content: memoryview) -> bool:
    """Whether the content consists of whole gzip members and nothing else."""
    chunks = (bytes(content[start : start + CHUNK]) for start in range(0, len(content), CHUNK))
    try:
        for _ in _decompressed(chunks):
            pass
    except BrokenGzip:
        return False
    return True


def blocks(content: Iterable[bytes]) -> Iterator[bytes]:
    r"""Whole lines, each with a line feed at its end; of a line that is too long, its first bytes.

    >>> [*blocks([b"a\r", b"\nbc", b"\rd"])]
    [b'a\n', b'bc\n', b'd\n']
    """
    rest = b""
    for chunk in content:
        text, before = chunk, rest
        if b"\r" in chunk or rest.endswith(b"\r"):
            text, before = rest + chunk, b""
        held = b"\r" if text.endswith(b"\r") else b""  # a line feed may follow in the next chunk
        text = _with_line_feeds(text.removesuffix(held))
        cut = text.rfind(b"\n") + 1
        if cut:
            yield b"".join((before, memoryview(text)[:cut]))
            before = b""
        rest = (before + text[cut : cut + LONGEST_LINE + 1])[: LONGEST_LINE + 1] + held
    if rest:
        yield _with_line_feeds(rest).removesuffix(b"\n") + b"\n"


def _with_line_feeds(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _first_header(content: Iterable[bytes]) -> bytes | None:
    return next((line for block in blocks(content) if (line := header_in(block))), None)


def header_in(block: bytes) -> bytes | None:
    """The first header line in some bytes of a flow log."""
    return next((block[start:end] for start, end in _headers(block)), None)


def _headers(block: bytes) -> Iterator[tuple[int, int]]:
    """The first byte of each header line of a block, and its line feed."""
    at = block.find(_MARKS[0])
    while at >= 0:
        start, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
        end = len(block) if end < 0 else end
        if is_header(block[start:end]):
            yield start, end
        at = block.find(_MARKS[0], end)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """The n lines of a block."""

    block: bytes
    octets: NDArray[np.uint8]
    """The bytes of the block."""
    ends: NDArray[np.int64]
    """Shape (n,): the place of the line feed of each line."""
    starts: NDArray[np.int64]
    """Shape (n,): the place of the first byte of each line."""

    @classmethod
    def of(cls, block: bytes) -> _Lines:
        content = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(content == _LINE_FEED)
        return cls(block=block, octets=content, ends=ends, starts=np.append(0, ends[:-1] + 1))

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, place: int) -> bytes:
        """One line."""
        return self.block[self.starts[place] : self.ends[place]]

    def headers(self) -> Iterator[int]:
        """The places of the lines that are headers."""
        for _, end in _headers(self.block):
            yield int(np.searchsorted(self.ends, end))

    def around(self, place: int) -> list[tuple[int, _Lines]]:
        """The lines before and after one; with each part, how many lines precede it here."""
        parts = (
            (0, self.block[: self.starts[place]]),
            (place + 1, self.block[self.ends[place] + 1 :]),
        )
        return [(before, _Lines.of(block)) for before, block in parts if block]

    def batches(
        self, columns: _Columns, offsets: NDArray[np.int64] | None
    ) -> Iterator[pa.RecordBatch]:
        """The bad rows, then the others; `offsets`: the numbers of the lines, if they are known."""
        lengths, headers = self.ends - self.starts, [*self.headers()]
        whole = None if headers else columns.whole_batch(self.block, lengths, offsets)
        if whole is not None:
            yield whole
            return
        spaces = self._counts(_SPACE)
        is_row = spaces < lengths
        faults = np.zeros(len(self), dtype=np.int64)  # an index into `_FAULTS`, the last fault wins
        faults[spaces != len(columns.names) - 1] = _FAULTS.index(COLUMNS)
        faults[self._other_charset()] = _FAULTS.index(CHARSET)
        faults[lengths > LONGEST_LINE] = _FAULTS.index(LINE)
        faults[headers] = _FAULTS.index(HEADER)
        bad = np.flatnonzero(is_row & (faults > 0))
        if len(bad):
            yield _faulty(
                [_FAULTS[fault] for fault in faults[bad]],
                [
                    self.line(place).decode(errors="replace")[:LONGEST_TEXT]
                    for place in bad.tolist()
                ],
                [None] * len(bad) if offsets is None else offsets[bad].tolist(),
            )
        is_good = is_row & (faults == 0)
        good = np.flatnonzero(is_good)
        if len(good):
            content = self.block if is_good.all() else self._only(is_good)
            yield columns.batch(content, lengths[good], None if offsets is None else offsets[good])

    def _only(self, is_kept: NDArray[np.bool_]) -> bytes:
        """The lines that are kept."""
        return self.octets[np.repeat(is_kept, np.diff(self.ends, prepend=-1))].tobytes()

    def _counts(self, byte: int) -> NDArray[np.int64]:
        """How often a byte occurs in each line; shape (n,)."""
        places = np.flatnonzero(self.octets == byte)
        return np.diff(np.searchsorted(places, self.ends), prepend=0)

    def _other_charset(self) -> list[int]:
        """The places of the lines that are not UTF-8."""
        if self.block.isascii():
            return []
        places = np.flatnonzero(self.octets >= _FIRST_NOT_ASCII)
        return [
            place
            for place in np.unique(np.searchsorted(self.ends, places)).tolist()
            if not _is_utf8(self.line(place))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Lines as columns."""

    names: tuple[str, ...]
    """The columns of the file."""
    needed: frozenset[str]
    """Columns to read."""
    coded: frozenset[str]
    """Columns that are codes of their texts."""
    numbers: frozenset[str]
    """Columns that may be integers."""

    def whole_batch(
        self, lines: bytes, lengths: NDArray[np.int64], offsets: NDArray[np.int64] | None
    ) -> pa.RecordBatch | None:
        """Lines of ASCII that each have all columns; None if some do not, or may not.

        `lengths`: bytes of each line without its line feed; `offsets`: the numbers of the lines.
        """
        # The spaces between values that are all empty are a blank line, not a row.
        is_sound = len(self.names) <= lengths.min() and lengths.max() <= LONGEST_LINE
        if not is_sound or not lines.isascii() or _may_have_odd_numbers(lines):
            return None
        try:
            return self.batch(lines, lengths, offsets, integers=self.numbers)
        except pa.ArrowInvalid:
            return None

    def batch(
        self,
        lines: bytes,
        lengths: NDArray[np.int64],
        offsets: NDArray[np.int64] | None,
        *,
        integers: Collection[str] = (),
    ) -> pa.RecordBatch:
        """Lines that each have all columns; `integers`: columns that are read as numbers.

        Raises `ArrowInvalid` if they are none or too large, or if a line has other columns.
        """
        own = {str(i): name for i, name in enumerate(self.names) if name in self.needed}
        kinds = {i: self._kind(name, integers) for i, name in own.items()}
        # Arrow drops a byte order mark at the start, and ignores an empty line.
        content = b"\n" + lines if lines.startswith(BYTE_ORDER_MARK) else lines
        table = csv.read_csv(
            pa.py_buffer(content),
            read_options=csv.ReadOptions(
                column_names=[str(i) for i in range(len(self.names))],
                block_size=len(content) + 1,
                use_threads=False,
            ),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False),
            convert_options=csv.ConvertOptions(
                include_columns=[*own],
                column_types=kinds,
                null_values=[MISSING],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        ).combine_chunks()
        arrays = {}
        for i, name in own.items():
            column = table.column(i).chunk(0)
            arrays[name] = column.cast(pa.int64()) if name in integers else cut_texts(column)
        count = len(lengths)
        return pa.RecordBatch.from_pydict(
            arrays
            | {
                "malformed": pa.nulls(count, pa.string()),
                "raw": cut_texts(_strings(lines, lengths)),
                "row_offset": pa.nulls(count, pa.int64()) if offsets is None else offsets,
            }
        )

    def _kind(self, name: str, integers: Collection[str]) -> pa.DataType:
        if name in integers:
            return pa.uint64()  # so that no minus is read
        return _CODES if name in self.coded else pa.string()


def _may_have_odd_numbers(lines: bytes) -> bool:
    """Whether Arrow may read a number where `vpc_rows` does not: `0x1f`, or a tab beside digits.

    A single byte is found ten times as fast as two, and most logs have no x.
    """
    return b"\t" in lines or any(x in lines and b"0" + x in lines for x in (b"x", b"X"))


def _strings(lines: bytes, lengths: NDArray[np.int64]) -> pa.Array:
    """The lines, with their line feeds, as texts that share the memory of the block."""
    ends = np.append(0, np.cumsum(lengths + 1)).astype(np.int32)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(lines))


def _faulty(
    faults: Sequence[str], raw: Sequence[str | None], numbers: Sequence[int | None]
) -> pa.RecordBatch:
    """Rows that have a fault and no columns."""
    return pa.RecordBatch.from_pydict(
        {
            "malformed": pa.array(faults, pa.string()),
            "raw": pa.array(raw, pa.string()),
            "row_offset": pa.array(numbers, pa.int64()),
        }
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bytes(
    place: str, begin: int = 0, end: int | None = None, step: int = BLOCK
) -> Iterator[bytes]:
    """The bytes of a file from `begin` to before `end`, without a byte order mark.

    Raises `ChangedFile` if the file ends before `end`.
    """
    with open_place(place) as file:
        file.seek(begin)
        left = sys.maxsize if end is None else end - begin
        while left and (chunk := file.read(min(step, left))):
            left -= len(chunk)
            yield chunk.removeprefix(BYTE_ORDER_MARK) if begin == 0 else chunk
            begin += len(chunk)
    if left and end is not None:
        raise ChangedFile(f"the file was cut while it was read: {left} bytes are missing")


def _line_start(part: TextPart, place: int) -> int:
    """The place of the first line that begins at `place` or later; the size if there is none."""
    if place in {0, part.size}:
        return place
    at = place - 1  # a line begins at `place` if one ends just before it
    with open_place(part.place) as file:
        file.seek(at)
        while chunk := file.read(LONGEST_LINE):
            if found := _LINE_END.search(chunk):
                return at + found.end()  # or of the line feed of a cut `\r\n`, a blank line
            at += len(chunk)
    return part.size


def _gzip_bytes(place: str, step: int = CHUNK) -> Iterator[bytes]:
    """The decompressed bytes of a gzip file, without a byte order mark. Raises `BrokenGzip`.

    `step`: bytes of the file that are read at a time.
    """
    is_first = True
    for chunk in _decompressed(_bytes(place, step=step)):
        yield chunk.removeprefix(BYTE_ORDER_MARK) if is_first else chunk
        is_first = False


def _decompressed(content: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of whole gzip members. Raises `BrokenGzip`."""
    member = None
    try:
        for chunk in content:
            rest = chunk
            while rest:
                member = member or zlib.decompressobj(GZIP_WINDOW)
                if found := member.decompress(rest, BLOCK):
                    yield found
                rest = member.unused_data if member.eof else member.unconsumed_tail
                member = None if member.eof else member
    except zlib.error as error:
        raise BrokenGzip(str(error)) from None
    if member is not None:
        raise BrokenGzip("the last member is cut off")


def _whole_gzip(place: str) -> _Chunks:
    """The content of a gzip file; a small file stays in memory. Raises `BrokenGzip`."""
    held, size = [], 0
    for chunk in _gzip_bytes(place):
        size += len(chunk)
        if size <= HELD_BYTES:
            held.append(chunk)
        else:
            held.clear()
    return partial(_gzip_bytes, place) if size > HELD_BYTES else partial(iter, held)
