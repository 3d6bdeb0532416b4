"""`ok why`: the place of a note in the results, or each reason why it has none."""

from __future__ import annotations

from typing import Any

import pytest

from okl.errors import NotFound, UsageError
from tests.conftest import NOW, Notes, Ok

Data = dict[str, Any]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """A small store with something for every filter."""
    notes = Notes(tmp_path_factory.mktemp("why") / "s", {"OK_EMBEDDING": "hash:?dim=64"})
    for path, text in {
        "lamp.md": "---\ntitle: The red lamp\ntags: [light]\nupdated: 2026-03-01\n---\nThe red lamp burns whale oil; see [[colza]].\n",
        "colza.md": "Pressed from seeds in France.\n",
        "ship.md": "---\ntags: [sea]\nupdated: 2020-01-01\n---\nA ship with a lamp at its bow.\n",
        "old.md": "---\nstatus: outdated\n---\nThe old lamp burned oil.\n",
        "newer.md": "---\nsupersedes: '[[old]]'\n---\nThe newer lamp.\n",
        "gone.md": "---\nexpires: 2026-01-01\n---\nThis lamp is expired oil.\n",
        "memories/2026/m.md": "---\nnamespace: home\n---\nThe lamp at home.\n",
        "empty.md": "",
        **{f"filler/{n:02}.md": f"Cats and boats and rain number{n}.\n" for n in range(30)},
    }.items():
        notes.write(path, text)
    return notes


def why(notes: Notes, note: str, query: str, **asked: Any) -> Data:
    """The explanation of a note's place."""
    return notes.knowledge.why(note, query, **asked)


@pytest.mark.parametrize(
    ("query", "asked"),
    [("red lamp oil", {}), ("lamp", {"tags": ["sea"]}), ("red lamp oil", {"lanes": "linked"}), ("tag:light", {}), ('"red lamp"', {})],
)
def test_every_hit_has_the_place_that_the_search_gives_it(told: Notes, query: str, asked: Data) -> None:
    """Rank, lane, score and way are those of the search, and nothing speaks against it."""
    found = told.knowledge.search(query, **asked)["results"]
    assert found
    for rank, hit in enumerate(found, 1):
        one = why(told, hit["note"], query, **asked)
        assert (one["found"], one["rank"], one["lane"], one["score"], one["via"]) == (True, rank, hit["lane"], hit["score"], hit["via"])
        assert one["reasons"] == []
        assert (one["id"], one["path"], one["query"]) == (hit["note"], hit["path"], query)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("red lamp oil", {"limit": 3}),
        ("lamp", {"kinds": ["memory"]}),
        ("whale oil", {"min_score": 0.9}),
        ("qwertyuiop", {}),
        ("lamp -oil", {}),
    ],
)
def test_every_absence_has_a_reason(told: Notes, query: str, asked: Data) -> None:
    """Whatever is not among the results, a sentence says why; it has neither rank, lane nor score."""
    shown = {hit["note"] for hit in told.knowledge.search(query, **asked)["results"]}
    absent = {row["id"] for row in told.knowledge.list(include_superseded=True)} - shown
    assert absent
    for note in absent:
        one = why(told, note, query, **asked)
        assert (one["found"], one["rank"], one["lane"], one["score"]) == (False, None, None, None)
        assert one["reasons"], note


@pytest.mark.parametrize(
    ("note", "query", "asked", "reason"),
    [
        ("ship", "lamp", {"tags": ["light"]}, "it lacks a tag, topic or key that was asked for"),
        ("ship", "lamp -tag:sea", {}, "it has a tag, topic or key that was asked not to be there"),
        ("ship", "lamp -bow", {}, "it has a word or phrase that was asked not to be there"),
        ("ship", "lamp", {"kinds": ["memory"]}, "it is a note, which was not asked for"),
        ("ship", "lamp", {"surface": "store"}, "it is a note, which was not asked for"),
        ("ship", "lamp path:filler", {}, "it does not lie where was asked"),
        ("ship", "lamp", {"namespace": "home"}, "its namespace is “”, not “home”"),
        ("ship", "lamp", {"since": "2025-01-01"}, "before the time asked for"),
        ("lamp", "lamp", {"until": "2025-01-01"}, "after the time asked for"),
        ("old", "lamp", {}, "another note supersedes it"),
        ("gone", "lamp", {}, "it expired on 2026-01-01"),
        ("filler/01", "red lamp", {"limit": 1}, "notes stand before it"),
        ("ship", "lamp", {"lanes": "linked"}, ""),
        ("empty", '"red lamp"', {}, "no leg has it among its candidates"),
    ],
)
def test_the_reason_is_the_right_one(told: Notes, note: str, query: str, asked: Data, reason: str) -> None:
    """Each filter, gate and lane has its own sentence."""
    one = why(told, note, query, **asked)
    assert not one["found"]
    assert any(reason in sentence for sentence in one["reasons"]), one["reasons"]


