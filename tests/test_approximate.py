"""The HNSW index of a store: made, kept through edits, never wrong for being behind, and healed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from okl import approximate
from okl.index import hnsw
from okl.index.generation import HNSW, Index
from okl.index.hnsw import FEWEST, Hnsw
from okl.legs import Meant
from tests.conftest import Notes

DIM = 64
FILES, PARTS = 250, 10
VARIABLES = {"OK_EMBEDDING": f"hash:?dim={DIM}", "OK_INDEX_VECTORS": "hnsw", "OK_CHUNK_TOKENS": "32", "OK_CHUNK_OVERLAP": "0"}
WORDS = [a + b + c + d for a in "bdfgk" for b in "aeiou" for c in "lmnprst" for d in ("an", "or", "is")]


def sentence(chance: random.Random) -> str:
    """Twenty words."""
    return " ".join(chance.choice(WORDS) for _ in range(20))


def text(seed: str) -> str:
    """A note of PARTS chunks."""
    chance = random.Random(seed)
    return "".join(f"# Part {part}\n\n{sentence(chance)}\n\n" for part in range(PARTS))


QUERIES = [sentence(random.Random(f"query{number}")) for number in range(12)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 2,500 chunks with everything built."""
    notes = Notes(tmp_path_factory.mktemp("approximate") / "s", VARIABLES)
    for number in range(FILES):
        notes.write(f"n{number}.md", text(f"{number}"))
    done = notes.knowledge.index()
    assert (done["chunks"], done["waiting"]) == (FILES * PARTS, 0)
    return notes.root


@pytest.fixture
def notes(base: Path, tmp_path: Path) -> Notes:
    """A copy of it."""
    shutil.copytree(base, tmp_path / "s")
    return Notes(tmp_path / "s", VARIABLES)


def edit(notes: Notes, first: int, last: int) -> None:
    """Write other texts into these files."""
    for number in range(first, last):
        notes.write(f"n{number}.md", text(f"{number} edited {first}"))


def file(notes: Notes) -> Path:
    """The index's file in the live generation."""
    folder = notes.knowledge.generations.current()
    assert folder is not None
    return folder / HNSW


def opened(notes: Notes) -> Index:
    """The live index."""
    index = notes.knowledge.generations.open()
    assert index is not None
    return index


def answers(notes: Notes, **variables: str) -> list[list[tuple[int, float]]]:
    """The ten nearest chunks for each query, in a store with these settings: numbers and cosines to four places."""
    knowledge = Notes(notes.root, {**VARIABLES, **variables}).knowledge
    found = []
    for query in QUERIES:
        with knowledge.asked(query) as (fresh, meaning, _):
            assert meaning is not None and meaning.vector is not None and meaning.character is not None
            meant = Meant(fresh.index, meaning.vector, meaning.character, meaning.trust, meaning.approximate)
            ranked = meant.nearest(100)
            live = fresh.index.state.chunks(number for _, number in ranked)
            found.append([(number, round(cosine, 4)) for cosine, number in ranked if number in live][:10])
    return found


def recall(ours: list[list[Any]], exact: list[list[Any]]) -> float:
    """The share of the exact answers that ours have."""
    return sum(len({*one} & {*other}) for one, other in zip(ours, exact, strict=True)) / sum(len(one) for one in exact)


