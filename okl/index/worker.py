"""Making records on all cores: child processes read and parse, the parent writes the index."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from queue import Queue
from threading import Thread

from okl import process
from okl.index.record import Record, Settings, record
from okl.walk import Stamp

RACY_NS = 2 * 10**9
_FEW = 400
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read: its record, its stamp just before, and whether it may change without the stamp moving."""

    record: Record
    stamp: Stamp
    racy: bool


def reads(root: Path, paths: Sequence[str], settings: Settings) -> Iterator[Read]:
    """Each file, in the order of `paths`; files that vanished meanwhile are left out."""
    cores = os.cpu_count() or 1
    if len(paths) < _FEW or cores < 2 or not sys.executable:
        yield from (found for path in paths if (found := read(root, path, settings)))
        return
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    lanes = [_Lane(root, settings, batches[first::cores]) for first in range(cores)]
    try:
        for number, batch in enumerate(batches):
            done = lanes[number % cores].results.get()
            if done is None:  # the child died; its work is done here
                done = [row for path in batch if (row := read(root, path, settings))]
            yield from done
    finally:
        for lane in lanes:
            lane.stop()


class _Lane:
    """One child and the thread that feeds it; results come in the order of the batches, a few ahead."""

    def __init__(self, root: Path, settings: Settings, batches: Sequence[Sequence[str]]) -> None:
        self.results: Queue[list[Read] | None] = Queue(maxsize=4)
        self._child = process.start(__name__)
        Thread(target=self._feed, args=(root, settings, batches), daemon=True).start()

    def _feed(self, root: Path, settings: Settings, batches: Sequence[Sequence[str]]) -> None:
        given, taken = self._child.stdin, self._child.stdout
        for batch in batches:
            try:
                if given is None or taken is None:
                    raise EOFError
                process.send(given, (root, settings, batch))
                self.results.put(process.receive(taken))
            except (EOFError, OSError, ValueError, UnpicklingError):
                self.results.put(None)

    def stop(self) -> None:
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()


def read(root: Path, path: str, settings: Settings) -> Read | None:
    """The file on disk; one that cannot be read is kept by name, with the reason, to be tried again."""
    now = time.time_ns()
    try:
        stat = (root / path).stat(follow_symlinks=False)
        data = (root / path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = ("unreadable", 1, f"the file cannot be read: {error.strerror}")
        found = replace(record(path, b"", settings), sha256="", problems=[reason])
        return Read(found, Stamp(0, 0, 0), racy=True)
    stamp = Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ino)
    try:
        found = record(path, data, settings)
    except Exception as error:  # noqa: BLE001 - a bug that one file meets must cost that file only; doctor names it
        bug = ("unparsed", 1, f"a bug in okl: {type(error).__name__}: {error}; only the name is indexed")
        found = replace(record(path, b"", settings), sha256=hashlib.sha256(data).hexdigest(), problems=[bug])
    return Read(found, stamp, is_racy(stamp, now))


def is_racy(stamp: Stamp, read_ns: int) -> bool:
    """Whether the file was changed so shortly before it was read that a coarse clock could hide a change after."""
    return stamp.mtime_ns > read_ns - RACY_NS


def main() -> None:
    """A child's life: take (root, settings, paths), give records, until the parent is gone."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            root, settings, paths = process.receive(source)
        except EOFError:
            return
        done = [found for path in paths if (found := read(root, path, settings))]
        try:
            process.send(target, done)
        except BrokenPipeError:  # the parent is gone, and with it the need
            return
