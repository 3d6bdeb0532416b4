"""Where a source and its text lie in the store, and what the text's file says of its source."""

from __future__ import annotations

import hashlib
import posixpath
from typing import Any

from okl import note
from okl.ingest.convert import Converted

SOURCES = "store/sources"
NORMALIZED = "store/normalized"
LONGEST_NAME = 255


def source_path(tree: str) -> str:
    """Where the original lies."""
    return f"{SOURCES}/{tree}"


def doc_path(tree: str) -> str:
    """Where its text lies; a name that would be too long for a disk is cut and marked."""
    folder, name = posixpath.split(f"{NORMALIZED}/{tree}")
    if len(name.encode()) > LONGEST_NAME - len(".ok.md"):
        mark = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = name.encode()[: LONGEST_NAME - 20].decode(errors="ignore") + "-" + mark
    return f"{folder}/{name}.ok.md"


def text(found: Converted, source: dict[str, Any], fallback_title: str, tags: list[str]) -> str:
    """The doc's file: provenance as frontmatter, the converted text as body."""
    parser, _, version = found.parser.partition(" ")
    values: dict[str, Any] = {
        "type": "doc",
        "title": found.title or fallback_title,
        "source": source,
        "authors": list(found.authors),
        "date": found.date,
        "parser": {"name": parser, "version": version},
        "pages": [list(page) for page in found.pages],
        "tags": list(dict.fromkeys([*found.tags, *tags])),
        "notes": list(found.notes),
    }
    kept = {key: value for key, value in values.items() if value not in ("", [], {})}
    return note.compose(kept, found.text)
