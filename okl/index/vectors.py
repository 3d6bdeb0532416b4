"""The live vectors: one memory-mapped float32 matrix, row n - 1 being the vector of chunk number n.

Rows of chunks that have no vector (yet, or any more) are zero. Searched exactly: every row is compared.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from okl.errors import Unavailable
from okl.index.generation import VectorsBroken
from okl.providers.base import Vectors as Matrix

Numbers = npt.NDArray[np.int64]


class Vectors:
    """The matrix in the file `path`, which is made when there is none; `path` None keeps it in memory."""

    def __init__(self, path: Path | None, dim: int) -> None:
        self._path = path
        self.dim = dim
        self.matrix: Matrix = np.zeros((0, dim), np.float32)
        if path is not None:
            if not path.exists():
                _change(path, lambda file: file.write(_header(0, dim)))
            self._map(path)

    def _map(self, path: Path) -> None:
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise VectorsBroken(f"{path.name} is no matrix of numbers") from error
        if found.dtype != np.float32 or found.ndim != 2 or found.shape[1] != self.dim:
            raise VectorsBroken(f"{path.name} has another shape than the model's vectors")
        self.matrix = found

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def put(self, numbers: Sequence[int], vectors: Matrix) -> None:
        """Set the vectors of some chunks; the caller is the only writer."""
        if not numbers:
            return
        if self._path is None:
            rows = max(len(self), max(numbers))
            self.matrix = np.concatenate([self.matrix, np.zeros((rows - len(self), self.dim), np.float32)])
            self.matrix[[number - 1 for number in numbers]] = vectors
            return
        self._map(self._path)  # another process may have added rows since
        rows = max(len(self), max(numbers))
        start, width = len(_header(0, self.dim)), self.dim * 4

        def write(file: BinaryIO) -> None:
            file.truncate(start + rows * width)
            data = vectors.astype("<f4")
            for first, last in _runs(numbers):
                file.seek(start + (numbers[first] - 1) * width)
                file.write(data[first:last].tobytes())
            file.flush()
            os.fsync(file.fileno())  # the header counts the rows only when they are there
            file.seek(0)
            file.write(_header(rows, self.dim))

        _change(self._path, write)
        self._map(self._path)

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget the vectors of some chunks."""
        inside = [number for number in numbers if number <= len(self)]
        self.put(inside, np.zeros((len(inside), self.dim), np.float32))

    def at(self, numbers: Sequence[int]) -> Matrix:
        """The vectors of some chunks, float32[n, dim]; zero for one that has none."""
        found = np.zeros((len(numbers), self.dim), np.float32)
        inside = [place for place, number in enumerate(numbers) if number <= len(self)]
        found[inside] = self.matrix[[numbers[place] - 1 for place in inside]]
        return found

    def cosines(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """How near each row is, in the order of the rows. VectorsBroken if one is no vector."""
        found = np.asarray(self.matrix @ query, np.float32)
        if not np.isfinite(found).all():
            raise VectorsBroken("vectors.npy has rows that are no vectors")
        return found

    def sample(self, query: npt.NDArray[np.float32], most: int = 1000) -> npt.NDArray[np.float32]:
        """How near some rows are, spread evenly over all."""
        return np.asarray(self.matrix[:: max(1, len(self) // most)] @ query, np.float32)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The places (first, past the last) of numbers that follow one another."""
    first = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield first, place
            first = place


def best(cosines: npt.NDArray[np.float32], count: int) -> list[tuple[float, int]]:
    """The `count` nearest rows as (cosine, chunk number), best first, ties by number; 0 is that of a row without a vector."""
    count = min(count, len(cosines))
    if not count:
        return []
    top = np.argpartition(-cosines, count - 1)[:count]
    top = top[np.lexsort((top, -cosines[top]))]
    return [(float(cosines[place]), int(place) + 1) for place in top if cosines[place]]


def middle(cosines: npt.NDArray[np.float32]) -> float:
    """The median of the rows that have a vector; 0 if there are none."""
    there = cosines[cosines != 0]
    return float(np.median(there)) if len(there) else 0.0


def _change(path: Path, write: Callable[[BinaryIO], object]) -> None:
    try:
        with path.open("r+b" if path.exists() else "w+b") as file:
            write(file)
    except OSError as error:
        raise Unavailable(f"The index cannot be written: {error.strerror}.") from error


def _header(rows: int, dim: int) -> bytes:
    """The head of an .npy file; numpy leaves room in it, so that it is as long for any number of rows."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})
    return buffer.getvalue()
