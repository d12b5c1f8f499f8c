"""The docs site has every page, its links resolve, and it needs no network."""

from __future__ import annotations

import re
import runpy
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
PAGES = sorted(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def pages_of(entries):
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else pages_of(value)


def anchors_of(page):
    """The anchors that GitHub gives the headings of a page."""
    found = set()
    for title in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        found.add(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"))
    return found


def test_every_page_is_in_the_navigation_once():
    assert sorted(pages_of(CONFIG["nav"])) == PAGES, "edit nav in mkdocs.yml"


@pytest.mark.parametrize("name", PAGES)
def test_every_link_and_anchor_between_pages_resolves(name):
    page = DOCS / name
    for path, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{path} of {name}"
        assert target.is_relative_to(ROOT), f"{path} of {name} leaves the repository"
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors_of(target), f"{path}{anchor} of {name}"


def test_lists_get_the_indentation_of_python_markdown_and_code_keeps_its_own():
    indented = runpy.run_path(str(DOCS / "site.py"))["indented"]
    text = """\
1. Plan.

   ```console
   $ rackwise plan
     two spaces
   ```

2. Then:
   - a
     - b
- one
  - two
    - three

Text.
   as it is"""
    assert (
        "\n".join(indented(text.split("\n")))
        == """\
1. Plan.

    ```console
    $ rackwise plan
      two spaces
    ```

2. Then:
    - a
      - b
- one
    - two
        - three

Text.
   as it is"""
    )


class Loaded(HTMLParser):
    """What a page of the site loads and links to."""

    def __init__(self):
        super().__init__()
        self.loads = []
        self.links = []
        self.ids = set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loads.append(given["href"])
        elif tag in {"script", "img", "iframe"} and given.get("src"):
            self.loads.append(given["src"])


@pytest.mark.long
def test_make_docs_builds_a_site_that_loads_nothing_from_elsewhere():
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "build/site/index.html"
    read = {}
    for page in SITE.rglob("*.html"):
        read[page] = Loaded()
        read[page].feed(page.read_text())
    assert {page.relative_to(SITE).with_suffix(".md").as_posix() for page in read} == {
        *PAGES,
        "404.md",
    }
    for page, found in read.items():
        assert [each for each in found.loads if urlsplit(each).netloc] == [], page
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("/"):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{link} of {page}"
            if parts.fragment and target in read:
                assert unquote(parts.fragment) in read[target].ids, f"{link} of {page}"
    assert (SITE / "search" / "search_index.json").exists()


@pytest.mark.long
def test_a_broken_link_fails_the_build(tmp_path):
    copy = tmp_path / "docs"
    subprocess.run(["cp", "-r", str(DOCS), str(copy)], check=True)
    (copy / "tour.md").write_text("# Tour\n\n[nowhere](guides/nowhere.md)\n")
    config = (ROOT / "mkdocs.yml").read_text().replace("build/site", "site")
    (tmp_path / "mkdocs.yml").write_text(config)
    mkdocs = ROOT / "build" / "docs-venv" / "bin" / "mkdocs"
    done = subprocess.run(
        [mkdocs, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "guides/nowhere.md" in done.stderr
