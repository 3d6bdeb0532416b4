"""Fusion: the candidates of the legs in one order. Numbers only; the formula is measured (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

from okl.index.state import ChunkRow
from okl.legs import Candidate, Meant
from okl.select import NoteRow

LESSON = 0.5
"""How much of the best documents' vectors is added to the query's before candidates are compared again."""
TEACHERS = 3
"""Documents that the query's vector learns from."""
NAMED = 0.2
"""What a document gains whose title stands in the query."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk with its fused score, what each leg said of it as (score, rank among the leg's documents), and how it was reached."""

    row: ChunkRow
    note: NoteRow
    score: float
    said: Mapping[str, tuple[float, int]]
    exact: bool = False
    named: bool = False
    lane: str = "direct"
    via: tuple[dict[str, Any], ...] = ()

    @property
    def why(self) -> list[dict[str, Any]]:
        """Which legs found it, at which rank; `title` where the query names it."""
        legs = [{"leg": leg, "rank": rank} for leg, (_, rank) in self.said.items() if rank]
        return legs + ([{"leg": "title", "rank": 1}] if self.named or self.exact else [])


@dataclass
class Pool:
    """All candidates: their chunks, and what each leg says of each chunk."""

    chunks: dict[int, Candidate] = field(default_factory=dict)
    words: dict[int, float] = field(default_factory=dict)
    cosines: dict[int, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set)

    def add(self, leg: str, found: Iterable[Candidate]) -> None:
        """Take the candidates of a leg, best first."""
        ranks = self.ranks.setdefault(leg, {})
        for candidate in found:
            self.chunks.setdefault(candidate.row.number, candidate)
            ranks.setdefault(candidate.note.path, len(ranks) + 1)
            if leg == "text":
                self.words[candidate.row.number] = candidate.score
            if candidate.exact:
                self.exact.add(candidate.note.path)


def fuse(pool: Pool, meant: Meant | None, share: float, named: Iterable[str] = ()) -> list[Fused]:
    """All candidates, best first.

    A document has the score of its best chunk in each leg: BM25 as a share of the best BM25, and the
    cosine between the median of the store (0) and the best (1), or what is near at all if the best is
    not; they are added, `share` (0 to 1) being the vector's part. The query's vector then moves
    towards the best documents, and the candidates are compared once more. A document whose very title
    was asked for comes before all others; its best chunk stands for a document, its further chunks
    follow with what is their own.
    """
    known = frozenset(named)
    numbers = list(pool.chunks)
    pool.cosines = _cosines(meant, numbers) if meant else {}
    plain = _Shares(pool.words, pool.cosines, meant, share)
    documents = _documents(pool, plain)
    if not meant or not documents:
        return _ordered(pool, documents, plain, known)

    def place(path: str) -> tuple[bool, float, str]:
        return path not in pool.exact, -plain.of_all(documents[path]) - NAMED * (path in known), path

    taught = meant.towards([documents[path][0] for path in nsmallest(TEACHERS, documents, key=place)], LESSON)
    return _ordered(pool, documents, _Shares(pool.words, _cosines(taught, numbers), taught, share), known)


def _cosines(meant: Meant, numbers: Sequence[int]) -> dict[int, float]:
    """How near each chunk is, of those that have a vector."""
    return {number: cosine for number, cosine in zip(numbers, meant.cosines(numbers), strict=True) if cosine}


def _documents(pool: Pool, plain: _Shares) -> dict[str, list[int]]:
    """The chunks of each document, first the one that is best for the query as it was typed."""
    documents: dict[str, list[int]] = {}
    for number in sorted(pool.chunks, key=lambda n: (-plain.of(n), pool.chunks[n].row.start)):
        documents.setdefault(pool.chunks[number].note.path, []).append(number)
    return documents


def _ordered(pool: Pool, documents: Mapping[str, list[int]], shares: _Shares, named: frozenset[str]) -> list[Fused]:
    """Documents by `shares`; the first chunk of each stands for it, the others follow with what is their own."""
    found = []
    for path, chunks in documents.items():
        whole = shares.of_all(chunks) + NAMED * (path in named)
        found.append(_fused(pool, chunks[0], whole, path in named))
        found += [_fused(pool, number, min(shares.of(number), whole), path in named) for number in chunks[1:]]
    return sorted(found, key=lambda f: (not f.exact, -f.score, f.note.id, f.row.start))


class _Shares:
    """What each chunk has of the best score, by words and by meaning; both weighed, so that they add up to 1 at the most."""

    def __init__(self, words: Mapping[int, float], cosines: Mapping[int, float], meant: Meant | None, share: float) -> None:
        most = max(words.values(), default=0.0) or 1.0
        self.words = {number: (1 - share) * score / most for number, score in words.items()}
        self.meaning: dict[int, float] = {}
        if meant and cosines:
            middle, best = meant.middle, max(max(cosines.values()), meant.character.something)
            span = max(best - middle, 1e-6)
            self.meaning = {number: share * max(cosine - middle, 0.0) / span for number, cosine in cosines.items()}

    def of(self, number: int) -> float:
        """The share of one chunk."""
        return self.words.get(number, 0.0) + self.meaning.get(number, 0.0)

    def of_all(self, numbers: Iterable[int]) -> float:
        """The share of a document: its best chunk by words, and its best by meaning."""
        listed = list(numbers)
        return max(self.words.get(n, 0.0) for n in listed) + max(self.meaning.get(n, 0.0) for n in listed)


def first_chunks(ordered: Iterable[Fused]) -> list[Fused]:
    """The best chunk of each document."""
    firsts: dict[str, Fused] = {}
    for fused in ordered:
        firsts.setdefault(fused.note.path, fused)
    return list(firsts.values())


def _fused(pool: Pool, number: int, score: float, named: bool) -> Fused:
    candidate = pool.chunks[number]
    path = candidate.note.path
    said: dict[str, tuple[float, int]] = {}
    if number in pool.words:
        said["text"] = (pool.words[number], pool.ranks["text"][path])
    if number in pool.cosines:
        said["vector"] = (pool.cosines[number], pool.ranks.get("vector", {}).get(path, 0))
    return Fused(candidate.row, candidate.note, score, said, path in pool.exact, named)