def test_a_search_that_finds_nothing_says_why(notes: Notes) -> None:
    """The best hit's relevance is told beside what it would need."""
    notes.write("ship.md", "A ship with a lamp at its bow.\n")
    for number in range(30):
        notes.write(f"f{number}.md", f"Cats and boats and rain number{number}.\n")
    assert notes.ids("how do people make sourdough pizza with a lamp") == []
    (reason,) = why(notes, "ship", "how do people make sourdough pizza with a lamp")["reasons"]
    assert reason.startswith("the best hit's relevance is 0.")
    assert reason.endswith("under the 0.5 that a search needs to find anything")


def test_several_reasons_are_all_told(told: Notes) -> None:
    """Lifting one of two filters would not bring it back, so both are named."""
    reasons = why(told, "ship", "lamp -bow", tags=["light"], kinds=["memory"])["reasons"]
    assert len(reasons) >= 3


def test_a_reason_that_is_lifted_is_gone(told: Notes) -> None:
    """What was superseded or expired is found when such notes are asked for."""
    for note in ("old", "gone"):
        one = why(told, note, "lamp oil", include_superseded=True)
        assert (one["found"], one["reasons"]) == (True, [])


def test_each_leg_tells_its_rank(told: Notes) -> None:
    """Among all notes, with the words that the note has and lacks."""
    one = why(told, "lamp", "red lamp xylophone")
    assert one["legs"]["text"]["rank"] == 1
    assert one["legs"]["text"]["words"] == {"red": True, "lamp": True, "xylophone": False}
    assert one["legs"]["text"]["score"] > 0
    assert 1 <= one["legs"]["vector"]["rank"] <= one["legs"]["vector"]["of"]
    lacking = why(told, "colza", "red lamp xylophone")
    assert (lacking["legs"]["text"]["rank"], lacking["legs"]["text"]["score"]) == (None, None)
    assert not any(lacking["legs"]["text"]["words"].values())


def test_a_linked_hit_tells_its_way(told: Notes) -> None:
    """It says which note it hangs on, by which name."""
    one = why(told, "colza", "red lamp whale oil")
    assert (one["found"], one["lane"]) == (True, "linked")
    assert one["via"] == [{"note": "lamp"}, {"link": "colza"}]
    assert one["linked"]["rank"] == 1


def test_a_leg_that_did_not_run_is_none(notes: Notes) -> None:
    """Without a model there is no place by meaning."""
    notes.write("a.md", "A lamp.\n")
    assert why(notes, "a", "lamp")["legs"]["vector"] is None


def test_a_why_without_a_query_is_a_usage_error(told: Notes) -> None:
    """As a search without one is."""
    with pytest.raises(UsageError, match="what to search for"):
        why(told, "lamp", "  ")


def test_a_why_of_nothing_is_not_found(told: Notes) -> None:
    """The note must be there; the word is said as it was given."""
    with pytest.raises(NotFound, match="nowhere"):
        why(told, "nowhere", "lamp")


def test_asking_why_changes_nothing(told: Notes) -> None:
    """The same question has the same answer, and the search after it too."""
    before = told.ids("red lamp oil")
    assert why(told, "ship", "lamp") == why(told, "ship", "lamp")
    assert told.ids("red lamp oil") == before
    assert told.knowledge.clock() == NOW


def test_why_on_the_command_line(notes: Notes, ok: Ok) -> None:
    """Exit 0 for a hit, 1 for an absence, 1 for no such note, 2 for no query; lines for people, an object for programs."""
    notes.write("a.md", "The red lamp burns; see [[b]].\n")
    notes.write("b.md", "Plain.\n")
    notes.write("c.md", "Nothing of the kind.\n")
    found, absent = ok("why", "a", "red", "lamp"), ok("why", "c", "red", "lamp")
    assert (found.code, absent.code) == (0, 1)
    assert found.out.startswith("a: rank 1, direct lane, relevance ")
    assert "has     red, lamp" in found.out
    assert "vector  did not run" in found.out
    assert absent.out.startswith("c: not among the results\n")
    assert "lacks   red, lamp" in absent.out
    assert "  because no leg has it among its candidates" in absent.out
    assert "(by note a; link b)" in ok("why", "b", "red lamp").out
    assert ok("why", "b", "red lamp", "--json").json["lane"] == "linked"
    nothing, empty = ok("why", "nowhere", "lamp"), ok("why", "a")
    assert (nothing.code, nothing.out) == (1, "")
    assert (empty.code, empty.out) == (2, "")
    assert empty.err.count("\n") == 1
