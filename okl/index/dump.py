"""The index as canonical text. Two indexes are equal when their dumps are; the digest is its sha256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from okl.index.generation import Index

if TYPE_CHECKING:
    from okl.index.embeddings import Model

_PART = 5000

_TABLES = (
    (
        "note",
        "SELECT n.path, n.id, n.claim, n.kind, n.type, n.title, n.namespace, n.status, n.trust, n.created, n.updated, n.expires, "
        "n.language, n.body_sha256, n.source, f.sha256 FROM notes n JOIN files f ON f.path = n.path",
    ),
    ("chunk", "SELECT path, ord, start, end, line_start, line_end, headings, sha256, passage_sha256 FROM chunks"),
    ("name", "SELECT path, name, strength FROM names"),
    ("link", "SELECT path, ord, kind, target, fragment, text, line, name, near, found FROM links"),
    ("tag", "SELECT path, name, value FROM tags"),
    ("key", "SELECT path, label, folded, type, origin, weight FROM keys"),
    ("title", "SELECT path, form, title FROM titles"),
    ("problem", "SELECT path, name, line, text FROM problems"),
)


def dump(index: Index, model: Model | None = None, graph: Iterable[str] = ()) -> list[str]:
    """Every fact of the index on a line of its own, sorted; never a time or a row number.

    With `model`, vectors are compared with its cache; `graph` are the lines of the graph, where there is one.
    """
    return sorted([*_lines(index, model), *graph])


def _lines(index: Index, model: Model | None) -> Iterator[str]:
    for kind, query in _TABLES:
        for row in index.state.rows(query):
            yield f"{kind} {json.dumps(row, ensure_ascii=False)}"
    for row in index.text.documents():
        yield f"text {json.dumps(row, ensure_ascii=False)}"
    if index.fingerprint:
        yield from _vector_lines(index, model)


def _vector_lines(index: Index, model: Model | None) -> Iterator[str]:
    """Every chunk that has a vector, by the model and the text it was made of; whether it is the one the cache has."""
    rows = index.state.rows("SELECT path, ord, passage_sha256, number FROM chunks WHERE embedded = 1")
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        damaged = _damaged(index, model, part)
        for path, ord_, sha256, number in part:
            told = (path, ord_, index.fingerprint, sha256) + (("damaged",) if number in damaged else ())
            yield f"vector {json.dumps(told, ensure_ascii=False)}"


def _damaged(index: Index, model: Model | None, rows: list[tuple[Any, ...]]) -> set[int]:
    """The numbers of the chunks whose vector is not what the model made of their text."""
    if model is None or model.fingerprint != index.fingerprint:
        return set()
    places, vectors = model.embeddings.get([row[2] for row in rows])
    numbers = [rows[place][3] for place in places]
    wrong = (index.vectors.at(numbers) != vectors).any(axis=1)
    return {number for number, is_wrong in zip(numbers, wrong, strict=True) if is_wrong}


def digest(lines: list[str]) -> str:
    """The index digest: sha256 of the dump's lines."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", errors="surrogatepass")).hexdigest()
