"""Every fault has a named finding; the rest of the store goes on."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from tests.conftest import Notes


def names(notes: Notes, path: str) -> list[str]:
    """The findings about one path."""
    return [row["name"] for row in notes.knowledge.doctor() if row["path"] == path]


BAD = {
    "binary-file": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 4,
    "invalid-utf8": b"caf\xe9 whale\n",
    "nul-bytes": b"whale " * 50 + b"\x00 end\n",
    "broken-yaml": b"---\ntitle: a: b\n---\nwhale\n",
    "yaml-alias": b"---\na: &a [x, x]\nb: [*a, *a]\n---\nwhale\n",
    "duplicate-key": b"---\na: 1\na: 2\n---\nwhale\n",
    "non-string-key": b"---\n1: a\n---\nwhale\n",
    "bad-date": b"---\nts: 2024-13-45\n---\nwhale\n",
    "bad-id": b"---\nid: [x]\n---\nwhale\n",
    "system-key": b"---\n_secret: 1\n---\nwhale\n",
    "conflict-markers": b"whale\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_indexed(notes: Notes, name: str) -> None:
    """It is found by its words where it has any, by its name else; its bytes stay; the rest of the store is indexed."""
    notes.write("bad.md", BAD[name])
    notes.write("good.md", "A good whale.\n")
    assert names(notes, "bad.md") == [name]
    found = notes.ids("whale" if b"whale" in BAD[name] else "bad")
    assert "bad" in found
    assert notes.ids("good") == ["good"]
    assert (notes.root / "bad.md").read_bytes() == BAD[name]


@pytest.mark.parametrize(
    "content",
    [
        b"---\non: yes\n---\nwhale\n",
        b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\nwhale\r\n",
        b"[[ whale\n",
        b"---\nwhale, no frontmatter\n",
        b"---\na: " + b"[" * 100_000 + b"\n---\nwhale\n",
        b"---\n" + b"- " * 100_000 + b"\n---\nwhale\n",
        b"whale " * 100_000,
        "\ufeffwhale\n".encode("utf-16-le"),
    ],
)
def test_odd_files_are_indexed(notes: Notes, content: bytes) -> None:
    """Odd is not broken: the words are found."""
    notes.write("odd.md", content)
    assert set(notes.ids("whale")) == {"odd"}


@pytest.mark.parametrize("value", [".inf", "-.inf", ".NaN", "1e999", "0x1F", "1_000", "2024-01-01", "=", "!!python/object:os.system x"])
def test_odd_values_are_text(notes: Notes, value: str) -> None:
    """A value that is no plain number is text; JSON stays JSON."""
    notes.write("odd.md", f"---\nx: {value}\n---\nwhale\n")
    assert notes.ids("whale") == ["odd"]
    assert isinstance(notes.knowledge.get(["odd"])[0]["properties"]["x"], str)


def test_yaml_nested_too_deeply_is_named(notes: Notes) -> None:
    """By brackets or by indentation."""
    notes.write("deep.md", "---\n" + "".join(" " * depth + f"k{depth}:\n" for depth in range(700)) + "---\nwhale\n")
    assert (notes.ids("whale"), names(notes, "deep.md")) == (["deep"], ["broken-yaml"])


def test_pipes_and_hidden_notes_are_named(notes: Notes) -> None:
    """What is no file is never opened; what begins with a dot is no note."""
    os.mkfifo(notes.root / "pipe.md")
    notes.write(".hidden.md", "whale\n")
    assert (names(notes, "pipe.md"), names(notes, ".hidden.md"), notes.ids("whale")) == (["no-file"], ["hidden-note"], [])


def test_twins_links_and_misplaced_notes_are_named(notes: Notes) -> None:
    """Unicode and case twins, symlinks, sync conflicts, notes in okl's own folders."""
    nfc, nfd = "Café.md", unicodedata.normalize("NFD", "Café.md")
    for path in (nfc, nfd, "lower.md", "Lower.md", "note.sync-conflict-20260101-000000-ABC.md", "system/notes.md"):
        notes.write(path, "whale\n")
    os.symlink(notes.root.parent, notes.root / "out")
    os.symlink(notes.root, notes.root / "loop")
    os.symlink("nowhere.md", notes.root / "dangling.md")
    found = {(row["name"], row["path"]) for row in notes.knowledge.doctor() if row["severity"] == "warning"}
    assert found >= {
        ("unicode-twins", nfc if nfc > nfd else nfd),
        ("case-twins", "lower.md"),
        ("conflict-twin", "note.sync-conflict-20260101-000000-ABC.md"),
        ("misplaced-note", "system/notes.md"),
        ("symlink", "out"),
        ("symlink", "loop"),
        ("symlink", "dangling.md"),
    }
    assert {row["path"] for row in notes.knowledge.list()} == {nfc, nfd, "lower.md", "Lower.md"}
    assert notes.knowledge.get([nfd])[0]["path"] == nfd


def test_a_name_of_255_bytes_is_a_note_like_others(notes: Notes) -> None:
    """It is indexed, tagged and ingested."""
    name = "n" * 252
    notes.write(f"{name}.md", "whale\n")
    (notes.root.parent / f"{name}.md").write_text("source whale\n", encoding="utf-8")
    assert notes.knowledge.tag(name, ["x"])["done"] == "updated"
    (outcome,) = notes.knowledge.store_ingest([str(notes.root.parent / f"{name}.md")])
    assert outcome["outcome"] == "added"
    assert len(notes.ids("whale")) == 2


def test_a_name_that_is_no_text_is_named(notes: Notes) -> None:
    """A file whose name is not UTF-8 cannot be addressed; doctor says so, sync goes on."""
    Path(os.fsdecode(bytes(notes.root) + b"/bad\xff.md")).write_text("whale\n", encoding="utf-8")
    notes.write("good.md", "whale\n")
    assert names(notes, "bad\\xff.md") == ["bad-name"]
    assert notes.ids("whale") == ["good"]


def test_a_broken_cite_and_a_lost_original_are_named(notes: Notes) -> None:
    """What okl keeps itself is looked after, too."""
    notes.write("citations/c-000000000000.json", "{}")
    notes.write("a.txt", "whale\n")
    notes.knowledge.store_ingest(["a.txt"])
    (notes.root / "store/sources/a.txt").unlink()
    assert names(notes, "citations/c-000000000000.json") == ["broken-cite"]
    assert names(notes, "store/normalized/a.txt.ok.md") == ["missing-original"]


def test_fix_builds_a_wrong_index_again(notes: Notes) -> None:
    """An index that is not what the files give is found and made anew; notes are not touched."""
    notes.write("a.md", "whale\n")
    notes.knowledge.sync()
    index = notes.knowledge.generations.open()
    assert index is not None
    with index:
        index.state.execute("UPDATE notes SET title = 'wrong'")
    assert notes.knowledge.index_check()["equal"] is False
    notes.knowledge.doctor(fix=True)
    assert notes.knowledge.index_check()["equal"] is True
    assert notes.read("a.md") == "whale\n"


def test_a_sound_store_has_no_warnings(notes: Notes) -> None:
    """Nothing is found where nothing is wrong."""
    notes.write("a.md", "---\ntags: [x]\n---\n# A\n\n[[a]]\n")
    assert [row for row in notes.knowledge.doctor() if row["severity"] != "info"] == []
