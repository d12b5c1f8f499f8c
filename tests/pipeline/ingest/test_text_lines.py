"""Tasks read each line of a text file once, as Spark's reader cuts it, whatever the parts."""

from __future__ import annotations

import gzip
import os
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackwise.pipeline.ingest import text_lines as module
from rackwise.pipeline.ingest import vpc_rows
from rackwise.pipeline.ingest.text_lines import NoHeader, TextHead, TextPart, text_head
from rackwise.pipeline.runtime.stores.filesystems import ChangedFile

HEADER = "version srcaddr dstaddr bytes"
ROW = "2 10.0.0.1 10.0.0.2 7"
PIECES = (
    *(b"\n", b"\r\n", b"\r", b"\n\n", b"  ", b" "),
    *(
        HEADER.encode(),
        HEADER.encode() + b"\n",
        ROW.encode(),
        ROW.encode() + b"\n",
        b"bytes dstaddr",
    ),
    *(b"2 \xe2\x82\xac x 1\n", b"a\xff b c d\n", b"\xef\xbb\xbf", b"x" * 40, b"y" * 41 + b"\n"),
)
LONGEST = 40


def naive(content):
    """`(line number, reason, line)` of each row, by the definition; None without a header."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    lines = re.split(rb"\r\n|\r|\n", content)
    if not lines[-1]:
        lines.pop()
    headers = [
        number
        for number, line in enumerate(lines, 1)
        if b"srcaddr" in line and b"dstaddr" in line and len(line) <= LONGEST
    ]
    if not headers:
        return None
    names = lines[headers[0] - 1].decode(errors="replace").split(" ")
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip(b" ") or number == headers[0]:
            continue
        try:
            text, is_utf8 = line.decode(), True
        except UnicodeDecodeError:
            text, is_utf8 = line.decode(errors="replace"), False
        reason = None
        if number in headers:
            reason = "malformed:header"
        elif len(line) > LONGEST:
            reason, text = "malformed:line", text[:20]
        elif not is_utf8:
            reason = "malformed:charset"
        elif len(text.split(" ")) != len(names):
            reason = "malformed:columns"
        rows.append((number, reason, text))
    return rows


def found(part, numbers=()):
    batches = part.batches(["srcaddr", "bytes", "raw"], ["srcaddr"], numbers)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [{**row, "raw": row["raw"] and row["raw"].removesuffix("\n")} for row in rows]


def parts_of(place, content, parts):
    return [
        TextPart(place=str(place), size=len(content), part=part, parts=parts)
        for part in range(parts)
    ]


def told(rows):
    """Number, reason and line; of a line that is too long, what `naive` keeps of it."""
    return [
        (
            row["row_offset"],
            row["malformed"],
            row["raw"][:20] if row["malformed"] == "malformed:line" else row["raw"],
        )
        for row in rows
    ]


@settings(max_examples=300)
@given(
    content=st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    parts=st.integers(1, 6),
    block=st.integers(3, 80),
    numbers=st.sampled_from([(), ("bytes",)]),
)
def test_each_line_is_a_row_of_one_part(tmp_path_factory, content, parts, block, numbers):
    place = tmp_path_factory.mktemp("text") / "a.log"
    place.write_bytes(content)
    wanted = naive(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST_LINE", LONGEST)
        patch.setattr(module._bytes, "__defaults__", (0, None, block))
        if wanted is None and content.removeprefix(b"\xef\xbb\xbf").strip(b" \r\n"):
            with pytest.raises(NoHeader, match="none of them names columns"):
                [*map(found, parts_of(place, content, parts))]
            return
        every = [found(part, numbers) for part in parts_of(place, content, parts)]
        patch.setattr(module._bytes, "__defaults__", (0, None, block))
        assert (text_head(str(place)).header is None) == (wanted is None)
    rows = told(row for part in every for row in part)
    if parts == 1:
        assert sorted(rows) == (wanted or [])
    else:
        assert {number for number, _, _ in rows} <= {None}
        assert sorted(map(str, rows)) == sorted(str((None, *row[1:])) for row in wanted or [])


@pytest.mark.parametrize("held", [2**26, 1])
@pytest.mark.parametrize("block", [1, 7, 2**23])
def test_a_gzip_file_of_members_is_one_text(tmp_path, monkeypatch, held, block):
    monkeypatch.setattr(module, "HELD_BYTES", held)
    monkeypatch.setattr(module, "BLOCK", block)
    place = tmp_path / "a.log.gz"
    texts = [f"{HEADER}\r", f"\n{ROW}\n{ROW}", " more\n", ""]
    place.write_bytes(b"".join(gzip.compress(text.encode()) for text in texts))
    rows = found(TextPart(place=str(place), size=place.stat().st_size))
    assert sorted(told(rows), key=str) == [
        (2, None, ROW),
        (3, "malformed:columns", f"{ROW} more"),
    ]
    assert [(row["srcaddr"], row["bytes"]) for row in rows if row["malformed"] is None] == [
        ("10.0.0.1", "7")
    ]


@pytest.mark.parametrize("held", [2**26, 1])
def test_no_row_of_a_broken_gzip_file_counts(tmp_path, monkeypatch, held):
    monkeypatch.setattr(module, "HELD_BYTES", held)
    place = tmp_path / "a.log.gz"
    place.write_bytes(gzip.compress(f"{HEADER}\n{ROW}\n".encode() * 500)[:-9])
    assert told(found(TextPart(place=str(place), size=place.stat().st_size))) == [
        (0, "malformed:file", None)
    ]


def test_a_header_after_blocks_without_one_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(module._bytes, "__defaults__", (0, None, len(ROW) + 1))
    place = tmp_path / "a.log"
    place.write_text(f"{HEADER}\n{ROW}\n{ROW}\n{ROW}\n{HEADER}\n{ROW}")
    rows = told(found(TextPart(place=str(place), size=place.stat().st_size)))
    assert [(number, reason) for number, reason, _ in sorted(rows)] == [
        *((number, None) for number in (2, 3, 4)),
        (5, "malformed:header"),
        (6, None),
    ]


def test_lines_without_a_header_are_an_error(tmp_path):
    """The driver rejects such a file before; no reader of another format may lose its rows."""
    (tmp_path / "a.log").write_text(f" \n{ROW}\n")
    with pytest.raises(NoHeader):
        found(TextPart(place=str(tmp_path / "a.log"), size=len(ROW) + 3))


def test_a_file_that_is_cut_while_it_is_read_is_rejected(tmp_path):
    place = tmp_path / "a.log"
    place.write_text(f"{HEADER}\n" + f"{ROW}\n" * 2_000_000)
    batches = TextPart(place=str(place), size=place.stat().st_size).batches(["bytes"], [])
    assert next(batches).num_rows > 0
    os.truncate(place, 10_000_000)
    with pytest.raises(ChangedFile, match="was cut while it was read"):
        list(batches)


@pytest.mark.parametrize(
    ("content", "head"),
    [
        (f"\n  \n{ROW}\n{HEADER}\n", TextHead(header=HEADER)),
        (f"\n{ROW}\nx\n", TextHead(first=ROW)),
        ("\n \n", TextHead()),
        ("", TextHead()),
    ],
)
def test_the_head_of_a_file(tmp_path, content, head):
    (tmp_path / "a.log").write_text(content)
    assert text_head(str(tmp_path / "a.log")) == head
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(content.encode()))
    assert text_head(str(tmp_path / "a.log.gz")) == head
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(content.encode())[:-1])
    assert text_head(str(tmp_path / "b.log.gz")).is_broken or head.header


def test_texts_are_cut_and_coded(tmp_path):
    long = "a" * 5000
    (tmp_path / "a.log").write_text(f"{HEADER}\n2 {long} b 7\n2 {long} b 8\n")
    size = (tmp_path / "a.log").stat().st_size
    (batch,) = TextPart(place=str(tmp_path / "a.log"), size=size).batches(
        ["srcaddr", "bytes"], ["srcaddr"]
    )
    sources = batch.column("srcaddr")
    assert sources.dictionary.to_pylist() == ["a" * 4096]
    assert batch.column("bytes").to_pylist() == ["7", "8"]
    assert {len(raw) for raw in batch.column("raw").to_pylist()} == {4096}


SOUND = ("-", "0", "007", "42", str(2**62), "9" * 18)
ODD = (
    *("", "-0", "-5", "+1", "0x1f", "0X1F", "1e3", "1.0", "1_0", "x", "\t5", "5\t", "٣"),
    *(str(2**63 - 1), str(2**63), str(2**64 - 1), str(2**64), "0" * 30 + "7"),
)


@pytest.mark.parametrize("odd", [None, *ODD])
def test_numbers_are_those_that_rows_have(tmp_path, odd):
    """Arrow takes other texts for numbers than `vpc_rows` does; no row may differ by them."""
    values = SOUND if odd is None else (*SOUND, odd)
    place = tmp_path / "a.log"
    place.write_text("srcaddr dstaddr bytes\n" + "".join(f"a b {each}\n" for each in values))
    part = TextPart(place=str(place), size=place.stat().st_size)
    (texts,), (either,) = (part.batches(["bytes"], [], numbers) for numbers in ((), ("bytes",)))
    wanted, found = (vpc_rows._numbers(batch.column("bytes")) for batch in (texts, either))
    for one, other in zip(wanted, found, strict=True):
        assert one.tolist() == other.tolist()
    if odd is None:
        assert either.column("bytes").type == pa.int64()
