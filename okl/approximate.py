"""The HNSW index of a generation's vectors: kept in step at quiet points, asked in large stores. Exact search is its oracle.

It may lag behind: rows that are gone are left out by whoever asks, and rows that came since are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from okl.errors import OklError
from okl.index.engine import EngineBroken, remove
from okl.index.generation import HNSW, Broken, Generations, Index
from okl.index.hnsw import FEWEST, Hnsw, build, lost, worth_building
from okl.index.vectors import best
from okl.providers.base import Vectors

CHECKED = 3000
"""Rows of an index in which each is looked for after it was built."""
TEN = 10
_SAMPLE = 64
_SAME = 1e-4
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
        if file.is_file() and index.state.get("hnsw") == _signature(live, file):
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
            self._find_again(index, live)
        index.state.remember("hnsw", _signature(live, file))
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
            return not hnsw.worn and not lost(hnsw, new, index.vectors.at(new))

    def _find_again(self, index: Index, live: dict[int, str]) -> None:
        """Take out and add again the few rows that a build may lose; in a small index, where one counts, every row is looked for."""
        numbers = sorted(live) if len(live) <= CHECKED else []
        with self._open(index) as hnsw:
            gone = lost(hnsw, numbers, index.vectors.at(numbers))
            if gone:
                hnsw.remove(gone)
                hnsw.add(gone, [live[number] for number in gone], index.vectors.at(gone))

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
        return sorted(zip(cosines.tolist(), numbers, strict=True), key=lambda found: (-found[0], found[1]))[:count]

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
        """How many of the ten truly nearest chunks its answers have, over a sample; 0 if it is broken, None without one."""
        if index.folder is None or not (index.folder / HNSW).exists():
            return None
        live = self._live(index)
        picked = sorted(live)[:: max(1, len(live) // _SAMPLE)]
        hits = 0
        for vector in index.vectors.at(picked):
            found = self.nearest(index, vector, 10 * TEN)
            if found is None:
                return 0.0
            bar = best(index.vectors.cosines(vector), TEN)[-1][0] - _SAME
            hits += min(TEN, sum(cosine >= bar for cosine, number in found if number in live))
        return min(1.0, hits / (TEN * max(1, len(picked))))


def _signature(live: dict[int, str], file: Path) -> str:
    """What the index is of, and the file it is in; another, and it is looked at again."""
    stat = file.stat() if file.is_file() else None
    return f"{len(live)} {sum(live)} {stat.st_size} {stat.st_mtime_ns}" if stat else ""
