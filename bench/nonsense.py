"""Queries that mean nothing, which a search should answer with nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SEED = 7
_ONSETS = "bl br cr d dr f fl fr g gl gr h j k kl l m n p pl pr qu r s sk sl sn sp st t tr v w z zw".split()
_VOWELS = "a e i o u oo ou ee ai".split()
_CODAS = "b ck d ff g k ll lm m n nd ng nk p rb rg rt sh sk t x zz".split()
_KEYS = "asdfghjklqwertyuiopzxcvbnm"
_FRAMES = (
    "What is the {} of {}?",
    "How does a {} change the {} in {}?",
    "Who was the first {} to {} the {}?",
    "When did {} and {} meet?",
    "Which {} has more {}s, {} or {}?",
)


def queries(count: int) -> dict[str, list[str]]:
    """`count` queries by sort: made-up words, keys struck at random, and questions about made-up things."""
    rng = np.random.default_rng(SEED)
    share = count // 3
    return {
        "made-up words": [" ".join(_words(rng, int(rng.integers(2, 6)))) for _ in range(share)],
        "keys at random": [" ".join(_struck(rng) for _ in range(int(rng.integers(1, 4)))) for _ in range(share)],
        "questions about made-up things": [_framed(rng) for _ in range(count - 2 * share)],
    }


def _words(rng: np.random.Generator, count: int) -> Iterator[str]:
    for _ in range(count):
        yield "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(int(rng.integers(2, 4))))


def _struck(rng: np.random.Generator) -> str:
    return "".join(rng.choice(list(_KEYS), int(rng.integers(4, 11))))


def _framed(rng: np.random.Generator) -> str:
    frame = str(rng.choice(_FRAMES))
    return frame.format(*_words(rng, frame.count("{}")))
