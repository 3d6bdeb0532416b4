"""Real stores in temporary folders, a fixed clock, and `ok` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from okl import config, initial
from okl.config import Environment
from okl.index.dump import digest
from okl.knowledge import Knowledge
from okl.store import Store

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "template_store" / "demo"


class Notes:
    """A store under test: files by path, and its verbs by `knowledge`."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self.root = root
        initial.init(root)
        environment = Environment({"HOME": str(root.parent), "OK_ACTOR": "human:tester", "OK_EMBEDDING": "none", **variables})
        self.said: list[str] = []
        bits = iter(range(1, 10_000))
        self.knowledge = Knowledge(
            Store(Path(os.path.realpath(root))),
            config.load(root, environment),
            say=self.said.append,
            clock=lambda: NOW,
            random_bits=lambda _count: next(bits),
            cwd=root,
        )

    def write(self, path: str, text: str | bytes) -> Path:
        """Put a file, as an editor would."""
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text if isinstance(text, bytes) else text.encode())
        return full

    def read(self, path: str) -> str:
        """The text of a file, its line endings untouched."""
        return (self.root / path).read_bytes().decode()

    def ids(self, query: str, **filters: Any) -> list[str]:
        """The ids of the notes that a search finds, best first."""
        return [hit["note"] for hit in self.knowledge.search(query, **filters)["results"]]

    def dump(self) -> list[str]:
        """The dump of the live index, without a sync before it."""
        index = self.knowledge.generations.open()
        assert index is not None
        with index:
            self.knowledge.graphs.settle(index)
            return self.knowledge.dump(index)

    def rebuilt(self) -> list[str]:
        """The dump of an index built from nothing but the files and the embedding cache."""
        return self.knowledge.rebuilt_dump()

    def assert_sound(self) -> None:
        """The index, synced, is what the files give: tables, words, vectors and graph."""
        self.knowledge.index()
        ours, rebuilt = self.dump(), self.rebuilt()
        assert sorted(set(ours) ^ set(rebuilt)) == []
        assert digest(ours) == digest(rebuilt)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """An empty store."""
    return Notes(tmp_path / "store", {})


@dataclass(frozen=True)
class Ran:
    """What a run of `ok` printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)


Ok = Callable[..., Ran]


@pytest.fixture
def ok(notes: Notes) -> Ok:
    """Run `ok` in the store, as a shell would."""

    def run(*arguments: str, stdin: str | bytes = "", cwd: Path | None = None, **variables: str) -> Ran:
        return run_ok(*arguments, stdin=stdin, cwd=cwd or notes.root, home=notes.root.parent, **variables)

    return run


def run_ok(*arguments: str, stdin: str | bytes = "", cwd: Path, home: Path, **variables: str) -> Ran:
    """Run `ok` in `cwd` with a home of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "okl", *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        cwd=cwd,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "OK_ACTOR": "human:tester",
            "OK_EMBEDDING": "none",
            **variables,
        },
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update` writes what the pages' sessions print now."""
    parser.addoption("--update", action="store_true", default=False, help="rewrite the sessions in README and docs")
