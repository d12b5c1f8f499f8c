"""Text that a terminal or a page may obey, and what of it is left in an output.

The law: the only character of an output that cannot be printed is the line feed between lines.
"""

from __future__ import annotations

import copy
import json

SIGNS = (
    "\x01\x07\x08\t\r\x7f"  # C0
    "\x1b[31m\x1b]0;title\x07"  # ESC: colour, title
    "\x85\x9b31m"  # C1
    "\u202e\u2066\u200f"  # bidirectional
    "\u2028\u2029"  # separators of lines and paragraphs
    "\u200b\ufeff\U000e0001"  # no width
    "\"'`<&>,;|"  # quotes and marks of CSV, HTML and shells
)
HOSTILE = f"h\n{SIGNS}"
"""Of text that JSON may hold. A value keeps its own end, so that distinct values stay distinct."""
NOT_TEXT = "\udcff"
"""A byte that is no UTF-8, as Python has it in arguments and names of files."""
LONG = "\x1b" + "x" * 100_000


def unprintable(text):
    """The characters of an output that a terminal may obey, in order of their code points."""
    return "".join(sorted({each for each in text if not each.isprintable() and each != "\n"}))


def check_shown(text, what):
    """Law: nothing in text for people can be obeyed."""
    assert unprintable(text) == "", f"law of escapes: {what}: {text[:2000]!r}"


def check_error(code, err, what):
    """Law: a failure is an error with words of its own; the last lines name it, none is long."""
    check_shown(err, what)
    assert "internal error" not in err, f"law of escapes: {what}: {err[:2000]}"
    assert "Traceback" not in err, f"law of escapes: {what}: {err[:2000]}"
    if code == 1:
        assert max(map(len, err.splitlines())) < MOST_LINE, f"law of escapes: {what}"


MOST_LINE = 5_000
"""Characters of a line of an error. Each word is cut, and there are several."""


def dressed(document, accepts, text=HOSTILE):
    """The document with `text` before every string that the reader accepts there.

    All strings of one place are edited together, so that those that refer to each other still do.
    `accepts(document)`: whether the reader takes it. Returns the document, and the places.
    """
    places = []
    for shape in sorted({shape for shape, _ in _strings(document)}):
        edited = copy.deepcopy(document)
        for each, path in [*_strings(edited)]:
            if each == shape:
                _edit(edited, path, text)
        if accepts(edited):
            document = edited
            places.append(shape)
    return document, places


def _strings(node, path=(), shape="$"):
    """Shape and path of each string; `$.brokers[].rack` is a shape."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(value, (*path, key), f"{shape}.{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _strings(value, (*path, number), f"{shape}[]")
    elif isinstance(node, str):
        yield shape, path


def _edit(node, path, text):
    *parents, last = path
    for each in parents:
        node = node[each]
    node[last] = text + node[last]


def dressed_table(rows, accepts, text=HOSTILE):
    """The same of a CSV table, column by column; `rows` has the header first."""
    header, *body = rows
    places = []
    for column, name in enumerate(header):
        edited = [
            [*row[:column], text + row[column] if row[column] else "", *row[column + 1 :]]
            for row in body
        ]
        if accepts([header, *edited]):
            body = edited
            places.append(name)
    return [header, *body], places


def csv_bytes(rows):
    """A CSV table with every cell quoted."""
    return "".join(
        ",".join('"' + each.replace('"', '""') + '"' for each in row) + "\n" for row in rows
    ).encode()


def json_bytes(document):
    """JSON in ASCII, so that every character stands escaped in the file itself."""
    return json.dumps(document).encode()
