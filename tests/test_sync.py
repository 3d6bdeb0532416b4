"""Sync: what it decides, what it refuses, and that it heals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from okl import verbs
from okl.errors import Busy, Conflict, Unavailable
from okl.index.state import Indexed
from okl.index.sync import Changes, decide, suspects
from okl.walk import Stamp, Walk
from tests.conftest import ROOT, Notes


def stamp(number: int) -> Stamp:
    return Stamp(number, number, number)


def test_suspects_are_what_moved_is_new_or_too_young() -> None:
    """A file whose stamp stands is trusted, unless it was changed just before it was read."""
    files = {"same": stamp(1), "moved": stamp(2), "new": stamp(3), "young": stamp(4)}
    indexed = {
        "same": Indexed(stamp(1), "x", False),
        "moved": Indexed(stamp(9), "x", False),
        "young": Indexed(stamp(4), "x", True),
        "gone": Indexed(stamp(5), "x", False),
    }
    assert suspects(files, indexed) == ["moved", "new", "young"]


def test_decide_tells_edits_renames_and_deletions_apart() -> None:
    """The same hash at a new path is a rename; an unchanged hash only a new stamp; pending files are done again."""
    walked = Walk(stamps={"edited": stamp(2), "to": stamp(1), "touched": stamp(2), "new": stamp(1), "half": stamp(1)})
    indexed = {
        path: Indexed(stamp(1), sha, False)
        for path, sha in (("edited", "a"), ("from", "b"), ("touched", "c"), ("gone", "d"), ("half", "e"))
    }
    hashes = {"edited": "A", "to": "b", "touched": "c", "new": "f"}
    assert decide(walked, indexed, hashes, {"half"}) == Changes(
        added=("new",), replaced=("edited", "half"), renamed=(("from", "to"),), dropped=("gone",), touched=("touched",)
    )


def test_nothing_below_a_folder_that_cannot_be_listed_is_dropped() -> None:
    """Absence proves nothing where nobody could look."""
    walked = Walk(unreadable={"closed": "no"})
    indexed = {path: Indexed(stamp(1), "x", False) for path in ("closed/a.md", "closed/deep/b.md", "open.md", "closedish.md")}
    assert decide(walked, indexed, {}).dropped == ("closedish.md", "open.md")


def test_sync_says_what_it_did(notes: Notes) -> None:
    """Added, updated, renamed and removed files are counted."""
    for name in "abcd":
        notes.write(f"{name}.md", f"# {name}\n")
    assert notes.knowledge.sync()["added"] == 4
    notes.write("a.md", "changed\n")
    os.replace(notes.root / "b.md", notes.root / "moved.md")
    (notes.root / "c.md").unlink()
    done = notes.knowledge.sync()
    assert (done["updated"], done["renamed"], done["removed"]) == (1, [{"from": "b.md", "to": "moved.md"}], 1)
    again = notes.knowledge.sync()
    assert (again["added"], again["updated"], again["renamed"], again["removed"]) == (0, 0, [], 0)


def test_a_change_of_the_same_length_within_the_same_moment_is_seen(notes: Notes) -> None:
    """Size and time alone are not trusted for a file that was young when it was read."""
    file = notes.write("a.md", "one whale\n")
    notes.knowledge.sync()
    before = file.stat()
    with file.open("r+b") as handle:
        handle.write(b"two ships\n"[: len(b"one whale\n")])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert notes.ids("ships") == ["a"]


def test_sudden_emptiness_is_asked_about(notes: Notes) -> None:
    """When most notes are gone, sync stops; search goes on answering from what is there, and says so."""
    for number in range(60):
        notes.write(f"n{number}.md", f"whale {number}\n")
    notes.knowledge.sync()
    for number in range(40):
        (notes.root / f"n{number}.md").unlink()
    with pytest.raises(Conflict, match=r"40 of 60 notes are gone.*--accept-deletions"):
        notes.knowledge.sync()
    found = notes.knowledge.search("whale 59")
    assert (found["results"][0]["note"], "deletions" in found["degraded"]) == ("n59", True)
    assert notes.knowledge.sync(accept_deletions=True)["files"] == 20


def test_many_changes_make_a_new_generation(notes: Notes) -> None:
    """Over a fifth of the store and over 200 files, building anew is faster than mending."""
    notes.write("a.md", "first\n")
    assert notes.knowledge.sync()["generation"] == "0001"
    for number in range(300):
        notes.write(f"n{number}.md", f"# Note {number}\n")
    done = notes.knowledge.sync()
    assert (done["generation"], done["rebuilt"], done["files"]) == ("0002", True, 301)
    notes.assert_sound()


def test_a_setting_that_the_index_depends_on_makes_a_new_one(notes: Notes) -> None:
    """Chunk size and languages are part of what a generation is."""
    notes.write("a.md", "word " * 400)
    first = notes.knowledge.sync()
    notes.knowledge.config.values["chunk.tokens"] = 64  # type: ignore[index]
    del notes.knowledge.__dict__["generations"]
    second = notes.knowledge.sync()
    assert second["generation"] != first["generation"]
    assert second["chunks"] > first["chunks"]


DAMAGE = {
    "CURRENT is garbage": lambda index: (index / "CURRENT").write_bytes(b"\xff\x00rubbish"),
    "CURRENT is gone": lambda index: (index / "CURRENT").unlink(),
    "CURRENT points nowhere": lambda index: (index / "CURRENT").write_text("0042\n", encoding="utf-8"),
    "no manifest": lambda index: (index / "0001" / "manifest.json").unlink(),
    "the manifest is garbage": lambda index: (index / "0001" / "manifest.json").write_bytes(b"{"),
    "the tables are garbage": lambda index: (index / "0001" / "state.sqlite").write_bytes(b"not sqlite at all" * 100),
    "the tables are empty": lambda index: (index / "0001" / "state.sqlite").write_bytes(b""),
    "the tables are cut": lambda index: os.truncate(index / "0001" / "state.sqlite", 9000),
    "the tables are gone": lambda index: (index / "0001" / "state.sqlite").unlink(),
    "the words are gone": lambda index: shutil.rmtree(index / "0001" / "text"),
    "the words' meta is garbage": lambda index: (index / "0001" / "text" / "meta.json").write_bytes(b"{}"),
    "the words are garbage": lambda index: [p.write_bytes(b"\xff" * 50) for p in (index / "0001" / "text").glob("*.term")],
    "the positions are gone": lambda index: [p.unlink() for p in (index / "0001" / "text").glob("*.pos")],
    "half of the words are garbage": lambda index: [
        p.write_bytes(b"\x07" * (p.stat().st_size // 2) + p.read_bytes()[p.stat().st_size // 2 :])
        for p in (index / "0001" / "text").glob("*.idx")
    ],
    "a process died opening it": lambda index: (index / "OPENING.99999999").write_text("0001", encoding="utf-8"),
    "everything is gone": lambda index: shutil.rmtree(index),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_built_again(notes: Notes, damage: str) -> None:
    """Whatever happens to the derived files, the next command answers rightly and the index is sound."""
    for number in range(5):
        notes.write(f"n{number}.md", f"whale {number} [[n{number + 1}]]\n")
    notes.knowledge.sync()
    DAMAGE[damage](notes.root / ".ok" / "index")
    found = verbs.call(notes.knowledge, "search", {"query": '"whale 3"'})
    assert found["results"][0]["note"] == "n3"
    notes.assert_sound()


def test_a_second_writer_waits_and_says_for_whom(notes: Notes) -> None:
    """While another process holds the lock, a reader answers from the live index, a writer gives up with its number."""
    notes.write("a.md", "whale\n")
    notes.knowledge.sync()
    script = "import sys, time\nfrom pathlib import Path\nfrom okl.knowledge import open_store\n"
    script += "with open_store(Path.cwd()).generations.lock(print):\n    print('held', flush=True)\n    time.sleep(60)\n"
    environment = {"PATH": os.environ["PATH"], "HOME": str(notes.root.parent), "PYTHONPATH": str(ROOT)}
    holder = subprocess.Popen([sys.executable, "-c", script], cwd=notes.root, env=environment, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        notes.knowledge.generations._wait = 0.2
        found = notes.knowledge.search("whale")
        assert ([hit["note"] for hit in found["results"]], found["degraded"]) == (["a"], ["lag"])
        with pytest.raises(Busy, match=f"process {holder.pid}"):
            notes.knowledge.sync()
    finally:
        holder.kill()
        holder.communicate()
    assert notes.knowledge.sync()["files"] == 1


def test_a_full_disk_leaves_the_note_as_it_was(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that the disk refuses changes nothing and leaves nothing behind."""
    notes.write("a.md", "one\n")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    notes.knowledge.sync()
    monkeypatch.setattr("okl.store.os.fsync", full)
    with pytest.raises(Unavailable, match="No space left on the disk"):
        notes.knowledge.put("two", id="a")
    monkeypatch.undo()
    assert notes.read("a.md") == "one\n"
    assert [path.name for path in notes.root.iterdir() if path.name.startswith(".ok-")] == []


