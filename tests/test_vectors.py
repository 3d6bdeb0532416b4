"""Vectors: the matrix, the cache that outlives every index, and how chunks get theirs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from okl.errors import Unavailable
from okl.index.embeddings import Embeddings, Models
from okl.index.generation import VectorsBroken
from okl.index.vectors import Vectors, best, middle
from okl.providers.embedders import open_embedder, server_of
from okl.verbs import call
from tests.conftest import Notes

DIM = 8


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float16).astype(np.float32)


def sha(text: str) -> str:
    return text.encode().hex().ljust(64, "0")


@pytest.fixture
def hashed(tmp_path: Path) -> Notes:
    """An empty store whose model is the small deterministic one."""
    return Notes(tmp_path / "hashed", {"OK_EMBEDDING": "hash:?dim=32"})


# --- the matrix ---


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_row_is_its_chunks_vector(tmp_path: Path, on_disk: bool) -> None:
    """Row n - 1 belongs to chunk n; rows nobody set, and dropped ones, are zero."""
    path = tmp_path / "vectors.npy" if on_disk else None
    vectors, made = Vectors(path, DIM), rows(3)
    vectors.put([2, 7, 3], made)
    assert len(vectors) == 7
    assert (vectors.at([7, 2, 3]) == made[[1, 0, 2]]).all()
    assert not vectors.at([1, 6, 99]).any()
    vectors.drop([7, 100])
    assert not vectors.at([7]).any()
    if path:
        assert (np.load(path) == vectors.matrix).all()


def test_the_nearest_come_first_and_ties_by_number(tmp_path: Path) -> None:
    """Exact cosines, in order."""
    vectors = Vectors(tmp_path / "v.npy", 2)
    vectors.put([1, 2, 3, 4], np.array([[1, 0], [0, 1], [1, 0], [0.6, 0.8]], np.float32))
    cosines = vectors.cosines(np.array([1, 0], np.float32))
    assert best(cosines, 3) == [(1.0, 1), (1.0, 3), (pytest.approx(0.6), 4)]
    assert middle(cosines) == 1.0
    assert best(Vectors(tmp_path / "empty.npy", 2).cosines(np.array([1, 0], np.float32)), 3) == []


def test_two_processes_may_write_by_turns(tmp_path: Path) -> None:
    """A writer that opened the file earlier does not cut off what another added since."""
    one, two = Vectors(tmp_path / "v.npy", DIM), Vectors(tmp_path / "v.npy", DIM)
    made = rows(3)
    one.put([1], made[:1])
    two.put([9], made[1:2])
    one.put([2], made[2:])
    assert (Vectors(tmp_path / "v.npy", DIM).at([1, 9, 2]) == made).all()


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"no matrix at all" * 40])
def test_a_damaged_matrix_is_told(tmp_path: Path, damage: bytes) -> None:
    """Nothing is made up for a file that is no matrix."""
    path = tmp_path / "v.npy"
    path.write_bytes(damage)
    with pytest.raises(VectorsBroken):
        Vectors(path, DIM)


def test_a_cut_or_foreign_matrix_is_told(tmp_path: Path) -> None:
    """A file shorter than its head says, of another width, or with rows that are no numbers."""
    path = tmp_path / "v.npy"
    Vectors(path, DIM).put([1, 2, 3], rows(3))
    with pytest.raises(VectorsBroken):
        Vectors(path, DIM + 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with pytest.raises(VectorsBroken):
        Vectors(path, DIM)
    path.write_bytes(whole[:128] + b"\xff" * (len(whole) - 128))
    with pytest.raises(VectorsBroken):
        Vectors(path, DIM).cosines(rows(1)[0])


# --- the cache ---


def test_what_was_embedded_is_found_again(tmp_path: Path) -> None:
    """By the text's hash, also by another process, the last of two rows counting."""
    made = rows(4)
    one = Embeddings(tmp_path, DIM)
    one.add([sha("a"), sha("b")], made[:2])
    two = Embeddings(tmp_path, DIM)
    two.add([sha("c"), sha("a")], made[2:])
    for cache in (two, Embeddings(tmp_path, DIM)):
        places, found = cache.get([sha("x"), sha("c"), sha("a")])
        assert (places, found.tolist()) == ([1, 2], made[2:].tolist())
        assert sha("b") in cache
        assert sha("x") not in cache


