"""The index as canonical text. Two indexes are equal when their dumps are; the digest is its sha256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from okl.index.generation import Index

_TABLES = (
    (
        "note",
        "SELECT n.path, n.id, n.claim, n.kind, n.type, n.title, n.namespace, n.status, n.trust, n.created, n.updated, n.expires, "
        "n.language, n.body_sha256, n.source, f.sha256 FROM notes n JOIN files f ON f.path = n.path",
    ),
    ("chunk", "SELECT path, ord, start, end, line_start, line_end, headings, sha256 FROM chunks"),
    ("name", "SELECT path, name, strength FROM names"),
    ("link", "SELECT path, ord, kind, target, fragment, text, line, name, near, found FROM links"),
    ("tag", "SELECT path, name, value FROM tags"),
    ("problem", "SELECT path, name, line, text FROM problems"),
)


def dump(index: Index) -> list[str]:
    """Every fact of the index on a line of its own, sorted; never a time or a row number."""
    return sorted(_lines(index))


def _lines(index: Index) -> Iterator[str]:
    for kind, query in _TABLES:
        for row in index.state.rows(query):
            yield f"{kind} {json.dumps(row, ensure_ascii=False)}"
    for row in index.text.documents():
        yield f"text {json.dumps(row, ensure_ascii=False)}"


def digest(lines: list[str]) -> str:
    """The index digest: sha256 of the dump's lines."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", errors="surrogatepass")).hexdigest()
