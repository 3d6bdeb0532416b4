"""The HNSW index of a generation's vectors: kept in step at quiet points, asked in large stores. Exact search is its oracle.

It may lag behind: rows that are gone are left out by whoever asks, and rows that came since are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from okl.errors import OklError
from okl.index.engine import EngineBroken, remove
from okl.index.generation import HNSW, Broken, Generations, Index
from okl.index.hnsw import FEWEST, MOST_CHURN, Hnsw, build, lost, recall, worth_building
from okl.providers.base import Vectors

_SAMPLE = 64
Found = list[tuple[float, int]]


@dataclass(frozen=True)
class Approximate:
    """The HNSW indexes of the generations of one store."""

    generations: Generations
    wait: float
    say: Callable[[str], None]

    def settle(self, index: Index) -> None:
        """Bring the index up to date, from `FEWEST` chunks on; the caller holds the writer's lock."""
        if index.folder is None or not index.fingerprint:
            return
        live = self._live(index)
        file = index.folder / HNSW
        if len(live) < FEWEST:
            remove(file)
            return
        signature = f"{len(live)} {sum(live)}"
        if index.state.get("hnsw") == signature and file.exists():
            return
        try:
            sound = file.exists() and self._changed(index, live)
        except (EngineBroken, Broken) as broken:
            self.say(f"the HNSW index was damaged ({broken}); it is built again")
            remove(file)
            sound = False
        if not sound:
            numbers = sorted(live)
            build(file, numbers, [live[number] for number in numbers], index.vectors.at(numbers))
        index.state.remember("hnsw", signature)
        index.state.remember("hnsw_upto", str(max(live)))

    def rebuild(self, index: Index) -> None:
        """Build the index anew, whatever it holds; the caller holds the writer's lock."""
        if index.folder is not None:
            if held := index.held.pop(HNSW, None):
                held.close()
            remove(index.folder / HNSW)
            self.settle(index)

    def _live(self, index: Index) -> dict[int, str]:
        """The id of the owner by chunk number."""
        query = "SELECT c.number, n.id FROM chunks c JOIN notes n ON n.path = c.path WHERE c.embedded = 1"
        return dict(index.state.rows(query))

    def _changed(self, index: Index, live: dict[int, str]) -> bool:
        """Whether the index could be changed into what it should be; else it is to be built anew."""
        with self._open(index) as hnsw:
            there = hnsw.ids()
            gone, new = sorted(there - live.keys()), sorted(live.keys() - there)
            if worth_building(len(there), len(gone) + len(new)):
                return False
            hnsw.remove(gone)
            hnsw.add(new, [live[number] for number in new], index.vectors.at(new))
            return hnsw.churn <= MOST_CHURN and not lost(hnsw, new, index.vectors.at(new))

    def _open(self, index: Index) -> Hnsw:
        if index.folder is None:
            raise EngineBroken("there is none in memory")
        file = index.folder / HNSW
        with self.generations.trying(file):
            return Hnsw(file, index.vectors.dim, wait=self.wait)

    def nearest(self, index: Index, query: Vectors, count: int) -> Found | None:
        """About the `count` nearest chunks as (exact cosine, number); None where the index cannot answer."""
        try:
            hnsw = self._held(index)
            numbers = [number for number, _ in hnsw.search(query, count)]
        except (EngineBroken, Broken, OklError):
            return None
        upto = int(index.state.get("hnsw_upto", "0"))
        numbers += range(upto + 1, len(index.vectors) + 1)
        cosines = index.vectors.at(numbers) @ query
        best = sorted(zip(cosines.tolist(), numbers, strict=True), key=lambda found: (-found[0], found[1]))
        return best[:count]

    def _held(self, index: Index) -> Hnsw:
        """The index, open as long as the generation is."""
        held = index.held.get(HNSW)
        if not isinstance(held, Hnsw):
            if index.folder is None:
                raise EngineBroken("there is none in memory")
            with self.generations.trying(index.folder / HNSW):
                held = Hnsw(index.folder / HNSW, index.vectors.dim, read_only=True, wait=0.0)
            index.held[HNSW] = held
        return held

    def recall(self, index: Index) -> float | None:
        """How many of the ten truly nearest chunks it finds, over a sample; None without an index."""
        if index.folder is None or not (index.folder / HNSW).exists():
            return None
        live = sorted(self._live(index))
        return recall(self._held(index), np.asarray(live), index.vectors.at(live), _SAMPLE)