def assert_whole(notes: Notes, every: int = 25) -> None:
    """The file has the live chunks and no other, and finds each by its own vector (of those that are looked for)."""
    with opened(notes) as index:
        numbers = [row[0] for row in index.state.rows("SELECT number FROM chunks WHERE embedded = 1 ORDER BY number")]
        assert len(numbers) == index.text.size
        with Hnsw(file(notes), DIM, read_only=True) as found:
            assert found.ids() == set(numbers)
            assert hnsw.lost(found, numbers[::every], index.vectors.at(numbers[::every])) == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build does not look for each of its rows, which takes seconds."""
    monkeypatch.setattr(approximate, "CHECKED", 0)


def of_hnsw(notes: Notes) -> list[tuple[str, str]]:
    """What the doctor says of the index: severity and words."""
    return [(row["severity"], row["text"]) for row in notes.knowledge.doctor() if row["name"] == "hnsw-recall"]


def test_an_index_is_made_and_answers_as_an_exact_search(notes: Notes) -> None:
    """It holds every chunk; of the exact answers it has nearly all."""
    assert_whole(notes, every=5)
    assert recall(answers(notes), answers(notes, OK_INDEX_VECTORS="exact")) >= 0.98


def test_the_doctor_tells_its_recall(notes: Notes) -> None:
    """As information, when all is well."""
    ((severity, told),) = of_hnsw(notes)
    assert severity == "info"
    assert told.startswith("the HNSW index finds ")
    assert float(told.split()[4].rstrip("%")) >= 98


def test_edits_are_taken_in(notes: Notes) -> None:
    """A few files at a time, then a third of the store: after each sync it has the live chunks and no other."""
    edit(notes, 0, 5)
    notes.knowledge.sync()
    assert_whole(notes)
    (notes.root / "n100.md").unlink()
    notes.write("new.md", text("new"))
    (notes.root / "n101.md").rename(notes.root / "renamed.md")
    notes.knowledge.sync()
    assert_whole(notes)
    edit(notes, 20, 95)
    notes.knowledge.sync()
    assert_whole(notes, every=3)
    assert recall(answers(notes), answers(notes, OK_INDEX_VECTORS="exact")) >= 0.98
    assert [severity for severity, _ in of_hnsw(notes)] == ["info"]
    assert notes.said == []


def test_an_index_that_is_behind_answers_right(notes: Notes) -> None:
    """Between a search and the next sync, what is new is found, what is gone is not, and the doctor finds no fault."""
    edit(notes, 0, 25)
    fresh = text("3 edited 0").split("\n\n")[1]
    found = notes.knowledge.search(fresh)
    assert found["lag"] == 0
    assert found["results"][0]["note"] == "n3"
    assert {"leg": "vector", "rank": 1} in found["results"][0]["why"]
    assert recall(answers(notes), answers(notes, OK_INDEX_VECTORS="exact")) >= 0.98
    assert [severity for severity, _ in of_hnsw(notes)] == ["info"]


def folder(path: Path) -> None:
    """A folder in its place."""
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    """Half of it."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(b"junk" * 3000),
    "nothing": lambda path: path.write_bytes(b""),
    "cut": cut,
    "folder": folder,
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_costs_time_only(notes: Notes, damage: str) -> None:
    """Answers are the exact ones, the doctor is not upset, and the next sync makes it whole."""
    exact = answers(notes, OK_INDEX_VECTORS="exact")
    DAMAGES[damage](file(notes))
    assert answers(notes) == exact
    assert notes.knowledge.search(QUERIES[0])["degraded"] == []
    notes.knowledge.doctor()
    notes.knowledge.sync()
    assert_whole(notes)


@pytest.mark.usefixtures("quick")
def test_an_index_of_other_vectors_is_found_out(notes: Notes) -> None:
    """The doctor measures it against an exact search, says so once, and has it built again."""
    with opened(notes) as index:
        numbers = [row[0] for row in index.state.rows("SELECT number FROM chunks")]
    forged = np.random.default_rng(1).standard_normal((len(numbers), DIM)).astype(np.float32)
    hnsw.build(file(notes), numbers, ["x"] * len(numbers), forged)
    assert [severity for severity, _ in of_hnsw(notes)] == ["warning"]
    assert [severity for severity, _ in of_hnsw(notes)] == ["info"]
    assert_whole(notes)


def test_an_index_that_killed_a_process_is_built_again(notes: Notes) -> None:
    """The marker of a process that died while it tried: answers are exact, the next sync builds it and says so."""
    generation = file(notes).parent
    (generation.parent / f"TRYING.{generation.name}.{HNSW}.{2**22 + 1}").write_text("", encoding="utf-8")
    edit(notes, 0, 1)
    assert recall(answers(notes), answers(notes, OK_INDEX_VECTORS="exact")) >= 0.98
    notes.knowledge.sync()
    assert_whole(notes)
    assert list(generation.parent.glob("TRYING.*")) == []


@pytest.mark.usefixtures("quick")
def test_a_small_store_has_no_index(notes: Notes) -> None:
    """Below so many chunks it is taken away, since there it would lose rows; and comes back when there are more."""
    for number in range(60):
        (notes.root / f"n{number}.md").unlink()
    notes.knowledge.sync()
    with opened(notes) as index:
        assert index.text.size < FEWEST
    assert not file(notes).exists()
    assert of_hnsw(notes) == []
    assert answers(notes) == answers(notes, OK_INDEX_VECTORS="exact")
    for number in range(60):
        notes.write(f"n{number}.md", text(f"{number}"))
    notes.knowledge.sync()
    assert_whole(notes)


def test_exact_means_exact(notes: Notes) -> None:
    """With `exact`, or `auto` in a store that is not large, the index is not asked, though it is there."""
    exact = answers(notes, OK_INDEX_VECTORS="exact")
    with opened(notes) as index:
        numbers = [row[0] for row in index.state.rows("SELECT number FROM chunks")]
    forged = np.random.default_rng(1).standard_normal((len(numbers), DIM)).astype(np.float32)
    hnsw.build(file(notes), numbers, ["x"] * len(numbers), forged)
    assert answers(notes, OK_INDEX_VECTORS="exact") == exact
    assert answers(notes, OK_INDEX_VECTORS="auto") == exact
    assert recall(answers(notes, OK_INDEX_VECTORS="auto", OK_INDEX_HNSW_FROM="2000"), exact) < 0.5