@pytest.mark.parametrize("file", ["keys", "rows"])
@pytest.mark.parametrize("cut", [1, 10, 17])
def test_a_torn_tail_is_forgotten(tmp_path: Path, file: str, cut: int) -> None:
    """What a crash left half written counts as missing, and is written over."""
    made = rows(3)
    Embeddings(tmp_path, DIM).add([sha("a"), sha("b")], made[:2])
    os.truncate(tmp_path / file, (tmp_path / file).stat().st_size - cut)
    cache = Embeddings(tmp_path, DIM)
    places, _ = cache.get([sha("a"), sha("b")])
    assert 1 not in places
    cache.add([sha("c")], made[2:])
    places, found = Embeddings(tmp_path, DIM).get([sha("a"), sha("c")])
    assert found[-1].tolist() == made[2].tolist()
    assert 1 in places


def test_a_flipped_byte_makes_one_vector_missing(tmp_path: Path) -> None:
    """Each row is checked when it is read."""
    Embeddings(tmp_path, DIM).add([sha("a"), sha("b")], rows(2))
    data = bytearray((tmp_path / "rows").read_bytes())
    data[3] ^= 1
    (tmp_path / "rows").write_bytes(data)
    assert Embeddings(tmp_path, DIM).get([sha("a"), sha("b")])[0] == [1]


def test_models_are_known_by_their_vectors(tmp_path: Path) -> None:
    """The same name with other vectors is another model, and each is found again."""
    models = Models(tmp_path / "models")
    assert models.last("hash:") is None
    embedder = open_embedder("hash:?dim=8", tmp_path)
    assert embedder is not None
    first = models.settle("u", embedder)
    assert models.settle("u", embedder) == first
    assert models.last("u") == first
    np.save(first.folder / "probes.npy", np.ones((3, 8), np.float32))
    second = models.settle("u", embedder)
    assert second.fingerprint != first.fingerprint
    assert models.last("u") == second
    (tmp_path / "models" / "models.json").write_text("{")
    assert models.last("u") is None
    assert models.settle("u", embedder) == second


# --- in a store ---


def waiting(notes: Notes) -> int:
    index = notes.knowledge.generations.open()
    assert index is not None
    with index:
        return int(index.state.rows("SELECT count(*) FROM chunks WHERE embedded = 0")[0][0])


