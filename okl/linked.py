"""The linked lane: what hangs on the best direct hits, one hop away. Its score never mixes with the direct one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log
from typing import Any

from okl import mentions
from okl.entities import entities
from okl.fusion import Fused
from okl.index.generation import Index
from okl.legs import Candidate, Meant, candidates
from okl.select import Selection

SEEDS = 2
"""Direct hits that the lane starts from."""
LEAST = 0.7
"""The score from which on a linked hit takes a direct one's place."""
MOST_NOTES = 20
"""Notes that a name may lead to; one that leads to more tells nothing."""
MOST_CANDIDATES = 50
MOST_NAMES = 30
FORTH, BACK, KEY, NAME = "forth", "back", "key", "name"
KINDS = {"mention": FORTH, "link": FORTH, "backmention": BACK, "backlink": BACK, "key": KEY, "entity": NAME}
WEIGHTS = {FORTH: 1.0, BACK: 0.25, KEY: 0.5, NAME: 0.3}
"""How much a tie counts, at the rarest."""


@dataclass(frozen=True, slots=True)
class Tie:
    """One way from a direct hit to another note: the kind, the name it goes by, and how telling that is, 0 to 1."""

    path: str
    seed: str
    kind: str
    name: str
    strength: float


def named_in(index: Index, text: str) -> set[str]:
    """Paths of the notes whose title or alias stands in a query; of titles within one another the longest."""
    found = _titles(index, mentions.forms(text))
    longest = [form for form in found if not any(f" {form} " in f" {other} " for other in found if other != form)]
    return {path for form in longest for path, _ in found[form] if len(found[form]) <= MOST_NOTES}


def ties(index: Index, seeds: Sequence[Fused], texts: Mapping[str, str], languages: Sequence[str]) -> list[Tie]:
    """All ways out of the seeds, given the text of each: titles it mentions, notes that mention its own, links both ways, shared keys."""
    found: list[Tie] = []
    for seed in seeds:
        path = seed.note.path
        found += _mentioned(index, path, texts.get(path, ""), languages)
        found += _mentioning(index, path, seed.note.title, languages)
        found += _linked(index, path)
        found += _sharing(index, path)
        found += _naming(index, path, texts.get(path, ""), languages)
    return [tie for tie in found if tie.path != tie.seed]


