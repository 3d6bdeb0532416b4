"""The text that hits shall be like: a note of the store, or any file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from okl import legs
from okl.errors import NotFound
from okl.index import language
from okl.index.chunk import passage
from okl.index.generation import Index
from okl.legs import Likeness
from okl.note import Note, parse
from okl.store import Store
from okl.target import document

MOST_PASSAGES = 16
PASSAGE = 1000
"""Characters of a passage of a text that is not in the store."""


@dataclass(frozen=True)
class Example:
    """A text as the legs take it: its telling words, and the passages that a model reads of it."""

    likeness: Likeness
    passages: list[str]


def of(store: Store, index: Index, named: str, cwd: Path | None) -> Example:
    """The note that `named` means, which will not be among the hits, or the file of this path; NotFound without either."""
    file = os.path.join(cwd or store.root, os.path.expanduser(named))
    try:
        found = document(store, index, named, cwd)
    except NotFound:
        if not os.path.isfile(file):
            raise
        note = parse(os.path.basename(named), Path(file).read_bytes())
        return Example(_likeness(index, note, frozenset()), _passages(note.title, note.body))
    rows = index.state.rows("SELECT start, end, headings FROM chunks WHERE path = ? ORDER BY ord LIMIT ?", (found.note.path, MOST_PASSAGES))
    note = found.note
    passages = [passage(note.title, headings.split("\n") if headings else (), note.body[start:end]) for start, end, headings in rows]
    return Example(_likeness(index, note, frozenset((note.path,))), passages)


def _likeness(index: Index, note: Note, barred: frozenset[str]) -> Likeness:
    told = language.detect(f"{note.title}\n{note.body[: language.SAMPLE]}", index.state.languages())
    return legs.likeness(index, f"{note.title}\n{note.body}", told, barred)


def _passages(title: str, body: str) -> list[str]:
    starts = range(0, max(len(body), 1), PASSAGE)
    return [passage(title, (), body[start : start + PASSAGE]) for start in starts][:MOST_PASSAGES]
