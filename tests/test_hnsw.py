from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from okl.index import hnsw
from okl.index.engine import Engine, EngineBroken
from okl.index.hnsw import FEWEST, MOST_CHURN, Hnsw, Matrix
from tests.conftest import ROOT

DIM = 32
ROWS = FEWEST + 500
BUILDER = """
import sys
from pathlib import Path
import numpy as np
from okl.index import hnsw
rows = np.random.default_rng(5).standard_normal((600, 32)).astype(np.float32)
while True:
    print("start", flush=True)
    hnsw.build(Path(sys.argv[1]), list(range(600)), ["new"] * 600, rows)
"""


def clustered(rows: int, seed: int) -> Matrix:
    """Unit vectors in 60 clusters that are the same for every seed."""
    chance = np.random.default_rng(seed)
    middles = np.random.default_rng(0).standard_normal((60, DIM))
    found = middles[chance.integers(0, 60, rows)] + 0.4 * chance.standard_normal((rows, DIM))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of ROWS rows, ids from 1."""
    path = tmp_path_factory.mktemp("hnsw") / "vectors.kuzu"
    hnsw.build(path, range(1, ROWS + 1), [f"it's {row % 7}\n\udc80" for row in range(ROWS)], clustered(ROWS, 1))
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    copy = tmp_path / "vectors.kuzu"
    copy.write_bytes(built.read_bytes())
    return copy


def test_a_built_index_finds_the_nearest(path: Path) -> None:
    """Right after the build the index finds what an exact search finds, the nearest first, with true cosines."""
    rows = clustered(ROWS, 1)
    with Hnsw(path, DIM, read_only=True) as index:
        assert index.ids() == set(range(1, ROWS + 1))
        assert index.churn == 0
        assert hnsw.recall(index, range(1, ROWS + 1), rows) >= 0.98
        query = clustered(1, 9)[0]
        hits = index.search(query, 20)
        assert [hit[1] for hit in hits] == sorted((hit[1] for hit in hits), reverse=True)
        for id, cosine in hits:
            assert cosine == pytest.approx(float(rows[id - 1] @ query), abs=1e-5)
        assert index.search(np.zeros(DIM, np.float32), 5) == []
    assert os.listdir(path.parent) == ["vectors.kuzu"]


def test_nothing_is_lost_at_the_most_churn(path: Path) -> None:
    """With as many rows changed as MOST_CHURN allows, live rows alone are found, each by its own vector, at worst when added again."""
    live = dict(zip(range(1, ROWS + 1), clustered(ROWS, 1), strict=True))
    share = int(ROWS * MOST_CHURN / 2)
    gone, fresh = random.Random(3).sample(sorted(live), share), clustered(share, 2)
    with Hnsw(path, DIM) as index:
        index.remove([*gone, 10**9])
        index.add(range(ROWS + 1, ROWS + 1 + share), ["added"] * share, fresh)
        assert index.churn == pytest.approx(MOST_CHURN)
        assert not index.worn
        index.remove([1])
        assert index.worn
        index.add([1], ["x"], clustered(ROWS, 1)[:1])
    live = {id: vector for id, vector in live.items() if id not in set(gone)} | dict(
        zip(range(ROWS + 1, ROWS + 1 + share), fresh, strict=True)
    )
    ids, rows = list(live), np.array(list(live.values()))
    with Hnsw(path, DIM) as index:
        assert index.ids() == live.keys()
        lost = hnsw.lost(index, ids, rows)
        assert len(lost) <= 5
        index.remove(lost)
        index.add(lost, ["again"] * len(lost), np.array([live[id] for id in lost], np.float32))
        assert hnsw.lost(index, lost, np.array([live[id] for id in lost])) == []
        assert hnsw.recall(index, ids, rows) >= 0.98
        assert {id for query in clustered(50, 4) for id, _ in index.search(query, 50)} <= live.keys()


def test_a_file_that_has_grown_is_worn(path: Path) -> None:
    """Few changes may make a large file, since each checkpoint writes the whole index: then too it is time to build it anew."""
    with Hnsw(path, DIM) as index:
        assert not index.worn
    with path.open("ab") as file:
        file.truncate(40 << 20)
    with Hnsw(path, DIM) as index:
        assert index.churn == 0
        assert index.worn


def test_lost_rows_are_told(path: Path) -> None:
    """A row that the index does not have, or has with another vector, is lost."""
    rows = clustered(ROWS, 1)
    with Hnsw(path, DIM) as index:
        index.remove(range(1, 11))
        index.add([1, 2, 3, 4, 5, 6, 8, 9, 10], ["x"] * 9, np.delete(rows[:10], 6, axis=0))
        assert hnsw.lost(index, range(1, 11), rows[:10]) == [7]
        assert hnsw.recall(index, range(1, 11), rows[:10], k=1) == 0.9
        index.add([7], ["x"], -rows[6:7])
        assert hnsw.lost(index, range(1, 11), rows[:10]) == [7]


def test_twins_are_not_lost(tmp_path: Path) -> None:
    """Rows with the same vector stand for one another, when there are more of them than a search gives."""
    rows = np.vstack([np.tile(clustered(1, 1), (30, 1)), clustered(200, 2)])
    hnsw.build(tmp_path / "vectors.kuzu", range(230), ["x"] * 230, rows)
    with Hnsw(tmp_path / "vectors.kuzu", DIM) as index:
        assert hnsw.lost(index, range(30), rows[:30]) == []
        assert hnsw.recall(index, range(230), rows) >= 0.98


def test_owners_are_kept(path: Path) -> None:
    """Each row has its owner, whatever signs are in its name."""
    with Engine(path, read_only=True) as engine:
        assert engine.rows("MATCH (v:Vec {id: 9}) RETURN v.owner")[1] == [["it's 1\n\U0010dc80"]]
        assert engine.rows("MATCH (v:Vec) WHERE v.owner IS NULL RETURN count(*)")[1] == [[0]]


def test_a_failed_change_changes_nothing(path: Path) -> None:
    """An id that is there already is refused, with all that was to be added beside it."""
    with Hnsw(path, DIM) as index:
        with pytest.raises(EngineBroken, match="duplicated"):
            index.add([9000, 5], ["x", "x"], clustered(2, 3))
        assert index.ids() == set(range(1, ROWS + 1))
        assert index.churn == 0
        assert 9000 not in {id for id, _ in index.search(clustered(2, 3)[0], 10)}


def test_what_is_no_index_is_told(path: Path, tmp_path: Path) -> None:
    """A missing file, one of other vectors, one that was never finished and one of junk are all EngineBroken, and let go."""
    with Engine(tmp_path / "half") as engine:
        engine.run(f"CREATE NODE TABLE Vec(id INT64 PRIMARY KEY, vec FLOAT[{DIM}])")
    (tmp_path / "junk").write_bytes(b"junk" * 5000)
    for name, dim in (("none", DIM), ("vectors.kuzu", DIM + 1), ("half", DIM), ("junk", DIM)):
        for _ in range(2):
            with pytest.raises(EngineBroken):
                Hnsw(tmp_path / name, dim)
    Hnsw(path, DIM).close()


def test_many_changes_are_worth_a_build() -> None:
    """A few rows are changed one by one; a thirtieth of the index, and more than a hundred, is built anew."""
    assert [hnsw.worth_building(30_000, changes) for changes in (1, 1000, 1001)] == [False, False, True]
    assert [hnsw.worth_building(2000, changes) for changes in (100, 101)] == [False, True]


def test_a_new_build_takes_the_place_of_the_old(path: Path) -> None:
    """Nothing of the former rows, nor of their log, is left."""
    with Hnsw(path, DIM) as index:
        index.add([9000], ["x"], clustered(1, 3))
    hnsw.build(path, [4, 5], ["x", "y"], clustered(2, 6))
    with Hnsw(path, DIM) as index:
        assert index.ids() == {4, 5}
        assert index.churn == 0
    assert os.listdir(path.parent) == ["vectors.kuzu"]


def test_a_killed_build_leaves_the_index(path: Path) -> None:
    """kill -9 at any moment of a build leaves the old index or the new one, whole; the next build sweeps up."""
    rows, chance = clustered(ROWS, 1), random.Random(1)
    for _ in range(6):
        child = subprocess.Popen([sys.executable, "-c", BUILDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        with child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.random() * 0.4)
            child.kill()
        with Hnsw(path, DIM, read_only=True) as index:
            ids = index.ids()
            assert ids in (set(range(600)), set(range(1, ROWS + 1)))
            assert len(index.search(rows[0], 10)) == 10
    path.with_name("vectors.kuzu.new.wal").write_bytes(b"left behind")
    hnsw.build(path, [4, 5], ["x", "y"], clustered(2, 6))
    assert os.listdir(path.parent) == ["vectors.kuzu"]
