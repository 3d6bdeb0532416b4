"""Find a quote again in a text that was edited. Pure functions, no disk."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

CONTEXT = 32
SAME = 0.78
MAYBE = 0.6
CLEAR = 0.06
VOTERS = 16
MANY = 200
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Anchor:
    """Words and where they stood: the quote, a little text around it, and its offset in code points."""

    quote: str
    pre: str
    post: str
    start: int


@dataclass(frozen=True, slots=True)
class Found:
    """How a quote stands in a text: the verdict, its span there (None when lost), and how alike it is, 0 to 1."""

    verdict: str  # exact | moved | changed | ambiguous | lost
    span: tuple[int, int] | None
    similarity: float
    candidates: tuple[tuple[int, int], ...] = ()


def find(anchor: Anchor, text: str) -> Found:
    """Say how `anchor` stands in `text`: at its place, elsewhere, changed, in several places, or not at all."""
    quote = anchor.quote
    if not quote:
        return Found("lost", None, 0.0)
    if text.startswith(quote, anchor.start):
        return Found("exact", (anchor.start, anchor.start + len(quote)), 1.0)
    spans = _occurrences(quote, text) or _folded_occurrences(quote, text)
    if len(spans) == 1:
        return Found("moved", spans[0], 1.0)
    if spans:
        return _by_context(anchor, text, spans)
    return _fuzzy(anchor, text)


def _occurrences(quote: str, text: str, most: int = 10_000) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = text.find(quote)
    while at >= 0 and len(spans) < most:
        spans.append((at, at + len(quote)))
        at = text.find(quote, at + 1)
    return spans


def _folded_occurrences(quote: str, text: str) -> list[tuple[int, int]]:
    """Occurrences when white space, ligatures and full-width forms do not count."""
    if unicodedata.is_normalized("NFKC", quote) and unicodedata.is_normalized("NFKC", text):
        pattern = r"\s+".join(re.escape(word) for word in quote.split())
        return [match.span() for match in re.finditer(pattern, text)] if pattern else []
    folded, starts, ends = fold(text)
    wanted = fold(quote)[0].strip()
    if not wanted:
        return []
    return [(starts[a], ends[b - 1]) for a, b in _occurrences(wanted, folded)]


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """`text` in NFKC with each run of white space as one blank; for each character where it began and ended."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        for c in unicodedata.normalize("NFKC", text[start:end]):
            if c.isspace() and parts and parts[-1] == " ":
                ends[-1] = end
                continue
            parts.append(" " if c.isspace() else c)
            starts.append(start)
            ends.append(end)
    return "".join(parts), starts, ends


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans of characters with what composes with them, so that NFC and NFD fold alike."""
    found: list[tuple[int, int]] = []
    for at, c in enumerate(text):
        if found and not c.isascii() and (unicodedata.combining(c) or "\u1160" <= c <= "\u11ff"):
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def _by_context(anchor: Anchor, text: str, spans: list[tuple[int, int]]) -> Found:
    """Of several occurrences the one whose surroundings fit; ambiguous if none stands out."""
    rated = sorted(((_context(anchor, text, span), span) for span in spans), key=lambda r: -r[0])
    if rated[0][0] >= 0.5 and rated[0][0] - rated[1][0] > 0.15:
        return Found("moved", rated[0][1], 1.0)
    return Found("ambiguous", None, 1.0, tuple(spans))


def _context(anchor: Anchor, text: str, span: tuple[int, int]) -> float:
    """How well the text around `span` agrees with the anchor's context, 0 to 1."""
    pre = text[max(0, span[0] - CONTEXT) : span[0]]
    post = text[span[1] : span[1] + CONTEXT]
    ratios = [fuzz.ratio(a, b) / 100 for a, b in ((anchor.pre, pre), (anchor.post, post)) if a or b]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _fuzzy(anchor: Anchor, text: str) -> Found:
    """The best likeness of the quote, if it is alike enough and clear of the next best."""
    rated = sorted({_aligned(anchor.quote, text, place) for place in _places(anchor, text)}, reverse=True)
    rated = _apart(rated)
    if not rated or rated[0][0] < MAYBE:
        return Found("lost", None, rated[0][0] if rated else 0.0)
    scored = sorted(((0.9 * alike + 0.1 * _context(anchor, text, span), alike, span) for alike, span in rated), reverse=True)
    score, alike, span = scored[0]
    if len(scored) > 1 and score - scored[1][0] < CLEAR:
        return Found("ambiguous", None, alike, tuple(span for _, _, span in scored[:5]))
    verdict = "changed" if alike >= SAME else "ambiguous"
    return Found(verdict, span if verdict == "changed" else None, alike, (span,))


def _places(anchor: Anchor, text: str) -> list[tuple[int, int]]:
    """Windows of `text` worth a close look: where the quote's longest words stand as they stood to each other."""
    size = len(anchor.quote)
    longest = sorted({m[0]: m.start() for m in _WORD.finditer(anchor.quote)}.items(), key=lambda item: -len(item[0]))[:VOTERS]
    if len(longest) < 3 or len(text) <= 4 * size:
        return [(max(0, at - size), min(len(text), at + 2 * size)) for at in range(0, max(1, len(text)), size)][:400]
    bucket = max(24, size // 4)
    votes: dict[int, float] = {}
    for word, at in longest:
        found = _occurrences(word, text, MANY + 1)
        for place, _ in found if len(found) <= MANY else ():
            number = (place - at) // bucket
            votes[number] = votes.get(number, 0.0) + 1.0 / len(found)
    slack = bucket + size // 2
    starts = sorted(votes, key=lambda number: (-votes[number], number))[:8]
    return [(max(0, n * bucket - slack), min(len(text), n * bucket + size + slack + bucket)) for n in starts]


def _aligned(quote: str, text: str, place: tuple[int, int]) -> tuple[float, tuple[int, int]]:
    """The part of the window most like the quote, and how alike the two are."""
    window = text[place[0] : place[1]]
    found = fuzz.partial_ratio_alignment(quote, window)
    if found is None:
        return 0.0, (place[0], place[0])
    rough = (place[0] + found.dest_start, place[0] + found.dest_end)
    spans = {_whole_words(text, *rough), _whole_words(text, *_fitted(quote, text, rough))}
    return max((fuzz.ratio(quote, text[start:end]) / 100, (start, end)) for start, end in spans)


def _fitted(quote: str, text: str, rough: tuple[int, int]) -> tuple[int, int]:
    """`rough` (as long as the quote) stretched or shrunk to where the quote's first and last letters went."""
    start, end = max(0, rough[0] - CONTEXT), min(len(text), rough[1] + CONTEXT)
    blocks = [b for b in Indel.editops(quote, text[start:end]).as_matching_blocks() if b.size >= 3]
    return (start + blocks[0].b, start + blocks[-1].b + blocks[-1].size) if blocks else rough


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blanks at its ends and without cutting a word in two."""
    while start > 0 and start < len(text) and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _apart(rated: list[tuple[float, tuple[int, int]]]) -> list[tuple[float, tuple[int, int]]]:
    """The best of each group of overlapping spans."""
    kept: list[tuple[float, tuple[int, int]]] = []
    for alike, span in rated:
        if all(span[1] <= other[0] or span[0] >= other[1] for _, other in kept):
            kept.append((alike, span))
    return kept
