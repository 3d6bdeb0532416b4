"""kill -9 at any moment: the next command heals, no note is damaged, nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, Notes

MODEL = "hash:?dim=32"
BEGIN = """
from pathlib import Path
from okl.knowledge import open_store
import okl.graphs, okl.index.hnsw
print("ready", flush=True)
"""
INDEXER = (
    BEGIN
    + """
while True:
    knowledge = open_store(Path.cwd())
    knowledge.index(rebuild=True)
    print("indexed", flush=True)
"""
)
SYNCER = (
    BEGIN
    + """
import itertools
knowledge = open_store(Path.cwd())
for number in itertools.count():
    for name in range(3):
        Path(f"lib/more{name}.md").write_text(f"More {number} of [[note{name + number % 7}]] #tag{number % 3}")
    knowledge.sync()
    knowledge.graph_stats()
    print("synced", flush=True)
"""
)
WRITER = (
    BEGIN
    + """
knowledge = open_store(Path.cwd())
number = 0
while True:
    number += 1
    name = f"{START}-{number}"
    done = knowledge.put(f"Text {name} " + "words " * 200, id=f"written/{name}")
    print(done["path"], done["sha256"], flush=True)
    if number % 3 == 0:
        done = knowledge.put(f"Again {name} " + "words " * 300, id=f"written/{name}")
        print(done["path"], done["sha256"], flush=True)
"""
)


def killed(notes: Notes, script: str, seconds: float) -> list[str]:
    """Run `script` in the store and kill it some time after it got going; gives the lines it printed."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(notes.root.parent), "PYTHONPATH": str(ROOT), "OK_EMBEDDING": MODEL}
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=notes.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    out, err = child.communicate()
    assert b"Traceback" not in err, err.decode()
    return [line for line in out.decode().split("\n") if line]


def kill_often(notes: Notes, rounds: int) -> int:
    """Kill an indexer, a writer and a syncer in turn; heal and check after each. Gives the number of acknowledged writes."""
    for number in range(60):
        notes.write(f"lib/note{number}.md", f"# Note {number}\n\nSee [[note{(number * 7) % 60}]] and some words. #tag{number % 5}\n")
    before = {path: path.read_bytes() for path in (notes.root / "lib").glob("note*.md")}
    acknowledged: dict[str, str] = {}
    chance = random.Random(7)
    for number in range(rounds):
        script = (INDEXER, WRITER.replace("{START}", str(number)), SYNCER)[number % 3]
        for line in killed(notes, script, chance.random() * 1.2):
            if " " in line:
                path, _, sha256 = line.partition(" ")
                acknowledged[path] = sha256
        notes.assert_sound()
        check(notes, acknowledged)
    assert {path: path.read_bytes() for path in (notes.root / "lib").glob("note*.md")} == before
    return len(acknowledged)


def check(notes: Notes, acknowledged: dict[str, str]) -> None:
    """Every note that was acknowledged is there, or a newer text of it; none is torn; no temporary file is left."""
    import hashlib

    for path, sha256 in acknowledged.items():
        data = (notes.root / path).read_bytes()
        assert hashlib.sha256(data).hexdigest() == sha256 or data.split(b"\n")[-2].startswith(b"Again"), path
    for path in (notes.root / "written").rglob("*.md"):
        assert path.read_bytes().endswith(b"words \n"), path
    notes.knowledge.status()
    assert [path for path in notes.root.rglob(".ok-*") if Path(path).is_file()] == []


@pytest.fixture
def embedded(tmp_path: Path) -> Notes:
    """An empty store whose index has vectors."""
    return Notes(tmp_path / "embedded", {"OK_EMBEDDING": MODEL})


def test_a_few_kills(embedded: Notes) -> None:
    """A dozen kills, in CI."""
    assert kill_often(embedded, 12) > 0


@pytest.mark.long
def test_a_hundred_kills(embedded: Notes) -> None:
    """A hundred kills and more, at least thirty of each."""
    assert kill_often(embedded, 102) > 0
