"""What mkdocs changes to show the pages as GitHub does: lists, anchors, links out of `docs/`."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(?=\))")
ITEM = re.compile(r"(?:[0-9]+\.|[-*]) ")
INDENT = 4
"""Spaces before a block of a list item in Python-Markdown. On GitHub it is the marker's width."""


def slug(title: str, _separator: str) -> str:
    """The anchor that GitHub gives a heading: `--json` and KIP-36's -> --json-and-kip-36s."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the anchors of headings."""
    config.mdx_configs["toc"]["slugify"] = slug
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Indent lists, and let links to files outside `docs/` lead to the repository."""
    repository = config.extra["social"][0]["link"]

    def target(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        file = (DOCS / PurePosixPath(page.file.src_uri).parent / path).resolve()
        if file.is_relative_to(DOCS):
            return found[0]
        name = file.relative_to(DOCS.parent).as_posix()
        kind = "tree" if file.is_dir() else "blob"
        return f"{repository}/{kind}/main/{name}{anchor}"

    return LINK.sub(target, "\n".join(indented(markdown.split("\n"))))


def indented(lines: list[str]) -> list[str]:
    """Lines of lists with the indentation of Python-Markdown; a code block keeps its own."""
    found = []
    width = more = 0
    is_code = False
    for line in lines:
        text = line.lstrip(" ")
        depth = len(line) - len(text)
        if text and not depth and not is_code:
            item = ITEM.match(text)
            width = len(item[0]) if item else 0
        if not is_code:
            more = depth // width * (INDENT - width) if width else 0
        if text.startswith("```"):
            is_code = not is_code
        found.append(" " * more + line if text else line)
    return found