def test_a_full_disk_does_not_stop_a_search(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be written is made in memory; the answer says so."""
    notes.write("a.md", "whale\n")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("okl.store.os.fsync", full)
    found = notes.knowledge.search("whale")
    assert ([hit["note"] for hit in found["results"]], found["degraded"]) == (["a"], ["index"])


def test_a_store_that_cannot_be_written_can_be_read(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an index or without one, reading verbs answer; writing ones say what is missing."""
    notes.write("a.md", "whale\n")
    notes.knowledge.sync()

    def refused(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("okl.index.generation.Path.mkdir", refused)
    monkeypatch.setattr("okl.store.os.open", refused)
    assert notes.ids("whale") == ["a"]
    assert notes.knowledge.get(["a"])[0]["body"] == "whale\n"
    with pytest.raises(Unavailable):
        notes.knowledge.put("new text", id="b")


def test_an_ignore_rule_above_the_notes_counts_at_once(notes: Notes) -> None:
    """Also in a folder that holds no note itself."""
    notes.write("one/two/a.md", "whale\n")
    assert notes.ids("whale") == ["one/two/a"]
    notes.write("one/.gitignore", "*.md\n")
    assert notes.ids("whale") == []


def test_leftovers_of_dead_writers_are_swept(notes: Notes) -> None:
    """A temporary file whose writer is dead goes with the next command; a living one's stays."""
    from okl.store import temporary_name

    mine = temporary_name()
    dead = mine.replace(f"-{os.getpid()}-", "-99999999-")
    for name in (mine, dead):
        notes.write(name, "half a note")
    notes.knowledge.sync()
    assert [path.name for path in notes.root.glob(".ok-*")] == [mine]
    (notes.root / mine).unlink()


def test_views_follow_the_topics(notes: Notes) -> None:
    """A topic has a page of links, newest first; it goes with its last note; files of others stay."""
    notes.write("old.md", "---\ntopics: [Light Houses]\nupdated: 2026-01-01\n---\n")
    notes.write("new.md", "---\ntopics: [light houses]\nupdated: 2026-02-01\ntitle: New one\n---\n")
    notes.write("memories/topics/mine.md", "my own\n")
    notes.knowledge.sync()
    page = notes.read("memories/topics/light-houses.md")
    assert page.index("[[new|New one]]") < page.index("[[old|old]]")
    notes.write("old.md", "no topic\n")
    notes.write("new.md", "no topic\n")
    notes.knowledge.sync()
    assert sorted(path.name for path in (notes.root / "memories/topics").iterdir()) == ["mine.md"]


def test_views_may_be_symlinks(notes: Notes) -> None:
    """With `views: symlinks` a topic is a folder of relative links."""
    notes.write(".ok/config.yml", "views: symlinks\n")
    notes.knowledge.config.values["views"] = "symlinks"  # type: ignore[index]
    notes.write("deep/a.md", "---\ntopics: [t]\n---\n")
    notes.knowledge.sync()
    link = notes.root / "memories/topics/t/a.md"
    assert (link.is_symlink(), Path(os.readlink(link)).is_absolute(), link.resolve()) == (True, False, (notes.root / "deep/a.md").resolve())