def _titles(index: Index, forms: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """(path, title) by form."""
    found: dict[str, list[tuple[str, str]]] = {}
    for form, path, title in index.state.rows_in("SELECT form, path, title FROM titles WHERE form IN (?)", forms):
        found.setdefault(form, []).append((path, title))
    return found


def _mentioned(index: Index, seed: str, text: str, languages: Sequence[str]) -> Iterator[Tie]:
    forms = mentions.forms(text)
    for form, rows in _titles(index, forms).items():
        meant = [(path, title) for path, title in rows if any(mentions.is_meant(title, written) for written in forms[form])]
        if meant and len(meant) <= MOST_NOTES:
            count, _ = index.text.phrase(form, languages, 1)
            yield from (Tie(path, seed, "mention", title, _rarity(index, count)) for path, title in meant)


def _mentioning(index: Index, seed: str, title: str, languages: Sequence[str]) -> Iterator[Tie]:
    form = mentions.form(title)
    if not form:
        return
    count, numbers = index.text.phrase(form, languages, MOST_NOTES)
    if count > MOST_NOTES:
        return
    for path in sorted({row.path for row in index.state.chunks(numbers).values()}):
        yield Tie(path, seed, "backmention", title, _rarity(index, count))


def _linked(index: Index, seed: str) -> Iterator[Tie]:
    rows = index.state.rows("SELECT DISTINCT found, target FROM links WHERE path = ? AND found IS NOT NULL", (seed,))
    counts = dict(
        index.state.rows_in("SELECT found, count(DISTINCT path) FROM links WHERE found IN (?) GROUP BY found", {path for path, _ in rows})
    )
    for path, target in rows:
        yield Tie(path, seed, "link", target, _rarity(index, counts.get(path, 1)))
    back = index.state.rows("SELECT path, min(target) FROM links WHERE found = ? GROUP BY path", (seed,))
    if len(back) <= MOST_NOTES:
        yield from (Tie(path, seed, "backlink", target, _rarity(index, len(back))) for path, target in back)


def _sharing(index: Index, seed: str) -> Iterator[Tie]:
    """Notes that hang on a key of the seed's which is rare enough to tell something."""
    own = dict(index.state.rows("SELECT folded, label FROM keys WHERE path = ? AND origin != 'extracted'", (seed,)))
    rows = index.state.rows_in("SELECT DISTINCT folded, path FROM keys WHERE origin != 'extracted' AND folded IN (?)", own)
    by_key: dict[str, list[str]] = {}
    for folded, path in rows:
        by_key.setdefault(folded, []).append(path)
    for folded, paths in by_key.items():
        if 2 <= len(paths) <= MOST_NOTES:
            yield from (Tie(path, seed, "key", own[folded], _rarity(index, len(paths))) for path in paths)


def _naming(index: Index, seed: str, text: str, languages: Sequence[str]) -> Iterator[Tie]:
    """Notes with a name that stands in the seed's text too and is rare enough to tell something."""
    names = dict.fromkeys(entity.name for entity in entities(text) if entity.type != "date")
    for name in islice(names, MOST_NAMES):
        count, numbers = index.text.phrase(name, languages, MOST_NOTES + 1)
        if 2 <= count <= MOST_NOTES:
            paths = sorted({row.path for row in index.state.chunks(numbers).values()})
            yield from (Tie(path, seed, "entity", name, _rarity(index, count)) for path in paths)


def _rarity(index: Index, count: int) -> float:
    """1 for a name that leads to one note, less the more it leads to."""
    size = max(index.text.size, 2)
    return min(1.0, log(1 + size / max(count, 1)) / log(1 + size))


def rank(index: Index, found: Sequence[Tie], direct: Sequence[Fused], meant: Meant | None, selection: Selection) -> list[Fused]:
    """The notes at the end of the ties, best first, each by its chunk that fits the query best.

    What counts is how telling the ties are, and what the note says itself of the query.
    """
    by_path: dict[str, list[Tie]] = {}
    for tie in found:
        by_path.setdefault(tie.path, []).append(tie)
    chunks = _best_chunks(index, by_path, direct, meant, selection)
    share = _shares(direct, meant)
    scores = {path: _evidence(by_path[path]) + share(fused) for path, fused in chunks.items()}
    best = sorted(scores, key=lambda path: (-scores[path], path))[:MOST_CANDIDATES]
    rows = [replace(chunks[path], score=scores[path], lane="linked", via=_via(by_path[path], direct)) for path in best]
    return sorted(rows, key=lambda f: (-f.score, f.note.id))


def _shares(direct: Sequence[Fused], meant: Meant | None) -> Callable[[Fused], float]:
    """What a chunk says of the query, in the terms of the direct hits: 1 where it is the best in words and meaning."""
    best_words = max((fused.said.get("text", (0.0, 0))[0] for fused in direct), default=0.0) or 1.0
    best_cosine = max((fused.said.get("vector", (0.0, 0))[0] for fused in direct), default=0.0)
    middle = meant.middle if meant else 0.0
    span = best_cosine - middle
    part = meant.trust / 2 if meant else 0.0

    def share(fused: Fused) -> float:
        words = fused.said.get("text", (0.0, 0))[0] / best_words
        meaning = (fused.said.get("vector", (middle, 0))[0] - middle) / span if span > 0 else 0.0
        return (1 - part) * words + part * meaning

    return share


def _best_chunks(
    index: Index, by_path: Mapping[str, list[Tie]], direct: Sequence[Fused], meant: Meant | None, selection: Selection
) -> dict[str, Fused]:
    known: dict[str, Fused] = {}
    for fused in direct:
        known.setdefault(fused.note.path, fused)
    rest = [path for path in by_path if path not in known]
    numbers = [row[0] for row in index.state.rows_in("SELECT number FROM chunks WHERE path IN (?)", rest)]
    cosines = meant.cosines(numbers) if meant and numbers else [0.0] * len(numbers)
    best: dict[str, Candidate] = {}
    for candidate in candidates(index, selection, zip(cosines, numbers, strict=True)):
        path = candidate.note.path
        if path not in best or (candidate.score, -candidate.row.start) > (best[path].score, -best[path].row.start):
            best[path] = candidate
    found = {path: Fused(c.row, c.note, 0.0, {"vector": (c.score, 0)} if meant else {}) for path, c in best.items()}
    return found | {path: fused for path, fused in known.items() if path in by_path}


def _evidence(ways: Iterable[Tie]) -> float:
    """The strongest tie forth, back, by a shared key and by a shared name, together."""
    best: dict[str, float] = {}
    for tie in ways:
        way = KINDS[tie.kind]
        best[way] = max(best.get(way, 0.0), tie.strength * WEIGHTS[way])
    return sum(best.values())


def _via(ways: Sequence[Tie], direct: Sequence[Fused]) -> tuple[dict[str, Any], ...]:
    """The strongest way: the note it starts from, and the name it goes by."""
    ids = {fused.note.path: fused.note.id for fused in direct}
    best = max(ways, key=lambda tie: (tie.strength * WEIGHTS[KINDS[tie.kind]], tie.kind, tie.name))
    return ({"note": ids[best.seed]}, {best.kind: best.name})
