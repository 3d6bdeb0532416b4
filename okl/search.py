"""Search: what was found for a query, each hit checked against its file, made citable, and told how relevant it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from okl.cite.record import Passage, passage
from okl.errors import OklError, UsageError
from okl.fusion import Fused
from okl.index import record, text
from okl.index.generation import Index
from okl.index.record import Settings
from okl.index.state import ChunkRow
from okl.legs import Asked, Meaning
from okl.note import Note, parse, sha256
from okl.ranking import Ranking, Request, age_factor, ranking
from okl.relevance import relevances
from okl.select import NoteRow
from okl.snippet import Snippet, snippet
from okl.store import Store

TAIL = 0.06
"""Hits under this share of the least score that the best hit needs are left out."""


@dataclass(frozen=True)
class Hit:
    """One result."""

    passage: Passage
    fused: Fused
    score: float
    lane: str
    snippet: Snippet
    terms: frozenset[str] = frozenset()

    @property
    def note(self) -> NoteRow:
        """The note it stands in."""
        return self.fused.note


@dataclass
class Results:
    """The hits, which legs ran, and what weakened the answer."""

    hits: list[Hit] = field(default_factory=list)
    legs: list[str] = field(default_factory=lambda: ["text"])
    degraded: list[str] = field(default_factory=list)
    lag: int = 0  # chunks that have no vector yet


def search(store: Store, index: Index, request: Request, settings: Settings, meaning: Meaning | None = None) -> Results:
    """Answer `request` from `index`; every hit is read from its file before it is shown."""
    if request.query.is_empty and request.like is None:
        raise UsageError("Say what to search for.")
    return answered(store, index, request, settings, meaning, ranking(store, index, request, meaning))


def answered(store: Store, index: Index, request: Request, settings: Settings, meaning: Meaning | None, found: Ranking) -> Results:
    """The hits of a ranking."""
    results = Results()
    _tell(results, found, meaning)
    unseen = [] if "direct" in request.lanes else found.direct[:1]  # what the linked hits hang on must be relevant all the same
    chosen = [*unseen, *found.chosen(request)]
    hits = [hit for fused in chosen if (hit := _checked(store, fused, found.asked, settings, results))]
    results.hits = _within_budget(_relevant(index, found, request, hits), request)
    return results


def _tell(results: Results, found: Ranking, meaning: Meaning | None) -> None:
    """Which legs ran, and which should have."""
    if meaning is None or found.asked.query.everything:
        return
    if found.meant is None:
        results.degraded.append("vector")
    else:
        results.legs.append("vector")
    if meaning.waiting:
        results.degraded.append("vector-lag")
        results.lag = meaning.waiting


def _checked(store: Store, candidate: Fused, asked: Asked, settings: Settings, results: Results) -> Hit | None:
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
    shown = snippet(found.quote, asked.terms, lambda word: text.word_terms(word, language))
    terms = text.analysed([*context, found.quote], language)
    return Hit(found, candidate, candidate.score, candidate.lane, shown, terms)


def _degrade(results: Results, what: str) -> None:
    if what not in results.degraded:
        results.degraded.append(what)


def _present_span(note: Note, row: ChunkRow, asked: Asked, language: str, settings: Settings) -> tuple[int, int] | None:
    """Where the indexed chunk stands in the file as it is now: unmoved, moved, or the part that still has the words."""
    if sha256(note.body[row.start : row.end]) == row.sha256:
        return row.start, row.end
    now = record.chunks(note, settings)
    for one in now:
        if one.sha256 == row.sha256:
            return one.start, one.end
    rated = [(len(asked.terms & set(text.terms(note.body[c.start : c.end], language))), -c.start, c) for c in now]
    best = max(rated, key=lambda r: r[:2])
    return (best[2].start, best[2].end) if best[0] else None


def _relevant(index: Index, found: Ranking, request: Request, hits: list[Hit]) -> list[Hit]:
    """Scores as calibrated relevance; nothing at all if no direct hit is relevant enough."""
    relevance = relevances(index, found.asked, found.meant, [(hit.fused, hit.terms) for hit in hits])
    rated = [(hit, score, _literal(found.asked, hit)) for hit, score in zip(hits, relevance, strict=True)]
    best = max((score for hit, score, _ in rated if hit.lane == "direct"), default=0.0)
    if best < request.min_score and (request.strict or not any(literal for _, _, literal in rated)):
        return []
    floor = request.min_score if request.strict else TAIL * request.min_score
    linked = {fused.note.path: fused for fused in found.strong(request)}
    kept = []
    for hit, score, literal in rated:
        if score < floor and hit.lane == "direct" and hit.note.path in linked:  # not for itself, but for what it hangs on
            hit = replace(hit, fused=linked[hit.note.path], lane="linked")
        if hit.lane in request.lanes and (score >= floor or (not request.strict and (literal or hit.lane == "linked"))):
            kept.append(replace(hit, score=round(score * age_factor(hit.fused, request), 4)))
    return kept


def _literal(asked: Asked, hit: Hit) -> bool:
    """Whether a hit has every word that was asked for, or the phrase: then it is an answer, whatever its score."""
    if asked.query.phrases:
        return True
    return all(any(term in hit.terms for term in word.terms) for word in asked.words)


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
        "why": hit.fused.why,
        "via": list(hit.fused.via),
        "status": hit.note.status or None,
        "updated": hit.note.updated or None,
        "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
    }
