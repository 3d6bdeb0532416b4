"""Fusion: the candidates of the legs in one order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.fusion import NAMED, Fused, Pool, first_chunks, fuse
from okl.index.generation import in_memory
from okl.index.state import ChunkRow
from okl.legs import Candidate, Meant
from okl.providers.character import Character
from okl.select import NoteRow

LIGHT = settings(max_examples=100, deadline=None)
SCORES = st.dictionaries(st.integers(1, 12), st.floats(0.01, 30), max_size=12)


def note(name: str) -> NoteRow:
    """The row of a note `name`.md without anything special."""
    return NoteRow(f"{name}.md", name, "note", "", name, "", "", "human", "", "", "", "en", "2026-01-01T00:00:00Z", ())


def chunk(name: str, number: int) -> ChunkRow:
    """A chunk of that note; later numbers start later."""
    return ChunkRow(number, f"{name}.md", 0, number * 10, number * 10 + 9, 1, 1, (), "")


def candidate(name: str, number: int, score: float, exact: bool = False) -> Candidate:
    """A leg's candidate."""
    return Candidate(chunk(name, number), note(name), score, exact)


def near(cosines: dict[int, float]) -> Meant:
    """A query whose cosine to chunk n is `cosines[n]`."""
    index = in_memory()
    index.holds("two/2", 2)
    vectors = np.array([[cosine, (1 - cosine * cosine) ** 0.5] for cosine in cosines.values()], np.float32)
    index.vectors.put(list(cosines), vectors)
    return Meant(index, np.array([1, 0], np.float32), Character(0.0, 1.0))


def pool(words: list[Candidate], meanings: list[Candidate] | None = None) -> Pool:
    """The candidates of both legs, best first."""
    found = Pool()
    found.add("text", words)
    found.add("vector", meanings or [])
    return found


def ids(found: list[Fused]) -> list[str]:
    """The notes, in order."""
    return [fused.note.id for fused in found]


def test_words_alone_keep_their_order() -> None:
    """Without meaning the score is BM25 as a share of the best; equals are in order of id."""
    found = fuse(pool([candidate("b", 1, 8.0), candidate("c", 2, 4.0), candidate("a", 3, 4.0)]), None, 0.0)
    assert [(fused.note.id, fused.score) for fused in found] == [("b", 1.0), ("a", 0.5), ("c", 0.5)]
    assert [fused.why for fused in found] == [[{"leg": "text", "rank": rank}] for rank in (1, 3, 2)]


def test_both_legs_add_up() -> None:
    """Half by words, half by how far the cosine lies between the store's median and the best; what a leg lacks counts nothing."""
    meant = near({1: 0.9, 2: 0.5, 3: 0.7, 4: 0.5, 5: 0.5})
    found = fuse(
        pool([candidate("both", 1, 6.0), candidate("words", 2, 6.0)], [candidate("both", 1, 0.9), candidate("near", 3, 0.7)]), meant, 0.5
    )
    scores = {fused.note.id: fused.score for fused in found}
    assert ids(found) == ["both", "words", "near"]
    assert scores["both"] == pytest.approx(1.0)
    assert scores["words"] == pytest.approx(0.5)
    assert 0.2 < scores["near"] < 0.35  # a half of the way from median to best, and a little for what was learnt
    assert found[0].why == [{"leg": "text", "rank": 1}, {"leg": "vector", "rank": 1}]


def test_the_share_weighs_the_legs() -> None:
    """With no share meaning does not count, with all of it words do not."""
    meant = near({1: 0.2, 2: 0.9, 3: 0.2})
    legs = pool([candidate("words", 1, 5.0)], [candidate("near", 2, 0.9), candidate("words", 1, 0.2)])
    assert [ids(fuse(legs, meant, share)) for share in (0.0, 1.0)] == [["words", "near"], ["near", "words"]]


def test_equal_cosines_tell_nothing() -> None:
    """A store whose texts are all as near, or one note alone, is ordered by words."""
    for cosines in ({1: 0.5, 2: 0.5, 3: 0.5}, {1: 0.5}):
        rows = [
            candidate(name, number, score) for name, number, score in (("a", 1, 1.0), ("b", 2, 2.0), ("c", 3, 3.0)) if number in cosines
        ]
        found = fuse(pool(rows, rows), near(cosines), 0.5)
        assert ids(found) == sorted(ids(found), reverse=True)
        assert found[0].score == pytest.approx(0.5)


