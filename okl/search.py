"""Search: candidates from the legs, weighed, laid out, each one checked against its file and made citable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log
from typing import Any

from okl.cite.record import Passage, passage
from okl.errors import OklError, UsageError
from okl.index import chunk, text
from okl.index.generation import Index
from okl.index.language import WEAK_WORDS
from okl.index.record import Settings
from okl.index.state import ChunkRow
from okl.index.text import TextQuery, Word
from okl.note import Note, parse, sha256
from okl.query import Query
from okl.select import NoteRow, Selection
from okl.snippet import Snippet, snippet
from okl.store import Store

HALF = 0.0135
"""The share of the best possible score, damped, at which relevance is one half (measured: docs/decisions.md)."""
TAIL = 0.4
"""Hits under this share of the least score that the best hit needs are left out."""
MOST_WORDS = 200


@dataclass(frozen=True)
class Request:
    """One search."""

    query: Query
    limit: int
    per_document: int
    min_score: float
    half_life: float
    now: datetime
    budget: int | None = None
    strict: bool = False  # whether each hit must reach `min_score`, since it was asked for


@dataclass(frozen=True)
class Candidate:
    """A chunk that a leg found: BM25 or the like, and its place in the leg's list, from 1."""

    row: ChunkRow
    note: NoteRow
    score: float
    why: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Hit:
    """One result."""

    passage: Passage
    note: NoteRow
    score: float
    lane: str
    why: tuple[dict[str, Any], ...]
    snippet: Snippet
    terms: frozenset[str] = frozenset()


@dataclass
class Results:
    """The hits, which legs ran, and what weakened the answer."""

    hits: list[Hit] = field(default_factory=list)
    legs: list[str] = field(default_factory=lambda: ["text"])
    degraded: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Asked:
    """The query as the text leg understands it."""

    words: list[Word]
    query: TextQuery
    languages: tuple[str, ...]

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(term for word in self.words for term in word.terms)


def search(store: Store, index: Index, request: Request, settings: Settings) -> Results:
    """Answer `request` from `index`; every hit is read from its file before it is shown."""
    if request.query.is_empty:
        raise UsageError("Say what to search for.")
    asked = _understood(index, request.query)
    found = _text_leg(index, asked, request)
    chosen = _lay_out(found, request.limit, request.per_document)
    results = Results()
    hits = [hit for candidate in chosen if (hit := _checked(store, candidate, asked, settings, results))]
    results.hits = _within_budget(_weighed(index, asked, request, hits), request)
    return results


def _understood(index: Index, query: Query) -> _Asked:
    languages = tuple(index.state.languages()) or ("en",)
    words = text.telling(text.words(query.words, languages))[:MOST_WORDS]
    whole = query.words if not query.phrases else ""
    everything = not query.words.strip() and not query.phrases
    shown = [word for phrase in query.phrases for word in text.words(phrase, languages)]
    return _Asked(words + shown, TextQuery(tuple(words), query.phrases, whole, languages, everything), languages)


def _text_leg(index: Index, asked: _Asked, request: Request) -> list[Candidate]:
    """The best chunks by BM25 in notes that pass the filters, enough of them to fill the list."""
    selection = Selection(index, request.query.filters, request.now)
    if not (asked.words or asked.query.phrases or asked.query.everything):
        return []  # signs and pictures only: no word of it is in any index
    barred = _with_any(index, request.query.without, asked.languages)
    wide = max(100, request.limit * 10)
    while True:
        scored = index.text.search(asked.query, wide)
        rows = index.state.chunks(number for _, number in scored)
        allowed = selection.admit(row.path for row in rows.values())
        found = [
            Candidate(row, note, score, ())
            for score, number in scored
            if (row := rows.get(number)) and (note := allowed.get(row.path)) and row.path not in barred
        ]
        if len(scored) < wide or len({c.note.id for c in found}) >= request.limit * 2:
            break
        wide *= 8
    if asked.query.everything:
        found.sort(key=lambda c: (c.row.ord, _reversed(c.note.updated), c.note.id))
    else:
        found.sort(key=lambda c: (-c.score, c.note.id, c.row.start))
    return [Candidate(c.row, c.note, c.score, ({"leg": "text", "rank": rank},)) for rank, c in enumerate(found, 1)]


def _reversed(date: str) -> str:
    """A key that sorts later dates first."""
    return "".join(chr(0x10FFFF - ord(c)) for c in date) or chr(0x10FFFF)


def _with_any(index: Index, without: Sequence[str], languages: tuple[str, ...]) -> set[str]:
    """Paths of the notes in which one of the unwanted words or phrases stands anywhere."""
    numbers = [
        number for unwanted in without for _, number in index.text.search(TextQuery((), (unwanted,), "", languages), index.text.size)
    ]
    return {row.path for row in index.state.chunks(numbers).values()}


def _lay_out(found: list[Candidate], limit: int, per_document: int) -> list[Candidate]:
    """The best chunk of each document; where those do not fill the list, further ones, in order of score."""
    taken: dict[str, int] = {}
    ranked = []
    for place, candidate in enumerate(found):
        count = taken.get(candidate.note.id, 0)
        if count < per_document:
            taken[candidate.note.id] = count + 1
            ranked.append((count > 0, place, candidate))
    chosen = sorted(ranked, key=lambda r: r[:2])[:limit]
    return [candidate for _, _, candidate in sorted(chosen, key=lambda r: r[1])]


