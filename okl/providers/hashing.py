"""`hash:`: words and their trigrams counted into a vector by checksums. For tests: texts that share words are near."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from okl.providers.base import Kind, Vectors, readable, unit

_WORD = re.compile(r"\w+")


class Hashing:
    """An embedder without a model; `dim` places, each word and each of its trigrams adds to one of them."""

    max_tokens = 0

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.id = f"hash/{dim}/1"

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:  # noqa: ARG002 - both kinds alike
        """The vectors (n, dim)."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(readable(text).lower()):
                number = zlib.crc32(feature.encode())
                row[(number >> 1) % self.dim] += weight if number & 1 else -weight
        return unit(vectors)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in _WORD.finditer(text):
        word = match.group()
        yield word, 1.0
        marked = f"^{word}$"
        for start in range(len(marked) - 2):
            yield marked[start : start + 3], 0.3
