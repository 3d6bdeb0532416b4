"""Ranking: what the legs find, in one order, and what hangs on it. No file but those of the seeds is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from okl import fusion, legs, linked
from okl.errors import OklError
from okl.fusion import Fused, Pool
from okl.index.generation import Index
from okl.legs import Asked, Likeness, Meaning, Meant
from okl.note import parse
from okl.query import Query
from okl.select import Selection
from okl.store import Store

LANES = {"both": frozenset(("direct", "linked")), "direct": frozenset(("direct",)), "linked": frozenset(("linked",))}
SHARE = 0.5
"""The vector leg's share of a fused score, where the model can read all of the query."""


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
    lanes: frozenset[str] = LANES["both"]
    deep: bool = False  # whether what hangs on any direct hit follows, up to `limit` more
    like: Likeness | None = None


@dataclass(frozen=True)
class Ranking:
    """All that was found for one request, best first, by lane; and how it was understood."""

    asked: Asked
    selection: Selection
    meant: Meant | None
    direct: list[Fused]
    linked: list[Fused]

    def chosen(self, request: Request) -> list[Fused]:
        """What is shown, in order, if its files are still as they were."""
        direct = _of_each_document(self.direct, request.limit, request.per_document) if "direct" in request.lanes else []
        found = arranged(direct, self.strong(request), request.limit)
        if not request.deep:
            return found
        shown = {fused.note.path for fused in found}
        return found + [fused for fused in self.linked if fused.note.path not in shown][: request.limit]

    def strong(self, request: Request) -> list[Fused]:
        """The linked hits that may take a place: all of them if nothing else was asked for."""
        return [fused for fused in self.linked if fused.score >= linked.LEAST or request.lanes == LANES["linked"]]


def ranking(store: Store, index: Index, request: Request, meaning: Meaning | None) -> Ranking:
    """Everything that `index` has for `request`."""
    asked = legs.understood(index, request.query, request.like)
    selection = Selection(index, request.query.filters, request.now)
    meant = None
    if meaning and meaning.vector is not None and meaning.character and meaning.trust and not asked.query.everything:
        meant = Meant(index, meaning.vector, meaning.character, meaning.trust, meaning.approximate)
    direct = _aged(_direct(index, asked, request, selection, meant), request)
    return Ranking(asked, selection, meant, direct, _linked(store, index, asked, request, selection, meant, direct))


def _direct(index: Index, asked: Asked, request: Request, selection: Selection, meant: Meant | None) -> list[Fused]:
    """The candidates of all legs that can run, in one order."""
    wanted = request.limit * 2
    by_words = legs.text_leg(index, asked, selection, wanted)
    barred = legs.with_any(index, request.query.without, asked.languages) | (request.like.barred if request.like else set())
    by_words = [c for c in by_words if c.note.path not in barred]
    if asked.query.everything:
        return [Fused(c.row, c.note, 1.0, {"text": (1.0, rank)}) for rank, c in enumerate(by_words, 1)]
    by_meaning = legs.vector_leg(meant, selection, wanted) if meant else []
    if asked.query.phrases:  # they must stand in the text
        holding = {c.row.number for c in by_words}
        by_meaning = [c for c in by_meaning if c.row.number in holding]
    pool = Pool()
    pool.add("text", by_words)
    pool.add("vector", (c for c in by_meaning if c.note.path not in barred))
    named = sorted(linked.named_in(index, request.query.words) - barred)
    if not asked.query.phrases:
        pool.add("title", legs.opening(index, selection, named))
    return fusion.fuse(pool, meant, SHARE * meant.trust if meant else 0.0, named)


def _linked(
    store: Store, index: Index, asked: Asked, request: Request, selection: Selection, meant: Meant | None, direct: list[Fused]
) -> list[Fused]:
    """What hangs on the best direct hits."""
    if "linked" not in request.lanes or asked.query.everything or request.query.without or asked.query.phrases:
        return []
    seeds = fusion.first_chunks(direct)[: request.limit if request.deep else linked.SEEDS]
    texts = {seed.note.path: _text_of(store, seed) for seed in seeds}
    ways = linked.ties(index, seeds, texts, asked.languages)
    barred = request.like.barred if request.like else frozenset()
    return [fused for fused in linked.rank(index, ways, direct, meant, selection) if fused.note.path not in barred]


def _text_of(store: Store, seed: Fused) -> str:
    try:
        return parse(seed.row.path, store.read(seed.row.path)).body[seed.row.start : seed.row.end]
    except OklError:
        return ""


def _of_each_document(found: list[Fused], limit: int, per_document: int) -> list[Fused]:
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


def arranged(direct: list[Fused], linked: list[Fused], limit: int) -> list[Fused]:
    """Three direct hits, then two linked ones, and again; a note shows once in the places of the linked lane.

    A direct hit that the query names keeps its place; where one lane is at its end the other goes on.
    """
    found: list[Fused] = []
    waiting = list(direct)
    shown: set[str] = set()
    others = iter(linked)
    while len(found) < limit:
        keeps = bool(waiting) and waiting[0].named
        other = next((f for f in others if f.note.path not in shown), None) if len(found) % 5 >= 3 and not keeps else None
        if other is not None:
            waiting = [f for f in waiting if f.note.path != other.note.path]
        elif waiting:
            other = waiting.pop(0)
        else:
            break
        found.append(other)
        shown.add(other.note.path)
    return found + [f for f in others if f.note.path not in shown][: limit - len(found)]


def _aged(found: list[Fused], request: Request) -> list[Fused]:
    """The candidates in the order of scores that fall with age, if that was asked for."""
    if not request.half_life:
        return found
    aged = [replace(fused, score=fused.score * age_factor(fused, request)) for fused in found]
    return sorted(aged, key=lambda f: (not f.exact, -f.score, f.note.id, f.row.start))


def age_factor(fused: Fused, request: Request) -> float:
    """What is left of a score for the note's age."""
    if not request.half_life or fused.note.kind == "doc" or not fused.note.updated:
        return 1.0
    then = datetime.fromisoformat(fused.note.updated)
    days = max(0.0, (request.now.astimezone(UTC) - then).total_seconds() / 86400)
    return float(0.5 ** (days / request.half_life))
