"""Calibrated relevance: how likely a hit is an answer, 0 to 1, comparable between queries."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from okl.fusion import Fused
from okl.index import text
from okl.index.generation import Index
from okl.index.language import WEAK_WORDS
from okl.index.text import Word
from okl.legs import Asked, Meant

HALF = 0.0135
"""The share of the best possible score, damped, at which relevance by words is one half (measured: docs/decisions.md)."""
BY_WORDS = 0.75
"""What relevance by words adds to nearness in meaning."""
EVEN, STEEP = 0.55, 6.0
"""Where, with meaning, relevance is one half, and how fast it grows there (measured: docs/decisions.md)."""


def relevances(index: Index, asked: Asked, meant: Meant | None, hits: Sequence[tuple[Fused, frozenset[str]]]) -> list[float]:
    """Relevance of each hit, given with the terms of its passage; 1 when only filters were given."""
    if asked.query.everything or not hits:
        return [1.0] * len(hits)
    by_words = _by_words(index, asked, hits)
    if meant is None:
        return by_words
    return [1.0 if fused.exact else _with_meaning(fused, words, meant) for words, (fused, _) in zip(by_words, hits, strict=True)]


def _with_meaning(fused: Fused, words: float, meant: Meant) -> float:
    """How far the cosine rises above that of unrelated texts, with what the words add, or alone if it is high."""
    if "vector" not in fused.said:
        return words
    character = meant.character
    near = meant.trust * (fused.said["vector"][0] - character.floor) / character.span
    return 1 / (1 + exp(-STEEP * (max(near + BY_WORDS * words, character.alone * near) - EVEN)))


def _by_words(index: Index, asked: Asked, hits: Sequence[tuple[Fused, frozenset[str]]]) -> list[float]:
    """The share of the best score that the query could reach, lowered when the best hit has few of its words, and as the store grows."""
    top = text.BEST_TERM * sum(index.text.idf(word) for word in asked.words)
    damp = _damp(asked.words, hits[0][1]) / log(max(index.text.size, 10))
    scores = []
    for fused, _ in hits:
        share = fused.said.get("text", (0.0, 0))[0] / top * damp if top else 0.0
        scores.append(1.0 if fused.exact else share / (share + HALF))
    return scores


def _damp(words: list[Word], present: frozenset[str]) -> float:
    """M / (m + 1) for m telling words in the best hit; 1 when it has them all."""
    stands = [any(term in present for term in word.terms) for word in words]
    if all(stands):
        return 1.0
    strong = [here for word, here in zip(words, stands, strict=True) if word.text not in WEAK_WORDS] or stands
    return sum(strong) / (sum(strong) + 1)
