"""Vectors alone: the exact search, and the HNSW index where there is one, over made-up vectors in clusters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from bench.timing import Row, in_ms, seconds
from okl.index import hnsw
from okl.index.vectors import Vectors, best
from okl.providers.base import Vectors as Matrix
from okl.providers.base import unit

DIM = 384
CLUSTER = 50
SPREAD = 0.7
QUERIES = 100
NEAREST = 10
BATCH = 10_000


def clustered(count: int, seed: int = 3) -> tuple[Matrix, Matrix]:
    """(vectors of unit length (count, 384), queries near some of them (100, 384))."""
    rng = np.random.default_rng(seed)
    centres = unit(rng.standard_normal((max(1, count // CLUSTER), DIM), np.float32))
    chosen = centres[rng.integers(0, len(centres), count)]
    matrix = unit(chosen + _noise(rng, count))
    queries = unit(matrix[rng.integers(0, count, QUERIES)] + _noise(rng, QUERIES))
    return matrix, queries


def _noise(rng: np.random.Generator, count: int) -> Matrix:
    noise: Matrix = rng.standard_normal((count, DIM), np.float32) * np.float32(SPREAD / DIM**0.5)
    return noise


def run(folder: Path, count: int) -> Iterator[Row]:
    """The rows about vectors."""
    matrix, queries = clustered(count)
    exact = Vectors(folder / "vectors.npy", DIM)
    for start in range(0, count, BATCH):
        exact.put(range(start + 1, min(start + BATCH, count) + 1), matrix[start : start + BATCH])
    nearest(exact, queries[0])
    taken = [seconds(partial(nearest, exact, query)) for query in queries]
    yield from in_ms(f"exact search, {count:,} vectors", taken)
    yield from approximate(folder / "vectors.kuzu", exact, queries)


def nearest(exact: Vectors, query: Matrix) -> list[tuple[float, int]]:
    """The nearest, every vector compared."""
    return best(exact.cosines(query), NEAREST)


def approximate(path: Path, exact: Vectors, queries: Matrix) -> Iterator[Row]:
    """The HNSW index: building it, asking it, and the share of the truly nearest that it finds."""
    count = len(exact)
    numbers = np.arange(1, count + 1)
    yield Row(f"building HNSW, {count:,} vectors", seconds(lambda: hnsw.build(path, numbers, [""] * count, exact.matrix)), "s")
    with hnsw.Hnsw(path, DIM) as index:
        index.search(queries[0], NEAREST)
        taken = [seconds(partial(index.search, query, NEAREST)) for query in queries]
        found = [_share(nearest(exact, query), index.search(query, NEAREST)) for query in queries]
    yield from in_ms(f"HNSW search, {count:,} vectors", taken)
    yield Row(f"HNSW recall@{NEAREST} against the exact search", fmean(found), "of 1", 0.98, more=True)


def _share(true: list[tuple[float, int]], found: list[tuple[int, float]]) -> float:
    return len({number for _, number in true} & {number for number, _ in found}) / len(true)