def test_a_chunk_without_a_vector_has_its_words() -> None:
    """A chunk that waits for its vector, or lies beyond the matrix, is told by words alone."""
    legs = pool([candidate("waiting", 2, 9.0), candidate("beyond", 7, 8.0)], [candidate("near", 1, 0.9)])
    meant = near({1: 0.9, 3: 0.1, 4: 0.1})
    found = {fused.note.id: fused for fused in fuse(legs, meant, 0.5)}
    assert found["waiting"].said.keys() == found["beyond"].said.keys() == {"text"}
    assert found["waiting"].score == pytest.approx(0.5)


def test_the_title_that_was_asked_for_comes_first() -> None:
    """Whatever the others' scores."""
    found = fuse(pool([candidate("asked", 1, 0.1, exact=True), candidate("other", 2, 50.0)]), None, 0.0)
    assert ids(found) == ["asked", "other"]
    assert found[0].exact
    assert {"leg": "title", "rank": 1} in found[0].why
    assert {"leg": "title", "rank": 1} not in found[1].why


def test_a_title_in_the_query_helps() -> None:
    """A note whose title stands in the query gains a fixed part, and says so."""
    legs = pool([candidate("best", 1, 10.0), candidate("named", 2, 9.0)])
    found = fuse(legs, None, 0.0, ["named.md"])
    assert [(fused.note.id, fused.named) for fused in found] == [("named", True), ("best", False)]
    assert found[0].score == pytest.approx(0.9 + NAMED)
    assert found[0].why[-1] == {"leg": "title", "rank": 1}


def test_a_title_alone_makes_a_candidate() -> None:
    """A note that only the title leg has is there, with no leg's score."""
    legs = pool([candidate("best", 1, 10.0)])
    legs.add("title", [candidate("named", 2, 0.0)])
    found = fuse(legs, None, 0.0, ["named.md"])
    assert [(fused.note.id, fused.score, dict(fused.said)) for fused in found] == [("best", 1.0, {"text": (10.0, 1)}), ("named", NAMED, {})]


def test_a_documents_legs_may_speak_of_different_chunks() -> None:
    """A document has its best chunk by words and its best by meaning; further chunks follow with what is their own."""
    meant = near({1: 0.3, 2: 0.9, 3: 0.3, 4: 0.3, 5: 0.3})
    legs = pool([candidate("long", 1, 10.0), candidate("short", 3, 9.0)], [candidate("long", 2, 0.9), candidate("short", 3, 0.3)])
    found = fuse(legs, meant, 0.5)
    assert found[0].note.id == "long"
    assert found[0].score == pytest.approx(1.0)
    assert sorted(fused.score for fused in found if fused.note.id == "long") == [pytest.approx(0.5), pytest.approx(1.0)]
    assert ids(first_chunks(found)) == ["long", "short"]


def test_nothing_fuses_to_nothing() -> None:
    """No candidates are no hits."""
    assert fuse(pool([]), None, 0.0) == []
    assert fuse(pool([]), near({1: 0.5}), 0.5) == []


@LIGHT
@given(SCORES, SCORES, st.floats(0, 1), st.sets(st.sampled_from("abcd")))
def test_every_candidate_is_there_once(words: dict[int, float], meanings: dict[int, float], share: float, named: set[str]) -> None:
    """In falling order, its note's best chunk before its others, whichever leg spoke first; no score is above 1 and what a title adds."""
    cosines = {number: 0.02 + score / 40 for number, score in meanings.items()}
    owner = {number: "abcd"[number % 4] for number in range(1, 13)}
    by_words = sorted((candidate(owner[n], n, s) for n, s in words.items()), key=lambda c: -c.score)
    by_meaning = sorted((candidate(owner[n], n, c) for n, c in cosines.items()), key=lambda c: -c.score)
    meant = near(cosines) if cosines else None
    legs = pool(by_words, by_meaning)
    turned = Pool()
    turned.add("vector", by_meaning)
    turned.add("text", by_words)
    paths = [f"{name}.md" for name in named]
    found = fuse(legs, meant, share, paths)
    assert sorted(fused.row.number for fused in found) == sorted(words.keys() | cosines.keys())
    assert [fused.score for fused in found] == sorted((fused.score for fused in found), reverse=True)
    assert all(fused.score <= 1 + NAMED + 1e-6 for fused in found)
    assert [(f.row.number, f.score) for f in fuse(turned, meant, share, paths)] == [(f.row.number, f.score) for f in found]
