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

INDEXER = """
from pathlib import Path
from okl.knowledge import open_store
while True:
    knowledge = open_store(Path.cwd())
    knowledge.index(rebuild=True)
    print("indexed", flush=True)
"""
WRITER = """
from pathlib import Path
from okl.knowledge import open_store
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


def killed(notes: Notes, script: str, seconds: float) -> list[str]:
    """Run `script` in the store and kill it after some time; gives the lines it printed."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(notes.root.parent), "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=notes.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    out, err = child.communicate()
    assert b"Traceback" not in err, err.decode()
    return [line for line in out.decode().split("\n") if line]


def kill_often(notes: Notes, rounds: int) -> int:
    """Kill an indexer and a writer in turn; heal and check after each. Gives the number of acknowledged writes."""
    for number in range(60):
        notes.write(f"lib/note{number}.md", f"# Note {number}\n\nSee [[note{(number * 7) % 60}]] and some words. #tag{number % 5}\n")
    before = {path: path.read_bytes() for path in (notes.root / "lib").glob("*.md")}
    acknowledged: dict[str, str] = {}
    chance = random.Random(7)
    for number in range(rounds):
        script = WRITER.replace("{START}", str(number)) if number % 2 else INDEXER
        for line in killed(notes, script, 0.25 + chance.random() * 0.6):
            if " " in line:
                path, _, sha256 = line.partition(" ")
                acknowledged[path] = sha256
        notes.assert_sound()
        check(notes, acknowledged)
    assert {path: path.read_bytes() for path in (notes.root / "lib").glob("*.md")} == before
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


def test_a_few_kills(notes: Notes) -> None:
    """Ten kills, in CI."""
    assert kill_often(notes, 10) > 0


@pytest.mark.long
def test_a_hundred_kills(notes: Notes) -> None:
    """A hundred kills."""
    assert kill_often(notes, 100) > 0
