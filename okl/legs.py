"""The legs of a search: each finds candidates in its own way, best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from okl.index import text
from okl.index.generation import Index
from okl.index.state import ChunkRow
from okl.index.text import TextQuery, Word
from okl.providers.character import Character
from okl.query import Query
from okl.select import NoteRow, Selection

if TYPE_CHECKING:
    from okl.providers.base import Vectors

    Nearest = Callable[[Index, Vectors, int], list[tuple[float, int]] | None]

MOST_WORDS = 200
LIKE_WORDS = 25
"""Words that stand for a whole text."""
MOST_TERMS = 400
MOST_LIKE = 50_000
"""Characters of that text that are looked at."""
WIDTH = 120
"""Chunks that a leg is first asked for."""


@dataclass(frozen=True)
class Meaning:
    """A query as the model sees it: its vector (None if the leg cannot run), and how many chunks have none yet.

    `trust`, 0 to 1, is how much of it the model can read; `character` tells what the model's cosines mean.
    """

    vector: Vectors | None
    waiting: int
    character: Character | None = None
    trust: float = 1.0
    approximate: Nearest | None = None


@dataclass(frozen=True)
class Likeness:
    """A text that hits shall be like: its telling words, and the paths of the notes that are this text themselves."""

    words: list[Word]
    barred: frozenset[str] = frozenset()


def likeness(index: Index, texts: str, language: str, barred: frozenset[str]) -> Likeness:
    """The words of a text that are frequent in it and rare in the store."""
    counts = Counter(text.terms(texts[:MOST_LIKE], language))
    words = {term: Word(term, (term,), False) for term in counts}
    weights = {term: count * index.text.idf(words[term]) for term, count in counts.most_common(MOST_TERMS)}
    best = sorted(weights, key=lambda term: (-weights[term], term))[:LIKE_WORDS]
    return Likeness([words[term] for term in best], barred)


@dataclass(frozen=True)
class Meant:
    """A query's vector among the vectors of an index; see Meaning for `character` and `trust`."""

    index: Index
    vector: Vectors
    character: Character
    trust: float = 1.0
    approximate: Nearest | None = None

    @cached_property
    def _all(self) -> Vectors:
        """The cosine of every chunk."""
        return self.index.vectors.cosines(self.vector)

    def nearest(self, count: int) -> Sequence[tuple[float, int]]:
        """The nearest chunks as (cosine, number), by the HNSW index where that is asked and can answer."""
        from okl.index.vectors import best

        found = self.approximate(self.index, self.vector, count) if self.approximate else None
        return best(self._all, count) if found is None else found

    def cosines(self, numbers: Sequence[int]) -> list[float]:
        """How near some chunks are; 0 for one without a vector."""
        return [float(cosine) for cosine in self.index.vectors.at(numbers) @ self.vector]

    @cached_property
    def middle(self) -> float:
        """How near a chunk of the store is in the median, told from a sample where not every chunk was compared."""
        from okl.index.vectors import middle

        return middle(self._all if "_all" in self.__dict__ else self.index.vectors.sample(self.vector))

    def towards(self, numbers: Sequence[int], share: float) -> Meant:
        """The query moved towards the mean of some chunks."""
        moved = self.vector + share * self.index.vectors.at(numbers).mean(axis=0)
        return replace(self, vector=moved / (moved @ moved) ** 0.5)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that a leg found, with that leg's score: BM25, or the cosine. `exact`: the query is its note's title."""

    row: ChunkRow
    note: NoteRow
    score: float
    exact: bool = False


@dataclass(frozen=True)
class Asked:
    """The query as the text leg understands it."""

    words: list[Word]
    query: TextQuery
    languages: tuple[str, ...]

    @property
    def terms(self) -> frozenset[str]:
        """Every term that any of its words may stand as."""
        return frozenset(term for word in self.words for term in word.terms)

    @property
    def answerable(self) -> bool:
        """Whether it has any word: signs and pictures stand in no index."""
        return bool(self.words or self.query.phrases or self.query.everything)


def understood(index: Index, query: Query, like: Likeness | None = None) -> Asked:
    """The words of `query` in the languages of the store, stop words out; without words those of the text it shall be like."""
    languages = tuple(index.state.languages()) or ("en",)
    words = text.telling(text.words(query.words, languages))[:MOST_WORDS]
    if like and not words and not query.phrases:
        return Asked(like.words, TextQuery(tuple(like.words), languages=languages), languages)
    whole = query.words if not query.phrases else ""
    everything = not query.words.strip() and not query.phrases
    shown = [word for phrase in query.phrases for word in text.words(phrase, languages)]
    return Asked(words + shown, TextQuery(tuple(words), query.phrases, whole, languages, everything, query.quotes), languages)


def text_leg(index: Index, asked: Asked, selection: Selection, wanted: int) -> list[Candidate]:
    """The best chunks by BM25 in notes that pass the filters, from `wanted` notes if there are so many."""
    if not asked.answerable:
        return []
    found = _widening(index, selection, wanted, index.text.size, lambda wide: index.text.search(asked.query, wide))
    if asked.query.everything:
        return sorted(found, key=lambda c: (c.row.ord, _reversed(c.note.updated), c.note.id))
    named = [replace(c, score=c.score - text.EXACT_TITLE, exact=True) if c.score >= text.EXACT_TITLE else c for c in found]
    return sorted(named, key=lambda c: (not c.exact, -c.score, c.note.id, c.row.start))


def vector_leg(meant: Meant, selection: Selection, wanted: int) -> list[Candidate]:
    """The nearest chunks in notes that pass the filters, from `wanted` notes if there are so many."""
    found = _widening(meant.index, selection, wanted, len(meant.index.vectors), meant.nearest)
    return sorted(found, key=lambda c: (-c.score, c.note.id, c.row.start))


def opening(index: Index, selection: Selection, paths: Sequence[str]) -> list[Candidate]:
    """The first chunk of each of these notes that passes the filters."""
    numbers = index.state.rows_in("SELECT number FROM chunks WHERE ord = 0 AND path IN (?)", paths)
    return candidates(index, selection, ((0.0, row[0]) for row in numbers))


def _widening(
    index: Index, selection: Selection, wanted: int, most: int, search: Callable[[int], Sequence[tuple[float, int]]]
) -> list[Candidate]:
    """What `search` finds that passes the filters; it is asked for more as long as too little passes."""
    wide = max(WIDTH, wanted * 5)
    while True:
        scored = search(wide)
        found = candidates(index, selection, scored)
        if wide >= most or len({c.note.id for c in found}) >= wanted:
            return found
        wide *= 8


def candidates(index: Index, selection: Selection, scored: Iterable[tuple[float, int]]) -> list[Candidate]:
    """The chunks of these (score, number) that are still there and whose notes pass the filters."""
    listed = list(scored)
    rows = index.state.chunks(number for _, number in listed)
    allowed = selection.admit(row.path for row in rows.values())
    return [
        Candidate(row, note, score) for score, number in listed if (row := rows.get(number)) and (note := allowed.get(row.path)) is not None
    ]


def with_any(index: Index, without: Sequence[str], languages: tuple[str, ...]) -> set[str]:
    """Paths of the notes in which one of the unwanted words or phrases stands anywhere."""
    numbers = [
        number for unwanted in without for _, number in index.text.search(TextQuery((), (unwanted,), "", languages), index.text.size)
    ]
    return {row.path for row in index.state.chunks(numbers).values()}


def _reversed(date: str) -> str:
    """A key that sorts later dates first."""
    return "".join(chr(0x10FFFF - ord(c)) for c in date) or chr(0x10FFFF)
