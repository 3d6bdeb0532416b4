"""Generations: complete indexes side by side, one of them live, swapped by renaming a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from okl.errors import Busy, Unavailable
from okl.index.record import Settings
from okl.index.state import SCHEMA, State, StateBroken
from okl.index.text import ENGINE, Text, TextBroken
from okl.index.text import VERSION as ANALYZERS
from okl.store import process_lives

if TYPE_CHECKING:
    from okl.index.vectors import Vectors

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

GRAPH, HNSW, VECTORS = "graph.kuzu", "vectors.kuzu", "vectors.npy"
"""Files of a generation that are made on demand."""
_SYNCED = re.compile(r"(?i)^(?:dropbox.*|onedrive.*|icloud.*|mobile documents|google drive|my drive)$")


class Broken(Exception):
    """The live generation cannot be used; it was set aside, and is to be built again."""


class VectorsBroken(Exception):
    """The matrix of the vectors cannot be read; it is to be made again from the embedding cache."""


class ModelChanged(Exception):
    """The model makes other vectors than those in the index, which is to be built again."""


class Closing(Protocol):
    """Something that is open."""

    def close(self) -> None:
        """Let go of it."""
        ...


@dataclass
class Index:
    """One open generation: its tables and its words, and on demand its vectors."""

    state: State
    text: Text
    folder: Path | None = None
    marker: Path | None = None
    held: dict[str, Closing] = field(default_factory=dict)  # what else is open as long as the generation is

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for other in self.held.values():
            other.close()
        self.held.clear()
        self.state.close()
        self.answered()

    # --- vectors (a generation holds those of one model) ---

    @property
    def fingerprint(self) -> str:
        """The model whose vectors these are; empty as long as there are none."""
        return self.state.get("fingerprint")

    def holds(self, fingerprint: str, dim: int) -> bool:
        """Whether the vectors are this model's; an index without any becomes its."""
        if not self.fingerprint:
            self.state.remember("dim", str(dim))
            self.state.remember("fingerprint", fingerprint)
        return self.fingerprint == fingerprint

    @cached_property
    def vectors(self) -> Vectors:
        """The matrix of a generation that holds some."""
        from okl.index.vectors import Vectors

        path = self.folder / VECTORS if self.folder else None
        if path is not None and not path.exists() and self.state.rows("SELECT 1 FROM chunks WHERE embedded = 1 LIMIT 1"):
            raise VectorsBroken(f"{VECTORS} is missing")
        return Vectors(path, int(self.state.get("dim")))

    def answered(self) -> None:
        """Say that the engines work: the OPENING marker goes."""
        if self.marker is not None:
            with suppress(OSError):
                self.marker.unlink()
            self.marker = None


def in_memory() -> Index:
    """An empty index that leaves nothing on disk."""
    return Index(State(None, fresh=True), Text(None))


def location(root: Path, wish: str, cache: Path) -> Path:
    """The folder of the index of the store at `root`, by the setting `index.dir`."""
    synced = any(_SYNCED.match(part) for part in root.parts) or any((folder / ".stfolder").exists() for folder in (root, *root.parents))
    if wish == "store" or (wish == "auto" and not synced):
        return root / ".ok" / "index"
    return cache / "index" / re.sub(r"[^\w.-]+", "_", str(root)).strip("_")[-200:]


def versions(settings: Settings) -> str:
    """All that a generation must agree with to be used."""
    return f"schema {SCHEMA}, analyzers {ANALYZERS}, {ENGINE}, {settings.identity}"


