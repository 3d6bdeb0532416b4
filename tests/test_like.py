"""`--like`: hits that are like a note or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from okl.errors import Conflict, NotFound, UsageError
from tests.conftest import Notes, Ok

BREAD = "Sourdough bread wants a wet dough, a long rest and a hot oven.\n"
LAMP = "The keeper trims the wick of the lamp and polishes the lens each night.\n"


def fill(notes: Notes) -> Notes:
    """Two notes about bread, two about lamps, and a dozen others."""
    notes.write("bread.md", f"---\ntitle: On bread\naliases: [loaves]\ntags: [food]\n---\n{BREAD}")
    notes.write("rolls.md", "---\ntags: [food]\n---\nRolls are made of the same wet sourdough; rest the dough, heat the oven.\n")
    notes.write("lamp.md", LAMP)
    notes.write("lens.md", "The lens is polished by the keeper; its lamp has a trimmed wick.\n")
    for number in range(12):
        notes.write(f"other/{number:02}.md", f"Cats, boats and rain number{number} of the street.\n")
    return notes


@pytest.fixture(scope="module", params=["none", "hash:?dim=64"])
def pantry(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """The store, searched by words alone, and by words and meaning."""
    return fill(Notes(tmp_path_factory.mktemp("like") / "s", {"OK_EMBEDDING": request.param}))


def ids(notes: Notes, like: str, **asked: Any) -> list[str]:
    """What is like it, best first."""
    return notes.ids("", like=like, **asked)


@pytest.mark.parametrize("name", ["bread", "bread.md", "On bread", "loaves", "ok://note/bread"])
def test_what_is_like_a_note_is_found_without_it(pantry: Notes, name: str) -> None:
    """By any of its names; the nearest note comes first, itself never."""
    found = ids(pantry, name)
    assert found[0] == "rolls"
    assert "bread" not in found


def test_a_passage_stands_for_its_note(pantry: Notes) -> None:
    """A hit's handle may be given back, to find more like it."""
    handle = pantry.knowledge.search("keeper lamp")["results"][0]["id"]
    found = ids(pantry, handle)
    assert set(found[:1]) <= {"lamp", "lens"}
    assert handle.partition("#")[0] not in found


def test_a_file_that_is_no_note_may_be_given(pantry: Notes, tmp_path: Path) -> None:
    """Its path is absolute, or from where one stands; frontmatter, BOM and line ends do not matter."""
    file = tmp_path / "draft.txt"
    file.write_bytes(b"\xef\xbb\xbf---\r\ntitle: Draft\r\n---\r\n" + BREAD.encode())
    found = ids(pantry, str(file))
    assert set(found[:2]) == {"bread", "rolls"}


def test_a_long_file_is_read_for_what_it_is_about(pantry: Notes, tmp_path: Path) -> None:
    """Megabytes are no fault, and what few notes have counts more than what all have."""
    file = tmp_path / "long.md"
    file.write_text((LAMP + "cats boats rain\n") * 30_000, encoding="utf-8")
    assert set(ids(pantry, str(file))[:2]) == {"lamp", "lens"}


@pytest.mark.parametrize("content", [b"", b"---\ntitle: ''\n---\n", b"the and of", b"\x00\xff" * 500, bytes(range(256)), "🜁🜂 … —".encode()])
def test_a_file_that_says_nothing_is_no_error(pantry: Notes, tmp_path: Path, content: bytes) -> None:
    """Nothing, or anything, may be like it."""
    (tmp_path / "odd.bin").write_bytes(content)
    assert isinstance(ids(pantry, str(tmp_path / "odd.bin")), list)


def test_filters_hold(pantry: Notes) -> None:
    """What is like it must pass them, also those in the query."""
    assert set(ids(pantry, "lamp", tags=["food"], min_score=0)) <= {"rolls", "bread"}
    assert "rolls" not in ids(pantry, "bread", paths=["other"])
    assert pantry.ids("-path:rolls.md", like="bread").count("rolls") == 0
    assert pantry.ids("-dough", like="bread").count("rolls") == 0
    assert ids(pantry, "bread", limit=1) == ["rolls"]


def test_with_words_too_the_note_is_left_out(pantry: Notes) -> None:
    """A query beside it is answered without the note."""
    assert pantry.ids("wet dough", like="bread")[0] == "rolls"
    assert "bread" not in pantry.ids("wet dough", like="bread")
    assert pantry.ids('"wet sourdough"', like="bread") == ["rolls"]
    assert pantry.ids('"wet dough"', like="bread") == []


def test_what_hangs_on_a_hit_is_not_the_note_itself(notes: Notes) -> None:
    """The note is left out of the linked lane too."""
    fill(notes)
    notes.write("rolls.md", "Rolls are made of the same wet sourdough; rest the dough, heat the oven. [[bread]] [[lens]]\n")
    for lanes in ("both", "linked"):
        assert "bread" not in ids(notes, "bread", lanes=lanes, deep=True)


def test_a_source_may_be_given(notes: Notes) -> None:
    """A doc, by its id or its path."""
    fill(notes)
    notes.knowledge.store_ingest([str(notes.write("../bread.txt", BREAD))])
    (row,) = notes.knowledge.store_list()
    for name in (row["id"], row["path"]):
        found = ids(notes, name)
        assert set(found[:2]) == {"bread", "rolls"}
        assert row["id"] not in found


def test_what_is_not_there_is_told(pantry: Notes) -> None:
    """Neither a note nor a file: the name is said; a folder is no file; blanks name nothing."""
    for name in ("nowhere", "other", "/", "/no/such/file.md"):
        with pytest.raises(NotFound, match=name):
            ids(pantry, name)
    with pytest.raises(UsageError):
        ids(pantry, "  ")
    with pytest.raises(UsageError, match="what to search for"):
        ids(pantry, "")


def test_a_name_of_several_notes_is_told(notes: Notes) -> None:
    """It is not guessed which of them is meant."""
    notes.write("a/twin.md", BREAD)
    notes.write("b/twin.md", LAMP)
    with pytest.raises(Conflict, match=r"a/twin\.md, b/twin\.md"):
        ids(notes, "twin")


def test_like_by_meaning(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With a model, texts that say the same in other words are alike."""
    notes = Notes(
        tmp_path_factory.mktemp("minilm") / "s",
        {"OK_EMBEDDING": "builtin:minilm", "XDG_CACHE_HOME": str(tmp_path_factory.getbasetemp() / "models")},
    )
    notes.write("car.md", "My automobile broke down, so I called a mechanic.\n")
    notes.write("same.md", "The engine of his vehicle failed and a repairman had to come.\n")
    notes.write("cake.md", "Whisk eggs with sugar until pale.\n")
    notes.write("tax.md", "The form is due in April.\n")
    found = notes.knowledge.search(like="car")
    assert found["legs"] == ["text", "vector"]
    assert found["results"][0]["note"] == "same"
    assert "car" not in [hit["note"] for hit in found["results"]]


def test_like_on_the_command_line(notes: Notes, ok: Ok) -> None:
    """A path counts from where one stands; exit 0 with hits, 1 without a note or file of that name, 2 for nothing."""
    fill(notes)
    notes.write("other/drafts/bread.txt", BREAD)
    found = ok("search", "--like", "drafts/bread.txt", "--json", cwd=notes.root / "other")
    assert found.code == 0
    assert {hit["note"] for hit in found.json[:2]} == {"bread", "rolls"}
    missing = ok("search", "--like", "nowhere")
    assert (missing.code, missing.out, missing.err.count("\n")) == (1, "", 1)
    assert ok("search", "--like", "").code == 2