def test_a_sync_embeds_and_a_rebuild_asks_no_model(hashed: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of texts that were ever embedded come from the cache."""
    hashed.write("a.md", "# Boats\n\nSloops and cutters.\n")
    hashed.write("b.md", "# Bread\n\nRye and wheat.\n" + "dough " * 400)
    hashed.knowledge.sync()
    assert waiting(hashed) == 0
    digest = hashed.knowledge.index_check()
    assert digest["equal"], digest["differences"]
    monkeypatch.setattr(type(hashed.knowledge.model), "embedder", lambda self: pytest.fail("the model was asked"))
    hashed.knowledge.index(rebuild=True)
    assert waiting(hashed) == 0
    hashed.write("d.md", hashed.read("a.md"))
    os.replace(hashed.root / "b.md", hashed.root / "c.md")
    hashed.knowledge.sync()
    assert waiting(hashed) == 0


def test_text_is_found_before_its_vector_is_there(hashed: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search says how many chunks wait, and that the vector leg lags."""
    monkeypatch.setattr("okl.opened.PATIENCE", -1.0)
    hashed.write("a.md", "Sloops and cutters.\n")
    found = hashed.knowledge.search("sloops")
    assert [hit["note"] for hit in found["results"]] == ["a"]
    assert (found["degraded"], found["lag"]) == (["vector-lag"], 1)
    monkeypatch.setattr("okl.opened.PATIENCE", 2.0)
    again = hashed.knowledge.search("sloops")
    assert (again["degraded"], again["lag"], again["legs"]) == ([], 0, ["text", "vector"])
    assert {why["leg"] for why in again["results"][0]["why"]} == {"text", "vector"}


def test_a_changed_model_never_mixes_with_the_old_one(tmp_path: Path) -> None:
    """Another URI, and other vectors behind the same one, each make a new generation of their own vectors."""
    notes = Notes(tmp_path / "s", {"OK_EMBEDDING": "hash:?dim=32"})
    notes.write("a.md", "Sloops and cutters.\n")
    first = notes.knowledge.sync()["generation"]
    other = Notes.__new__(Notes)
    other.__init__(notes.root, {"OK_EMBEDDING": "hash:?dim=16"})  # type: ignore[misc]
    assert other.ids("sloops") == ["a"]
    index = other.knowledge.generations.open()
    assert index is not None
    with index:
        assert index.folder is not None
        assert index.folder.name != first
        assert index.vectors.dim == 16
        folder = index.folder.parent / "embeddings"
    for probes in folder.glob("*/probes.npy"):
        np.save(probes, np.ones((3, np.load(probes).shape[1]), np.float32))
    third = Notes.__new__(Notes)
    third.__init__(notes.root, {"OK_EMBEDDING": "hash:?dim=16"})  # type: ignore[misc]
    found = third.knowledge
    answer = call(found, "search", {"query": "sloops"})
    assert answer["legs"] == ["text", "vector"]
    assert any("the embedding model is now" in line for line in third.said)
    assert third.knowledge.index_check()["equal"]


def test_a_damaged_matrix_in_a_store_heals(hashed: Notes) -> None:
    """The search answers, says so, and the next one has both legs again."""
    for number in range(5):
        hashed.write(f"{number}.md", f"Boat number {number} has a sail of {'red blue green white black'.split()[number]} cloth.\n")
    hashed.knowledge.sync()
    current = hashed.knowledge.generations.current()
    assert current is not None
    whole = (current / "vectors.npy").read_bytes()
    for damage in (b"", b"\xff" * 4000, whole[:200], whole[:128] + b"\xff" * (len(whole) - 128)):
        (current / "vectors.npy").write_bytes(damage)
        found = call(hashed.knowledge, "search", {"query": "green sail"})
        assert (found["results"][0]["note"], found["legs"]) == ("2", ["text", "vector"])
        again = hashed.knowledge.search("green sail")
        assert (again["results"][0]["note"], again["degraded"], again["legs"]) == ("2", [], ["text", "vector"])
        assert any("damaged" in line for line in hashed.said)
        hashed.said.clear()
    assert hashed.knowledge.index_check()["equal"]


def test_check_sees_a_vector_that_is_not_the_models(hashed: Notes) -> None:
    """`ok index --check` compares every vector with the cache."""
    hashed.write("a.md", "Sloops and cutters.\n")
    hashed.write("b.md", "Rye and wheat.\n")
    hashed.knowledge.sync()
    current = hashed.knowledge.generations.current()
    assert current is not None
    Vectors(current / "vectors.npy", 32).put([1], np.ones((1, 32), np.float32))
    checked = hashed.knowledge.index_check()
    assert not checked["equal"]
    assert any("damaged" in line for line in checked["differences"])


def test_a_lost_cache_is_made_again(hashed: Notes) -> None:
    """The folder of embeddings may be deleted like everything else that is derived."""
    hashed.write("a.md", "Sloops and cutters.\n")
    hashed.knowledge.sync()
    shutil.rmtree(hashed.knowledge.generations.folder / "embeddings")
    fresh = Notes.__new__(Notes)
    fresh.__init__(hashed.root, {"OK_EMBEDDING": "hash:?dim=32"})  # type: ignore[misc]
    fresh.knowledge.sync()
    assert fresh.knowledge.index_check()["equal"]


def test_a_missing_model_leaves_words(tmp_path: Path) -> None:
    """The reason is said, the leg is named as missing, the words are searched."""
    notes = Notes(tmp_path / "s", {"OK_EMBEDDING": f"onnx:{tmp_path}/nowhere"})
    notes.write("a.md", "Sloops and cutters.\n")
    found = notes.knowledge.search("sloops")
    assert [hit["note"] for hit in found["results"]] == ["a"]
    assert found["degraded"] == ["vector"]
    assert any("Only words are searched" in line for line in notes.said)
    with pytest.raises(Unavailable):
        notes.knowledge.model.settled  # noqa: B018


def test_a_stores_own_settings_send_nothing_away(tmp_path: Path) -> None:
    """A server that only the store's config names is not asked; one that the person names is."""
    notes = Notes(tmp_path / "s", {})
    (notes.root / ".ok" / "config.yml").write_text("embedding: openai:m@https://models.example.invalid/v1?key_env=HOME\n")
    notes.write("a.md", "Sloops and cutters.\n")
    strange = Notes.__new__(Notes)
    strange.__init__(notes.root, {})  # type: ignore[misc]
    strange.knowledge.config.values["embedding"] = "openai:m@https://models.example.invalid/v1?key_env=HOME"  # type: ignore[index]
    strange.knowledge.config.origins["embedding"] = ".ok/config.yml"  # type: ignore[index]
    found = strange.knowledge.search("sloops")
    assert [hit["note"] for hit in found["results"]] == ["a"]
    assert found["degraded"] == ["vector"]
    assert any("only if your own settings do" in line for line in strange.said)
    assert server_of("ollama:m@http://127.0.0.1:11434") == server_of("builtin:minilm") == ""
    assert server_of("ollama:m@http://10.0.0.7:11434") == "http://10.0.0.7:11434"
