"""Ids, names and links across the whole store."""

from __future__ import annotations

import pytest

from okl.errors import Ambiguous, NotFound
from tests.conftest import Notes


def goals(notes: Notes, path: str) -> list[str | None]:
    """Where the links of a note lead."""
    return [link["path"] for link in notes.knowledge.get([path])[0]["links"]]


def test_names_resolve_by_strength(notes: Notes) -> None:
    """An id beats a path, a path a file name, that an alias, that a title; case and Unicode form do not count."""
    notes.write("one.md", "---\nid: two\n---\n")
    notes.write("deep/Three.md", "---\naliases: [four]\ntitle: five\n---\n")
    notes.write("four.md", "---\ntitle: three\n---\n")
    notes.write("Cafe\u0301.md", "x\n")
    paths = {
        name: notes.knowledge.get([name])[0]["path"] for name in ("two", "one", "THREE", "deep/three", "four", "five", "Café", "three.md")
    }
    assert paths == {
        "two": "one.md", "one": "one.md", "THREE": "deep/Three.md", "deep/three": "deep/Three.md", "four": "four.md",
        "five": "deep/Three.md", "Café": "Cafe\u0301.md", "three.md": "deep/Three.md",
    }  # fmt: skip
    with pytest.raises(NotFound):
        notes.knowledge.get(["six"])


def test_an_ambiguous_name_lists_its_candidates(notes: Notes) -> None:
    """Two notes of one name are told apart by their paths."""
    notes.write("a/x.md", "1\n")
    notes.write("b/x.md", "2\n")
    with pytest.raises(Ambiguous, match=r"means 2 notes: a/x\.md, b/x\.md"):
        notes.knowledge.get(["x"])
    assert notes.knowledge.get(["b/x"])[0]["body"] == "2\n"


def test_an_id_claimed_twice_belongs_to_the_shortest_path(notes: Notes) -> None:
    """The other goes by its path and is reported; an id that is another file's path is not granted."""
    notes.write("long/path.md", "---\nid: same\n---\n")
    notes.write("b.md", "---\nid: same\n---\n")
    notes.write("thief.md", "---\nid: b\n---\n")
    ids = {row["path"]: row["id"] for row in notes.knowledge.list()}
    assert ids == {"b.md": "same", "long/path.md": "long/path", "thief.md": "thief"}
    found = [row["path"] for row in notes.knowledge.doctor() if row["name"] == "id-claimed-twice"]
    assert found == ["long/path.md", "thief.md"]
    (notes.root / "b.md").unlink()
    ids = {row["path"]: row["id"] for row in notes.knowledge.list()}
    assert ids == {"long/path.md": "same", "thief.md": "b"}


def test_links_lead_where_obsidian_leads(notes: Notes) -> None:
    """By name, by part of the path, by relative path, to the nearest of several; attachments lead nowhere."""
    notes.write("a/note.md", "x\n")
    notes.write("b/note.md", "x\n")
    notes.write("b/from.md", "[[note]] [[a/note]] [md](../a/note.md) [up](/b/note.md) ![[pic.png]] [[nowhere]] [[Note#Part|text]]\n")
    assert goals(notes, "b/from") == ["b/note.md", "a/note.md", "a/note.md", "b/note.md", None, None, "b/note.md"]


def test_links_follow_their_names(notes: Notes) -> None:
    """A link leads to a note as soon as there is one of that name, and nowhere when it is gone."""
    notes.write("from.md", "[[Later]]\n")
    assert goals(notes, "from") == [None]
    notes.write("x.md", "---\naliases: [later]\n---\n")
    assert goals(notes, "from") == ["x.md"]
    notes.write("deep/later.md", "the file name is stronger\n")
    assert goals(notes, "from") == ["deep/later.md"]
    (notes.root / "deep/later.md").unlink()
    (notes.root / "x.md").unlink()
    assert goals(notes, "from") == [None]


def test_backlinks_are_known(notes: Notes) -> None:
    """A note knows who links to it, from the text or from a property."""
    notes.write("goal.md", "x\n")
    notes.write("a.md", "one\n\n[[goal]] and [[goal]]\n")
    notes.write("b.md", '---\nup: "[[goal]]"\n---\n')
    assert notes.knowledge.get(["goal"])[0]["backlinks"] == [
        {"id": "a", "path": "a.md", "line": 3},
        {"id": "b", "path": "b.md", "line": 1},
    ]


def test_sources_are_known_by_their_names(notes: Notes) -> None:
    """A link to a source's file name leads to its text."""
    notes.write("store/normalized/lib/paper.pdf.ok.md", "---\ntype: doc\n---\nText\n")
    notes.write("n.md", "[[paper.pdf]] ![[lib/paper.pdf]]\n")
    assert goals(notes, "n") == ["store/normalized/lib/paper.pdf.ok.md"] * 2
