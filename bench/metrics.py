"""Measures of a ranking, and paired tests between two systems. Numbers only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log2
from statistics import fmean

import numpy as np

Ranking = Sequence[str]
Gold = Mapping[str, int]
Scores = Sequence[float]

DRAWS = 10_000
SEED = 20260504


def ndcg(ranking: Ranking, gold: Gold, depth: int) -> float:
    """Discounted gain of the first `depth` over the best there could be, grades counted as they are."""
    gained = sum(gold.get(unit, 0) / log2(place + 2) for place, unit in enumerate(ranking[:depth]))
    best = sum(grade / log2(place + 2) for place, grade in enumerate(sorted(gold.values(), reverse=True)[:depth]))
    return gained / best


def recall(ranking: Ranking, gold: Gold, depth: int) -> float:
    """The share of the relevant that stands among the first `depth`."""
    return len(gold.keys() & set(ranking[:depth])) / len(gold)


def found_all(ranking: Ranking, gold: Gold, depth: int) -> float:
    """1 if all that is relevant stands among the first `depth`, else 0."""
    return float(gold.keys() <= set(ranking[:depth]))


def found_any(ranking: Ranking, gold: Gold, depth: int) -> float:
    """1 if anything relevant stands among the first `depth`, else 0."""
    return float(not gold.keys().isdisjoint(ranking[:depth]))


_BY_NAME: dict[str, Callable[[Ranking, Gold, int], float]] = {
    "nDCG": ndcg,
    "recall": recall,
    "both": found_all,
    "recall_all": found_all,
    "recall_any": found_any,
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by its name, as `nDCG@10`; over the questions of one kind where `kind` is given."""

    name: str
    kind: str = ""

    @property
    def title(self) -> str:
        """The name as tables show it."""
        return f"{self.name} {self.kind}".strip()

    @property
    def is_count(self) -> bool:
        """Whether every question scores 0 or 1."""
        return _BY_NAME[self.name.partition("@")[0]] in (found_all, found_any)

    def of(self, ranking: Ranking, gold: Gold) -> float:
        """The score of one ranking, 0 to 1."""
        name, _, depth = self.name.partition("@")
        return _BY_NAME[name](ranking, gold, int(depth))

    def p(self, ours: Scores, theirs: Scores) -> float:
        """How likely a difference this large is by chance, question by question, in either direction."""
        return sign_test(ours, theirs) if self.is_count else randomisation(ours, theirs)


def mean(scores: Scores) -> float:
    """The mean; 0 of nothing."""
    return fmean(scores) if scores else 0.0


def randomisation(ours: Scores, theirs: Scores) -> float:
    """The two-sided p of a paired randomisation test of the means; the same numbers always give the same p."""
    differences = np.asarray(ours) - np.asarray(theirs)
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    signs = np.random.default_rng(SEED).integers(0, 2, (DRAWS, len(differences)), dtype=np.int8) * 2 - 1
    sums = np.abs(signs @ differences)
    as_large = int(np.count_nonzero(sums >= abs(differences.sum()) - 1e-9))
    return (1 + as_large) / (DRAWS + 1)


def sign_test(ours: Scores, theirs: Scores) -> float:
    """The exact two-sided p of the sign test (McNemar's, for scores of 0 and 1)."""
    won = sum(a > b for a, b in zip(ours, theirs, strict=True))
    lost = sum(a < b for a, b in zip(ours, theirs, strict=True))
    tail = sum(comb(won + lost, count) for count in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << (won + lost)))
