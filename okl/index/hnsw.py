"""The approximate index of vectors: an HNSW graph in a Kùzu file of its own, built aside and moved in place.

Exact search is its oracle and its fallback: a build loses one row in some 10,000 (seen with all parameters), which
`lost` tells and adding it again mends. Kùzu's index loses many in small tables with deletions, cannot change a vector,
never gives space back, and ends the process some time after being dropped: so it is for FEWEST rows or more, a
changed row is removed and added, and when it is worn, or for many changes at once (`worth_building`), built anew.
Building takes half a millisecond a row (0.8 with Kùzu's own parameters, at the same recall), a change 4 to 12 ms.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from okl.errors import Unavailable
from okl.index.engine import POOL, Engine, EngineBroken, move, remove
from okl.index.storable import quoted, storable

FEWEST = 2000
MOST_CHURN = 0.3
_FEW_CHANGES = 100
_CHANGES_OF_A_BUILD = 30  # a change costs as much as building this many rows
_LARGE_LOG = 500_000  # bytes, about 110 rows; all are added again whenever the file is opened, in half a second
_MOST_GROWTH = 4  # times the size of a new file; each checkpoint of changes writes the whole index once more
_POOL_OF_A_BUILD = 8  # times the bytes of the vectors; only what is used is taken
_SAME = 1e-4  # cosines that differ less are equal
_PARAMETERS = "metric := 'cosine', efc := 100"  # fewer neighbours build faster still, and lose rows

Matrix = NDArray[np.float32]


class Hnsw:
    """The open index of vectors of `dim` numbers."""

    def __init__(self, path: Path, dim: int, *, read_only: bool = False, wait: float = 10.0) -> None:
        """Raises EngineBroken if it is missing, broken or of other vectors; see Engine for the rest."""
        if not path.exists():
            raise EngineBroken(f"{path.name} is missing")
        self._dim = dim
        self._engine = Engine(path, read_only=read_only, wait=wait)
        try:
            kinds = dict(self._engine.rows("CALL table_info('Vec') RETURN name, type")[1])
            indexes = self._engine.rows("CALL show_indexes() RETURN index_name")[1]
            if kinds.get("vec") != f"FLOAT[{dim}]" or indexes != [["vec_hnsw"]]:
                raise EngineBroken(f"{path.name} is no finished index of vectors of {dim} numbers")
        except BaseException:
            self._engine.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._engine.close()

    @property
    def churn(self) -> float:
        """Rows removed and added since the build, as a share of those built."""
        built, changed = (self._engine.rows(f"MATCH (f:Fact {{name: '{name}'}}) RETURN f.value")[1][0][0] for name in ("built", "changed"))
        return float(changed / max(1, built))

    @property
    def worn(self) -> bool:
        """Whether it is time to build it anew: too many rows have changed, or its file has grown too large."""
        rows = self._engine.rows("MATCH (v:Vec) RETURN count(*)")[1][0][0]
        new = (4 << 20) + rows * (4 * self._dim + 250)
        return self.churn > MOST_CHURN or self._engine.path.stat().st_size > _MOST_GROWTH * new

    def ids(self) -> set[int]:
        """The ids of all rows."""
        return {row[0] for row in self._engine.rows("MATCH (v:Vec) RETURN v.id")[1]}

    def search(self, vector: Matrix, k: int, efs: int = 200) -> list[tuple[int, float]]:
        """(id, cosine) of about the `k` rows nearest to `vector`, the nearest first; a larger `efs` finds more of them, later."""
        if not np.any(vector):
            return []
        query = f"CALL QUERY_VECTOR_INDEX('Vec', 'vec_hnsw', $vector, $k, efs := {max(efs, k)}) RETURN node.id, distance"
        found = self._engine.rows(query, {"vector": np.asarray(vector, np.float32).tolist(), "k": k})[1]
        return sorted(((id, 1.0 - distance) for id, distance in found), key=lambda hit: (-hit[1], hit[0]))

    def add(self, ids: Sequence[int], owners: Sequence[str], matrix: Matrix) -> None:
        """Add rows whose ids are not there."""
        with self._engine.writing():
            for id, owner, vector in zip(ids, owners, matrix, strict=True):
                values = {"id": int(id), "owner": owner, "vec": vector.tolist()}
                self._engine.run("CREATE (:Vec {id: $id, owner: $owner, vec: $vec})", values)
            self._count(len(ids))
        self._tidy()

    def remove(self, ids: Iterable[int]) -> None:
        """Remove the rows of these ids, as far as they are there."""
        with self._engine.writing():
            gone = sum(len(self._engine.rows("MATCH (v:Vec {id: $id}) DELETE v RETURN v.id", {"id": int(id)})[1]) for id in ids)
            self._count(gone)
        self._tidy()

    def _count(self, changes: int) -> None:
        self._engine.run("MATCH (f:Fact {name: 'changed'}) SET f.value = f.value + $changes", {"changes": changes})

    def _tidy(self) -> None:
        log = self._engine.path.with_name(self._engine.path.name + ".wal")
        if log.exists() and log.stat().st_size > _LARGE_LOG:
            self._engine.checkpoint()


def worth_building(rows: int, changes: int) -> bool:
    """Whether `changes` to an index of `rows` rows take longer than building it anew."""
    return changes > max(_FEW_CHANGES, rows // _CHANGES_OF_A_BUILD)


def build(path: Path, ids: Sequence[int] | NDArray[np.int64], owners: Sequence[str], matrix: Matrix) -> None:
    """Make the index of these rows (float32, one row for each id) and put it in the place of `path`, which nobody has open.

    Killed meanwhile, it leaves `path` as it was, and the next build sweeps up.
    """
    aside = path.with_name(path.name + ".new")
    remove(aside)
    try:
        with Engine(aside, pool=max(POOL, _POOL_OF_A_BUILD * matrix.nbytes)) as engine:
            _fill(engine, np.asarray(ids, np.int64), owners, np.ascontiguousarray(matrix, np.float32))
            engine.run(f"CALL CREATE_VECTOR_INDEX('Vec', 'vec_hnsw', 'vec', {_PARAMETERS})")
            engine.checkpoint()
        move(aside, path)
    finally:
        remove(aside)


def _fill(engine: Engine, ids: NDArray[np.int64], owners: Sequence[str], matrix: Matrix) -> None:
    """Load the rows. The vectors come as .npy, six times faster than as text, and their owners after them."""
    engine.run(f"CREATE NODE TABLE Vec(id INT64 PRIMARY KEY, vec FLOAT[{matrix.shape[1]}])")
    engine.run("CREATE NODE TABLE Fact(name STRING PRIMARY KEY, value INT64)")
    engine.load("Fact", ["name", "value"], [["built", len(ids)], ["changed", 0]])
    with engine.scratch() as folder:
        files = {name: os.path.join(folder, name) for name in ("ids.npy", "vectors.npy", "owners.json")}
        try:
            np.save(files["ids.npy"], ids)
            np.save(files["vectors.npy"], matrix)
            with open(files["owners.json"], "w", encoding="utf-8") as file:
                for id, owner in zip(ids.tolist(), owners, strict=True):
                    file.write(json.dumps({"id": id, "owner": storable(owner)}) + "\n")
        except OSError as error:
            raise Unavailable(f"The index folder cannot be written: {error.strerror}.") from error
        places = [f"'{quoted(glob.escape(path))}'" for path in files.values()]
        engine.run(f"COPY Vec FROM ({places[0]}, {places[1]}) BY COLUMN")
        engine.run("ALTER TABLE Vec ADD owner STRING")
        owned = f"LOAD WITH HEADERS (id INT64, owner STRING) FROM {places[2]} WITH id AS row, owner AS path"
        engine.run(f"{owned} MATCH (v:Vec) WHERE v.id = row SET v.owner = path")


def recall(hnsw: Hnsw, ids: Sequence[int] | NDArray[np.int64], matrix: Matrix, queries: int = 64, k: int = 10) -> float:
    """The share of the `k` truly nearest rows that the index finds, over some rows as `queries`; rows of equal cosine are as good."""
    numbers = np.asarray(ids)
    k = min(k, len(numbers))
    hits = 0
    picked = np.unique(np.linspace(0, len(numbers) - 1, queries).astype(np.int64))
    for row in picked:
        cosines = _cosines(matrix, matrix[row])
        bar = np.partition(cosines, -k)[-k] - _SAME
        good = set(numbers[cosines >= bar].tolist())
        hits += sum(id in good for id, _ in hnsw.search(matrix[row], k))
    return hits / (k * len(picked))


def lost(hnsw: Hnsw, ids: Iterable[int], matrix: Matrix, k: int = 10) -> list[int]:
    """The ids of rows that their own vectors do not find, nor `k` others as near; all is well if there are none."""
    found = []
    for id, vector in zip(ids, matrix, strict=True):
        hits = hnsw.search(vector, k)
        if all(hit != id for hit, _ in hits) and (len(hits) < k or hits[-1][1] < 1 - _SAME):
            found.append(int(id))
    return found


def _cosines(matrix: Matrix, vector: Matrix) -> Matrix:
    norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
    return np.asarray(matrix @ vector / np.where(norms > 0, norms, 1), np.float32)