class Generations:
    """The folder that holds the generations, `CURRENT`, the lock and the OPENING markers."""

    def __init__(self, folder: Path, settings: Settings, wait: float) -> None:
        self.folder = folder
        self.settings = settings
        self._wait = wait

    # --- reading ---

    def current(self) -> Path | None:
        """The live generation, if there is one."""
        try:
            name = (self.folder / "CURRENT").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        found = self.folder / name
        return found if re.fullmatch(r"\d{4,}", name) and found.is_dir() else None

    def fits(self, generation: Path) -> bool:
        """Whether the generation was made with the settings and engines of today."""
        return self.manifest(generation).get("versions") == versions(self.settings)

    def manifest(self, generation: Path) -> dict[str, Any]:
        """What the generation says of itself; empty if it cannot be read."""
        try:
            found = json.loads((generation / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def open(self) -> Index | None:
        """The live generation; None if there is none that fits; Broken if it had to be set aside."""
        generation = self.current()
        if generation is None:
            return None
        if not self.manifest(generation):
            self.quarantine(generation)
            raise Broken("manifest.json cannot be read")
        if not self.fits(generation):
            return None
        if self._crashed_while_opening(generation):
            self.quarantine(generation)
            raise Broken("the index was being opened when a process died")
        marker = self._mark(generation)
        try:
            index = Index(State(generation / "state.sqlite", wait=self._wait), Text(generation / "text"), generation, marker)
            if not index.state.pending() and index.state.chunk_count() != index.text.size:
                index.close()
                raise TextBroken("tables and words do not belong together")
            index.answered()
            return index
        except (StateBroken, TextBroken) as error:
            self.quarantine(generation)
            raise Broken(str(error)) from error

    def _mark(self, generation: Path) -> Path | None:
        marker = self.folder / f"OPENING.{os.getpid()}"
        try:
            marker.write_text(generation.name, encoding="utf-8")
        except OSError:
            return None  # a store that cannot be written can still be read
        return marker

    def _crashed_while_opening(self, generation: Path) -> bool:
        crashed = False
        for marker in self.folder.glob("OPENING.*"):
            pid = marker.suffix[1:]
            if pid.isdigit() and int(pid) != os.getpid() and not process_lives(int(pid)):
                with suppress(OSError):
                    crashed |= marker.read_text(encoding="utf-8") == generation.name
                    marker.unlink()
        return crashed

    @contextmanager
    def trying(self, file: Path) -> Iterator[None]:
        """Say that `file` of a generation is about to be opened, until the block is done.

        Broken, with the file's marker gone, if a process died while it tried.
        """
        marker = self.folder / f"TRYING.{file.parent.name}.{file.name}.{os.getpid()}"
        if self._died_trying(file):
            raise Broken(f"{file.name} was being opened when a process died")
        try:
            marker.write_text("", encoding="utf-8")
        except OSError as error:
            raise Unavailable(f"The index folder cannot be written: {error.strerror}.") from error
        try:
            yield
        finally:
            with suppress(OSError):
                marker.unlink()

    def _died_trying(self, file: Path) -> bool:
        died = False
        for marker in self.folder.glob(f"TRYING.{file.parent.name}.{file.name}.*"):
            pid = marker.suffix[1:]
            if pid.isdigit() and int(pid) != os.getpid() and not process_lives(int(pid)):
                died = True
                with suppress(OSError):
                    marker.unlink()
        return died

    def quarantine(self, generation: Path) -> None:
        """Set a broken generation aside; the newest one is kept for whoever wants to look."""
        aside = self.folder / "quarantine"
        with suppress(OSError):
            shutil.rmtree(aside, ignore_errors=True)
            os.replace(generation, aside)
        for marker in self.folder.glob(f"OPENING.{os.getpid()}"):
            with suppress(OSError):
                marker.unlink()

    # --- writing ---

    @contextmanager
    def lock(self, say: Callable[[str], None], wait: float | None = None) -> Iterator[None]:
        """Be the only writer; waits its turn and says for whom, then gives up with Busy."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = (self.folder / "lock").open("a+b", buffering=0)
        except OSError as error:
            raise Unavailable(f"The index folder {self.folder} cannot be written: {error.strerror}.") from error
        with handle:
            self._acquire(handle, say, self._wait if wait is None else wait)
            with suppress(OSError):  # who holds it is good to know, no more
                handle.seek(0)
                handle.truncate()
                handle.write(b"%d" % os.getpid())
            yield

    def _acquire(self, handle: Any, say: Callable[[str], None], wait: float) -> None:
        if fcntl is None:
            return
        started, told = time.monotonic(), False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                handle.seek(0)
                holder = f"process {handle.read().decode(errors='replace').strip() or '?'}"
            waited = time.monotonic() - started
            if waited >= wait:
                raise Busy(f"The index is being written by {holder}. Try again in a moment.")
            if waited > 1 and not told:
                say(f"waiting for {holder}, which is writing the index")
                told = True
            time.sleep(0.02)

    def begin(self) -> Index:
        """A new, empty generation, not yet live."""
        numbers = [int(path.name) for path in self.folder.iterdir() if re.fullmatch(r"\d{4,}", path.name)]
        folder = self.folder / f"{max(numbers, default=0) + 1:04d}"
        try:
            folder.mkdir()
            return Index(State(folder / "state.sqlite", fresh=True), Text(folder / "text", fresh=True), folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unavailable(f"The index folder cannot be written: {error.strerror}.") from error
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def publish(self, index: Index, facts: dict[str, Any]) -> None:
        """Make a complete generation the live one; the one before it stays, older ones go."""
        folder = index.folder
        if folder is None:
            raise ValueError("an index in memory is not published")
        index.state.close()
        before = self.current()
        manifest = {"versions": versions(self.settings), **facts}
        try:
            (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
            for path in [*folder.rglob("*"), folder]:
                _sync(path)
            temporary = self.folder / f"CURRENT.{os.getpid()}"
            temporary.write_text(folder.name + "\n", encoding="utf-8")
            _sync(temporary)
            os.replace(temporary, self.folder / "CURRENT")
            _sync(self.folder)
        except OSError as error:
            self.discard(index)
            raise Unavailable(f"The index cannot be written: {error.strerror}.") from error
        self._sweep({folder, before})

    def discard(self, index: Index) -> None:
        """Forget a generation that was not finished."""
        index.close()
        if index.folder is not None:
            shutil.rmtree(index.folder, ignore_errors=True)

    def _sweep(self, keep: set[Path | None]) -> None:
        for path in self.folder.iterdir():
            if re.fullmatch(r"\d{4,}", path.name) and path not in keep:
                shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
