"""The store: one directory of plain files. Finding it, reading it, and writing durably and guarded."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from okl.errors import Conflict, NoteChanged, NotFound, OklError, Unavailable, UsageError
from okl.walk import Stamp, leftover_owner

try:
    import fcntl
except ImportError:  # Windows has no flock; the guard by hash still stands there
    fcntl = None  # type: ignore[assignment]

MARK = ".ok/config.yml"


@dataclass(frozen=True)
class Store:
    """An open store; `root` is a real path. Paths given to it are relative to the root, with `/`."""

    root: Path

    @classmethod
    def find(cls, start: Path, named: str | None = None) -> Store:
        """The store `named`, else the first at or above `start` that has `.ok/config.yml`."""
        if named:
            root = Path(os.path.realpath(os.path.expanduser(named)))
            if not (root / MARK).is_file():
                raise NotFound(f"{root} is no store: it has no {MARK}. Make one with “ok init {named}”.")
            return cls(root)
        here = Path(os.path.realpath(start))
        for folder in (here, *here.parents):
            if (folder / MARK).is_file():
                return cls(folder)
        raise NotFound(f"No store at or above {here}. Make one with “ok init”, or name one with --store.")

    def path(self, path: str) -> Path:
        """Where `path` lies on disk; UsageError if it would leave the store, also through a symlink."""
        pure = PurePosixPath(path)
        if not path or pure.is_absolute() or ".." in pure.parts or "\x00" in path or not _is_text(path):
            raise UsageError(f"“{path}” is no path inside the store.")
        full = self.root / pure
        folder = os.path.realpath(full.parent)
        if folder != str(self.root) and not folder.startswith(str(self.root) + os.sep):
            raise UsageError(f"“{path}” leads out of the store through a symlink.")
        return full

    def relative(self, path: Path) -> str | None:
        """`path` as the store names it; None if it lies outside."""
        full = Path(os.path.realpath(path.parent)) / path.name
        return full.relative_to(self.root).as_posix() if full.is_relative_to(self.root) else None

    def read(self, path: str) -> bytes:
        """The bytes of the file; NotFound if there is none."""
        full = self.path(path)
        try:
            if full.is_symlink() and not self._inside(full):
                raise UsageError(f"“{path}” is a symlink that leads out of the store.")
            if not full.is_file() and full.exists():
                raise Unavailable(f"{path} is no file.")
            return full.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no file {path}.") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise NotFound(f"There is no file {path[:60]}….") from None
            raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error

    def _inside(self, full: Path) -> bool:
        return Path(os.path.realpath(full)).is_relative_to(self.root)

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`."""
        return os.path.lexists(self.path(path))

    def stamp(self, path: str) -> Stamp | None:
        """The stamp of the file as it is now; None if it is gone."""
        try:
            stat = os.lstat(self.root / path)
        except OSError:
            return None
        return Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def write(self, path: str, data: bytes, if_match: str | None = None, force: bool = False) -> str:
        """Write the whole file, durably, and give its sha256.

        Temporary file beside it, fsync, rename, fsync of the directory. Without `if_match` the file
        must be new; with it, its sha256 must still be that one (NoteChanged); `force` asks neither.
        """
        full = self.path(path)
        with _explained(path), self._locked():
            if full.is_symlink() or full.is_dir():
                raise UsageError(f"{path} is a {'folder' if full.is_dir() else 'symlink'}; okl writes plain files only.")
            full.parent.mkdir(parents=True, exist_ok=True)
            self._write(full, path, data, if_match, force)
        return hashlib.sha256(data).hexdigest()

    def _write(self, full: Path, path: str, data: bytes, if_match: str | None, force: bool) -> None:
        temporary = full.with_name(temporary_name())
        try:
            _write_synced(temporary, data, full)
            if not force:
                self._guard(full, path, if_match)
            if if_match is None and not force:
                os.link(temporary, full)
            else:
                os.replace(temporary, full)
        except FileExistsError:
            raise Conflict(f"{path} exists already.") from None
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
            self._drop_empty(full.parent)
        _sync_folder(full.parent)

    def _guard(self, full: Path, path: str, if_match: str | None) -> None:
        if if_match is None:
            if os.path.lexists(full):
                raise Conflict(f"{path} exists already.")
        elif not full.exists() or hashlib.sha256(full.read_bytes()).hexdigest() != if_match:
            raise NoteChanged(path)

    def trash(self, path: str, if_match: str | None = None) -> str:
        """Move the file to `.trash/`, where Obsidian keeps deleted notes too; gives its new path."""
        full = self.path(path)
        if not os.path.lexists(full):
            raise NotFound(f"There is no file {path}.")
        with _explained(path), self._locked():
            if if_match is not None:
                self._guard(full, path, if_match)
            target = self._free(".trash/" + path)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(full, target)
            _sync_folder(target.parent)
            _sync_folder(full.parent)
            self._drop_empty(full.parent)
        return target.relative_to(self.root).as_posix()

    def _free(self, path: str) -> Path:
        """A path like `path` at which nothing lies yet."""
        target = self.root / path
        number = 1
        while os.path.lexists(target):
            number += 1
            target = (self.root / path).with_name(f"{PurePosixPath(path).stem} {number}{PurePosixPath(path).suffix}")
        return target

    def _drop_empty(self, folder: Path) -> None:
        while folder != self.root and folder.is_relative_to(self.root):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer of files at a time among okl's processes, so that check and rename belong together."""
        if fcntl is None:
            yield
            return
        lock = self.root / ".ok" / "write.lock"
        lock.parent.mkdir(exist_ok=True)
        with lock.open("ab") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def rehearsing(self) -> Store:
        """The same store, whose writes check everything and change nothing."""
        return _Rehearsal(self.root)

    def sweep(self, leftovers: list[str]) -> list[str]:
        """Remove temporary files whose writer is dead; gives the removed paths."""
        return [path for path in leftovers if self._is_dead(path) and self._unlink(path)]

    def _is_dead(self, path: str) -> bool:
        owner = leftover_owner(path)
        if owner is None:
            return False
        if owner[0] == _host_mark():
            return not process_lives(owner[1])
        stamp = self.stamp(path)
        return stamp is not None and time.time_ns() - stamp.mtime_ns > 3_600 * 10**9

    def _unlink(self, path: str) -> bool:
        try:
            (self.root / path).unlink()
        except OSError:
            return False
        return True


class _Rehearsal(Store):
    """A store for dry runs."""

    def write(self, path: str, data: bytes, if_match: str | None = None, force: bool = False) -> str:
        full = self.path(path)
        if not force:
            self._guard(full, path, if_match)
        return hashlib.sha256(data).hexdigest()

    def trash(self, path: str, if_match: str | None = None) -> str:
        if not self.exists(path):
            raise NotFound(f"There is no file {path}.")
        if if_match is not None:
            self._guard(self.path(path), path, if_match)
        return ".trash/" + path


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def temporary_name() -> str:
    """A name for a file in the making; it tells which process on which machine makes it."""
    return f".ok-{_host_mark()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"


def _host_mark() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def process_lives(pid: int) -> bool:
    """Whether a process of this number runs on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_synced(temporary: Path, data: bytes, like: Path) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        with suppress(FileNotFoundError):
            shutil.copymode(like, temporary)
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the system's refusals into sentences."""
    try:
        yield
    except OklError:
        raise
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"The name {path[:60]}… is too long for this disk.") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Unavailable(f"No space left on the disk; {path} is as it was.") from error
        raise Unavailable(f"{path} cannot be written: {error.strerror}.") from error
