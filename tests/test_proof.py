"""`ok proof`: the index is what the files give, and whatever was put there by another way is found and named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from okl.index.engine import Engine
from okl.verbs import call
from tests.conftest import DEMO, Notes, Ok

Data = dict[str, Any]
FILES = {
    "a.md": "---\ntags: [sea]\ntopics: [light]\n---\nA link to [[b]]. The lamp of the old tower.\n",
    "b.md": "---\nkeys: [tower]\n---\n# The old red lamp\n\nThe lamp by the sea.\n",
    "c.md": "See [[b]] and the boats of the harbour.\n",
    "memories/2026/m.md": "---\ntags: [sea]\nnames: [Ada]\n---\nAda saw the red lamp.\n",
}


@pytest.fixture
def hashed(tmp_path: Path) -> Notes:
    """A few notes, their words, vectors and graph in the index."""
    notes = Notes(tmp_path / "store", {"OK_EMBEDDING": "hash:?dim=32"})
    for path, text in FILES.items():
        notes.write(path, text)
    notes.knowledge.index()
    return notes


def proof(notes: Notes) -> Data:
    """What `ok proof` finds."""
    found: Data = call(notes.knowledge, "proof", {})
    return found


def files(notes: Notes) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file of the store that is not the index."""
    found = (path for path in notes.root.rglob("*") if path.is_file() and "index" not in path.parts)
    return {str(path.relative_to(notes.root)): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def live(notes: Notes) -> Path:
    """The folder of the live generation."""
    folder = notes.knowledge.generations.current()
    assert folder is not None
    return folder


def test_a_sound_index_is_proven(hashed: Notes) -> None:
    """Both digests are equal, questions were asked and texts embedded again; neither a file nor the index is another afterwards."""
    before, dump = files(hashed), hashed.dump()
    found = proof(hashed)
    assert found["proven"] is True
    assert found["failures"] == []
    assert found["digest"] == found["rebuilt"]
    assert (found["files"], found["reembedded"]) == (4, 4)
    assert found["questions"] >= 2
    assert files(hashed) == before
    assert hashed.dump() == dump
    assert proof(hashed) == found


def test_edits_before_a_proof_are_no_fault(hashed: Notes) -> None:
    """What changed since the last command is taken in first; an index that is not there yet is made."""
    hashed.write("new.md", "A new page with a name of three words.\n")
    (hashed.root / "c.md").unlink()
    assert proof(hashed)["proven"]
    shutil.rmtree(hashed.root / ".ok" / "index")
    found = proof(hashed)
    assert (found["proven"], found["files"]) == (True, 4)


@pytest.mark.parametrize("embedding", ["none", "hash:?dim=32"])
def test_empty_and_odd_stores_are_proven(tmp_path: Path, embedding: str) -> None:
    """No note at all, notes without words, broken notes, and titles and tags of odd signs."""
    notes = Notes(tmp_path / "store", {"OK_EMBEDDING": embedding})
    assert proof(notes)["proven"]
    for path, text in {
        "empty.md": b"",
        "zero.md": b"\x00\x00",
        "broken.md": b"---\ntags: [a\n---\nbody\n",
        "latin.md": b"caf\xe9 au lait\n",
        "quotes.md": '---\ntitle: He said “so” and "so" on, it\'s 100% (true)\ntags: ["a b", "c\\"d", -x, "*", "k=v", "tag:y"]\n---\nx\n'.encode(),
        "minus.md": b"---\ntitle: -not this -or that phrase\n---\nx\n",
        "asia.md": "---\ntitle: 東京 の 夜 景\ntags: [夜景]\n---\n夜景\n".encode(),
        "stop.md": b"---\ntitle: to be or not to be\n---\nx\n",
        "twins/a.md": b"the same words\n",
        "twins/b.md": b"the same words\n",
    }.items():
        notes.write(path, text)
    found = proof(notes)
    assert found["failures"] == []
    assert found["questions"] > 5


def test_the_demo_is_proven(tmp_path: Path) -> None:
    """A store with notes, memories, topics and links of every kind."""
    shutil.copytree(DEMO, tmp_path / "demo")
    found = proof(Notes(tmp_path / "demo", {"OK_EMBEDDING": "hash:?dim=32"}))
    assert found["failures"] == []
    assert found["questions"] >= 20


FORGERIES = {
    "a title": ("UPDATE notes SET title = 'Forged' WHERE path = 'b.md'", "Forged"),
    "a tag": ("INSERT INTO tags (path, name, value, folded) VALUES ('c.md', 'tag', 'forged', 'forged')", "forged"),
    "a lost tag": ("DELETE FROM tags WHERE path = 'a.md' AND name = 'tag'", "sea"),
    "a link": ("UPDATE links SET found = 'a.md' WHERE path = 'c.md'", "c.md"),
    "a span": ("UPDATE chunks SET end = end - 5 WHERE path = 'b.md'", "b.md"),
    "a key": ("DELETE FROM keys WHERE path = 'b.md'", "tower"),
    "a name": ("DELETE FROM titles WHERE path = 'b.md'", "the old red lamp"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_row_is_named(hashed: Notes, what: str) -> None:
    """Whatever was changed in the tables stands in a failure, and the digests differ; no file of the store does."""
    statement, told = FORGERIES[what]
    before = files(hashed)
    with sqlite3.connect(live(hashed) / "state.sqlite") as database:
        assert database.execute(statement).rowcount > 0
    database.close()
    found = proof(hashed)
    assert not found["proven"]
    assert found["digest"] != found["rebuilt"]
    assert any(told in failure for failure in found["failures"]), found["failures"]
    assert files(hashed) == before


def test_a_forged_graph_is_named(hashed: Notes) -> None:
    """A node too many, an edge too few."""
    with Engine(live(hashed) / "graph.kuzu") as engine:
        engine.run("CREATE (:Topic {id: 'forged', name: 'forged'})")
        engine.run("MATCH (:MemoryNote {id: 'c'})-[r:LinksTo]->() DELETE r")
    failures = proof(hashed)["failures"]
    assert any("Topic" in failure and "forged" in failure for failure in failures)
    assert any("LinksTo" in failure for failure in failures)


def scaled(matrix: np.ndarray) -> np.ndarray:
    """Each vector at another's place."""
    return np.roll(matrix, 1, axis=0)


@pytest.mark.parametrize("change", [scaled, np.zeros_like, lambda m: m * np.float32(0.5), lambda m: np.full_like(m, np.nan)])
def test_forged_vectors_are_named(hashed: Notes, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Vectors that are another text's, nothing, half as long or no numbers are told as differences, and as not the model's."""
    path = live(hashed) / "vectors.npy"
    np.save(path, change(np.load(path)))
    found = proof(hashed)
    assert not found["proven"]
    assert any(failure.startswith("the indexes differ: vector") for failure in found["failures"])
    assert any("has a vector that is not the model's" in failure for failure in found["failures"])


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-64])])
def test_lost_vectors_are_made_again(hashed: Notes, damage: Callable[[Path], object]) -> None:
    """A matrix that is missing or cut short is no secret: it is said, made anew of the cache, and proven."""
    damage(live(hashed) / "vectors.npy")
    found = call(hashed.knowledge, "search", {"query": "lamp"})
    assert {"leg": "vector", "rank": 1} in [why for hit in found["results"] for why in hit["why"]]
    assert len(hashed.said) == 1
    assert proof(hashed)["failures"] == []


def test_vectors_forged_in_the_cache_too_are_named(hashed: Notes) -> None:
    """Cache and index may agree: the model itself is asked once more."""
    caches = list((hashed.root / ".ok" / "index" / "embeddings").rglob("rows"))
    assert len(caches) == 1
    model = hashed.knowledge.model.last
    assert model is not None
    shas = [row[0] for row in sqlite3.connect(live(hashed) / "state.sqlite").execute("SELECT passage_sha256 FROM chunks")]
    forged = np.eye(32, dtype=np.float32)[: len(shas)]
    model.embeddings.add(shas, forged)
    hashed.knowledge.build_anew()
    failures = proof(hashed)["failures"]
    assert failures
    assert all("has a vector that is not the model's" in failure for failure in failures)


def test_a_note_that_changes_meanwhile_is_told(hashed: Notes) -> None:
    """Nothing may be written while the store is only read."""
    embedder = hashed.knowledge.model.embedder()
    assert embedder is not None
    embed = embedder.embed

    def meddling(texts: Any, kind: Any) -> Any:
        hashed.write("b.md", "written by somebody else\n")
        return embed(texts, kind)

    embedder.embed = meddling  # type: ignore[method-assign]
    assert "b.md changed while it was only read" in proof(hashed)["failures"]


def test_a_proof_on_the_command_line(hashed: Notes, ok: Ok) -> None:
    """Exit 0 when it holds; else 7, with the failures in the lines and in the object."""
    variables = {"OK_EMBEDDING": "hash:?dim=32"}
    sound = ok("proof", cwd=hashed.root, **variables)
    assert (sound.code, sound.err) == (0, "")
    assert sound.out.endswith("proven: the index is what the files give, and nothing else\n")
    with sqlite3.connect(live(hashed) / "state.sqlite") as database:
        database.execute("UPDATE notes SET title = 'Forged' WHERE path = 'b.md'")
    database.close()
    forged = ok("proof", cwd=hashed.root, **variables)
    assert forged.code == 7
    assert "FAILED     the indexes differ: note" in forged.out
    assert forged.out.endswith("not proven\n")
    told = ok("proof", "--json", cwd=hashed.root, **variables)
    assert (told.code, told.json["proven"]) == (7, False)
    assert told.json["failures"]
