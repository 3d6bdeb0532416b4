"""The heart of the suite: whatever happens to the files, the synced index is the one built from nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.conftest import Notes

NAMES = ("a", "b", "Ünï", "c note", "d", "x.y")
FOLDERS = ("", "one", "one/two", "memories", "store/normalized/lib", "Ünï")
TEXTS = (
    "See [[a]] and [[one/b|the other]].\n",
    "# Title a\n\nWords about whales. [[Title a]] [[c note#Part]] #tag/x\n",
    "---\nid: b\naliases: [Bee, x.y]\n---\nAlias of [[Bee]] and [[B]].\n",
    "---\nid: m-1\ntags: [q]\ntopics: [t, Big Topic]\nrelated: [a, '[[d]]']\n---\n[md](../b.md) [up](/a.md)\n",
    "---\nsupersedes: a\nstatus: draft\n---\n",
    "---\nsupersedes: '[[b]]'\ntitle: d\n---\nGone [[d]] ![[x.y]].\n",
    "---\nbroken: [\n---\nText of [[Ünï]].\n",
    "\ufeff---\r\nid: Ünï\r\n---\r\nWindows [[A]]\r\n",
    "word " * 700 + "[[d]]\n",
    "",
)
paths = st.builds(lambda folder, name: f"{folder}/{name}".lstrip("/"), st.sampled_from(FOLDERS), st.sampled_from(NAMES))


def file_of(path: str) -> str:
    """The file of a note: a doc's name is longer."""
    return f"{path}.ok.md" if path.startswith("store/normalized/") else f"{path}.md"


class Edits(RuleBasedStateMachine):
    """A person, an editor, a sync tool and git at work on one store."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="okl-test-"))
        self.notes = Notes(self.home / "store", {"OK_EMBEDDING": "hash:?dim=16"})

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    @initialize()
    def begin(self) -> None:
        self.notes.write("a.md", TEXTS[0])
        self.notes.knowledge.sync()

    @rule(path=paths, text=st.sampled_from(TEXTS))
    def write(self, path: str, text: str) -> None:
        self.notes.write(file_of(path), text)

    @rule(path=paths, text=st.sampled_from(TEXTS))
    def append(self, path: str, text: str) -> None:
        file = self.notes.root / file_of(path)
        if file.is_file():
            file.write_bytes(file.read_bytes() + text.encode())

    @rule(path=paths)
    def delete(self, path: str) -> None:
        file = self.notes.root / file_of(path)
        if file.is_file():
            file.unlink()

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        source, target = self.notes.root / file_of(old), self.notes.root / file_of(new)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)

    @rule(folder=st.sampled_from(FOLDERS[1:]))
    def move_folder_away(self, folder: str) -> None:
        source, target = self.notes.root / folder, self.notes.root / "moved" / folder
        if source.is_dir() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)

    @rule(path=paths)
    def touch(self, path: str) -> None:
        file = self.notes.root / file_of(path)
        if file.is_file():
            os.utime(file, ns=(1, file.stat().st_mtime_ns + 5 * 10**9))

    @rule(line=st.sampled_from(("one/", "!one/", "d.md", "*.md", "# nothing")), path=st.sampled_from(("", "one/")))
    def ignore(self, line: str, path: str) -> None:
        file = self.notes.root / path / ".gitignore"
        if file.parent.is_dir():
            before = file.read_text(encoding="utf-8") if file.exists() else ""
            file.write_text(f"{before}{line}\n", encoding="utf-8")

    @rule(path=st.sampled_from(("", "one/")))
    def ignore_nothing(self, path: str) -> None:
        file = self.notes.root / path / ".gitignore"
        if file.is_file():
            file.write_text("", encoding="utf-8")

    @rule()
    def sync(self) -> None:
        self.notes.knowledge.sync(accept_deletions=True)

    @rule()
    def search(self) -> None:
        for hit in self.notes.knowledge.search("whales title alias text")["results"]:
            assert hit["quote"] in self.notes.read(hit["path"])

    @invariant()
    def the_synced_index_is_the_rebuilt_one(self) -> None:
        self.notes.assert_sound()


class TestEdits(Edits.TestCase):
    """Two hundred operations in CI."""

    settings = settings(max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.long
class TestEditsLong(Edits.TestCase):
    """Ten thousand operations."""

    settings = settings(max_examples=20, stateful_step_count=500, deadline=None, suppress_health_check=list(HealthCheck))
