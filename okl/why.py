"""Why a note stands where it stands in the results, or why it is not among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from okl import fusion, legs, search
from okl.errors import UsageError
from okl.fusion import Fused
from okl.index import text
from okl.index.generation import Index
from okl.index.record import Settings
from okl.legs import Meaning
from okl.note import parse
from okl.query import Filters
from okl.ranking import Ranking, Request, ranking
from okl.select import Selection, rows
from okl.store import Store

Data = dict[str, Any]


def explained(store: Store, index: Index, path: str, request: Request, settings: Settings, meaning: Meaning | None) -> Data:
    """The note's place, what each leg says of it, and each reason that keeps it out or down, as sentences."""
    if request.query.is_empty:
        raise UsageError("Say what to search for.")
    found = ranking(store, index, request, meaning)
    results = search.answered(store, index, request, settings, meaning, found)
    place = next((place for place, hit in enumerate(results.hits, 1) if hit.note.path == path), None)
    hit = results.hits[place - 1] if place else None
    note = rows(index.state, [path])[path]
    everyone = Selection(index, Filters(include_superseded=True), request.now)
    return {
        "id": note.id,
        "path": path,
        "title": note.title,
        "query": request.query.text,
        "found": place is not None,
        "rank": place,
        "lane": hit.lane if hit else None,
        "score": hit.score if hit else None,
        "legs": {"text": _by_words(store, index, path, found, everyone), "vector": _by_meaning(index, path, found, everyone)},
        "direct": _in(found.direct, path),
        "linked": _in(found.linked, path),
        "via": list(hit.fused.via) if hit else [],
        "degraded": results.degraded,
        "reasons": [] if hit else list(_reasons(store, index, path, request, settings, meaning, found)),
    }


def _in(lane: list[Fused], path: str) -> Data | None:
    """The note's place among the documents of a lane."""
    for rank, fused in enumerate(fusion.first_chunks(lane), 1):
        if fused.note.path == path:
            return {"rank": rank, "of": len(fusion.first_chunks(lane)), "score": round(fused.score, 4), "via": list(fused.via)}
    return None


def _by_words(store: Store, index: Index, path: str, found: Ranking, everyone: Selection) -> Data:
    """The note's place by BM25 among all notes, and which of the query's words stand in it."""
    note = parse(path, store.read(path))
    language = rows(index.state, [path])[path].language
    terms = text.analysed([note.title, *note.aliases, *note.tags, *note.topics, note.body], language)
    words = {word.text: any(term in terms for term in word.terms) for word in found.asked.words}
    return {**_place(legs.text_leg(index, found.asked, everyone, index.text.size), path), "words": words}


def _by_meaning(index: Index, path: str, found: Ranking, everyone: Selection) -> Data | None:
    """The note's place by cosine among all notes; None where that leg did not run."""
    if found.meant is None:
        return None
    return _place(legs.vector_leg(found.meant, everyone, index.text.size), path)


def _place(ranked: list[legs.Candidate], path: str) -> Data:
    seen: dict[str, float] = {}
    for candidate in ranked:
        seen.setdefault(candidate.note.path, candidate.score)
    rank = next((rank for rank, other in enumerate(seen, 1) if other == path), None)
    return {"rank": rank, "of": len(seen), "score": round(seen[path], 4) if rank else None}


def _reasons(
    store: Store, index: Index, path: str, request: Request, settings: Settings, meaning: Meaning | None, found: Ranking
) -> Iterator[str]:
    yield from found.selection.refusals(path)
    if path in legs.with_any(index, request.query.without, found.asked.languages):
        yield "it has a word or phrase that was asked not to be there"
    direct, linked_ = _in(found.direct, path), _in(found.linked, path)
    if direct is None and linked_ is None:
        yield "no leg has it among its candidates, and nothing links it to the best hits"
        return
    wide = search.answered(store, index, replace(request, min_score=0.0, strict=False), settings, meaning, found)
    best = max((hit.score for hit in wide.hits if hit.lane == "direct"), default=0.0)
    if best < request.min_score and wide.hits:
        yield f"the best hit's relevance is {best:.2f}, under the {request.min_score:g} that a search needs to find anything"
    elif direct is not None and direct["rank"] > request.limit:
        yield f"{direct['rank'] - 1} notes stand before it, and {request.limit} are shown"
    elif any(hit.note.path == path for hit in wide.hits):
        score = next(hit.score for hit in wide.hits if hit.note.path == path)
        yield f"its relevance is {score:.2f}, too little beside the best hit's {best:.2f}"
    else:
        yield f"{request.limit} results are shown, and its lane's slots were taken by others"