def _checked(store: Store, candidate: Candidate, asked: _Asked, settings: Settings, results: Results) -> Hit | None:
    """The hit as its file stands now; None if what was found is no longer there."""
    row = candidate.row
    try:
        data = store.read(row.path)
    except OklError:
        _degrade(results, "stale")
        return None
    note = parse(row.path, data)
    span = _present_span(note, row, asked, candidate.note.language, settings)
    if span != (row.start, row.end):
        _degrade(results, "stale")
    if span is None:
        return None
    known = candidate.note
    found = passage(note, known.id, *span, data, title=known.title, heading=row.headings[-1] if row.headings else "")
    language = known.language
    context = [*row.headings, known.title, *note.aliases, *known.tags, *note.topics]
    shown = snippet(found.quote, asked.terms, lambda word: text.terms(word, language))
    terms = text.analysed([*context, found.quote], language)
    return Hit(found, candidate.note, candidate.score, "direct", candidate.why, shown, terms)


def _degrade(results: Results, what: str) -> None:
    if what not in results.degraded:
        results.degraded.append(what)


def _present_span(note: Note, row: ChunkRow, asked: _Asked, language: str, settings: Settings) -> tuple[int, int] | None:
    """Where the indexed chunk stands in the file as it is now: unmoved, moved, or the part that still has the words."""
    if sha256(note.body[row.start : row.end]) == row.sha256:
        return row.start, row.end
    now = chunk.chunks(note, settings.tokens, settings.overlap)
    for one in now:
        if one.sha256 == row.sha256:
            return one.start, one.end
    rated = [(len(asked.terms & set(text.terms(note.body[c.start : c.end], language))), -c.start, c) for c in now]
    best = max(rated, key=lambda r: r[:2])
    return (best[2].start, best[2].end) if best[0] else None


def _weighed(index: Index, asked: _Asked, request: Request, hits: list[Hit]) -> list[Hit]:
    """Scores as calibrated relevance, with recency; nothing at all if the best is not relevant enough."""
    relevance = _relevance(index, asked, hits)
    if hits and relevance[0] < request.min_score and (request.strict or not _literal(asked, hits)):
        return []
    floor = request.min_score if request.strict else TAIL * request.min_score
    aged = [_aged(hit, score, request) for hit, score in zip(hits, relevance, strict=True) if score >= floor]
    return sorted(aged, key=lambda h: -h.score) if request.half_life else aged


def _relevance(index: Index, asked: _Asked, hits: list[Hit]) -> list[float]:
    """Relevance of each hit, 0 to 1, comparable between queries; 1 when only filters were given.

    It is the share of the best score that the query could reach, lowered when the best hit has few
    of its words, and as the store grows.
    """
    if asked.query.everything or not hits:
        return [1.0] * len(hits)
    top = text.BEST_TERM * sum(index.text.idf(word) for word in asked.words)
    damp = _damp(asked.words, hits[0].terms) / log(max(index.text.size, 10))
    scores = []
    for hit in hits:
        if hit.score >= text.EXACT_TITLE:
            scores.append(1.0)
        else:
            share = hit.score / top * damp if top else 0.0
            scores.append(share / (share + HALF))
    return scores


def _damp(words: list[Word], present: frozenset[str]) -> float:
    """M / (m + 1) for m telling words in the best hit; 1 when it has them all."""
    stands = [any(term in present for term in word.terms) for word in words]
    if all(stands):
        return 1.0
    strong = [here for word, here in zip(words, stands, strict=True) if word.text not in WEAK_WORDS] or stands
    return sum(strong) / (sum(strong) + 1)


def _literal(asked: _Asked, hits: list[Hit]) -> bool:
    """Whether a hit has every word that was asked for, or the phrase: then it is an answer, whatever its score."""
    if asked.query.phrases:
        return True
    return any(all(any(term in hit.terms for term in word.terms) for word in asked.words) for hit in hits)


def _aged(hit: Hit, score: float, request: Request) -> Hit:
    factor = 1.0
    if request.half_life and hit.passage.type != "doc" and hit.note.updated:
        then = datetime.fromisoformat(hit.note.updated)
        days = max(0.0, (request.now.astimezone(UTC) - then).total_seconds() / 86400)
        factor = 0.5 ** (days / request.half_life)
    return Hit(hit.passage, hit.note, round(score * factor, 4), hit.lane, hit.why, hit.snippet)


def _within_budget(hits: list[Hit], request: Request) -> list[Hit]:
    """The first hits whose texts together have at most `budget` characters; always one."""
    if request.budget is None:
        return hits
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        used += len(hit.passage.quote)
        if kept and used > request.budget:
            break
        kept.append(hit)
    return kept


def shown(hit: Hit, cite: Callable[[Passage], str | None]) -> dict[str, Any]:
    """A hit as surfaces give it: the cite object's fields, and why it was found."""
    return {
        "type": hit.passage.type,
        "id": hit.passage.target,
        "uri": hit.passage.uri,
        "note": hit.note.id,
        **hit.passage.fields(),
        "tags": hit.note.tags,
        "cite": cite(hit.passage),
        "score": hit.score,
        "lane": hit.lane,
        "why": list(hit.why),
        "via": [],
        "status": hit.note.status or None,
        "updated": hit.note.updated or None,
        "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
    }
