"""A parsed page: its elements, texts and tables."""

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link", "base", "source", "wbr", "embed"}


class Element:
    """One element. `text` is all text inside it."""

    def __init__(self, tag: str, attributes: dict[str, str], path: tuple[str, ...]) -> None:
        self.tag, self.attributes, self.path = tag, attributes, path
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Page(HTMLParser):
    """The elements of a page in the order in which they open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.unmatched: list[str] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "td":
            self._end_cell()
        path = (*(element.tag for element in self._open), tag)
        element = Element(tag, {name: value or "" for name, value in attrs}, path)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        if tag == "tr":
            self._end_cell()
        if not self._open or self._open[-1].tag != tag:
            self.unmatched.append(tag)
            return
        self._open.pop()

    def _end_cell(self):
        """A cell's end may be left out before the next cell and the end of its row."""
        if self._open and self._open[-1].tag == "td":
            self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element.pieces.append(data)

    def by_id(self, name: str) -> Element:
        (found,) = [e for e in self.elements if e.attributes.get("id") == name]
        return found

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    @property
    def tree(self) -> Counter[tuple[str, ...]]:
        """How many elements stand at each path of tags."""
        return Counter(element.path for element in self.elements)
