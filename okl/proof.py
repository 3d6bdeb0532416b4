"""The proof that nothing is in the index but what the files give: it is built once more from them alone, and compared."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from okl import query, search
from okl.index import dump
from okl.index.generation import Generations, Index
from okl.index.sync import rebuild
from okl.opened import Opened
from okl.ranking import Request
from okl.walk import walk

QUESTIONS = 40
REEMBEDDED = 32
_WORDS = re.compile(r"\w+(?: \w+){2}")


@dataclass
class Proof:
    """What was compared, and every way in which it was not equal."""

    files: int = 0
    digest: str = ""
    rebuilt: str = ""
    questions: int = 0
    embedded: int = 0
    failures: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """As surfaces give it."""
        return {
            "proven": not self.failures,
            "files": self.files,
            "digest": self.digest,
            "rebuilt": self.rebuilt,
            "questions": self.questions,
            "reembedded": self.embedded,
            "failures": self.failures,
        }


def prove(opened: Opened, index: Index) -> Proof:
    """Build the index of the files anew in a folder aside, and compare facts, answers, vectors, and the files before and after."""
    proof = Proof()
    before = hashes(opened)
    proof.files = len(before)
    with tempfile.TemporaryDirectory(prefix="okl-proof-") as folder:
        generations = Generations(Path(folder), opened.settings, 0.0)
        rebuild(opened.store.root, generations, opened.options())
        again = generations.open()
        if again is None:
            proof.failures.append("the rebuilt index cannot be opened")
            return proof
        with again:
            _compare_facts(opened, index, again, proof)
            _compare_answers(opened, index, again, proof)
    _compare_vectors(opened, index, proof)
    proof.failures += [f"{path} changed while it was only read" for path in sorted(_differing(before, hashes(opened)))]
    return proof


def hashes(opened: Opened) -> dict[str, str]:
    """The sha256 of the bytes of every note and doc."""
    root, options = opened.store.root, opened.options()
    found = {}
    for path in walk(root, options.globs, options.include).stamps:
        try:
            found[path] = hashlib.sha256((root / path).read_bytes()).hexdigest()
        except OSError as error:
            found[path] = str(error.strerror)
    return found


def _differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def _compare_facts(opened: Opened, index: Index, again: Index, proof: Proof) -> None:
    opened.graphs.settle(again)
    ours, theirs = _facts(opened, index), _facts(opened, again)
    proof.digest, proof.rebuilt = dump.digest(ours), dump.digest(theirs)
    different = sorted(set(ours) ^ set(theirs))
    proof.failures += [f"the indexes differ: {line[:200]}" for line in different[:10]]


def _facts(opened: Opened, index: Index) -> list[str]:
    return dump.dump(index, opened.model.last, opened.graphs.lines(index))


def _compare_answers(opened: Opened, index: Index, again: Index, proof: Proof) -> None:
    """The same notes for titles, tags and phrases, asked of both."""
    for text in _questions(index):
        ours, theirs = _answer(opened, index, text), _answer(opened, again, text)
        proof.questions += 1
        if ours != theirs:
            proof.failures.append(f"“{text}” finds other notes: {', '.join(sorted(ours ^ theirs)[:5])}")


def _questions(index: Index) -> list[str]:
    """Phrases and filters that the store's own titles and tags give."""
    titles = index.state.rows("SELECT DISTINCT title FROM notes ORDER BY title")
    tags = index.state.rows("SELECT DISTINCT folded FROM tags WHERE name = 'tag' ORDER BY folded")
    phrases = [f'"{title}"' for (title,) in titles if '"' not in title and _WORDS.search(title)]
    named = [f"tag:{tag}" for (tag,) in tags if not re.search(r'[\s"]', tag)]
    return _spread(phrases, QUESTIONS // 2) + _spread(named, QUESTIONS // 2)


def _spread(items: list[str], count: int) -> list[str]:
    return items[:: max(1, -(-len(items) // count))]


def _answer(opened: Opened, index: Index, text: str) -> set[str]:
    request = Request(query.parse(text), max(1, index.text.size), 1, 0.0, 0.0, opened.clock(), lanes=frozenset(("direct",)))
    return {hit.note.id for hit in search.search(opened.store, index, request, opened.settings).hits}


def _compare_vectors(opened: Opened, index: Index, proof: Proof) -> None:
    """Some texts are embedded once more: the model must make of them what the index has."""
    embedder = opened.model.embedder() if index.fingerprint else None
    if embedder is None:
        return
    from okl.index import embed

    proof.embedded, wrong = embed.reembedded(opened.store.root, index, embedder, REEMBEDDED)
    proof.failures += [f"{path} has a vector that is not the model's" for path in wrong]
