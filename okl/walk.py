"""Which files of a store are notes: one pass over the directories, nothing opened but ignore files."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from okl import gitignore

SYSTEM_FOLDERS = ("annotations/", "citations/", "graph/", "journal/", "memories/topics/", "store/", "system/")
DOCS = "store/normalized"
_SKIPPED_NAMES = frozenset(("node_modules",))
_CONFLICT_TWIN = re.compile(r"\.sync-conflict-|\((?:[^()]*['’]s )?conflicted copy")
_OURS = re.compile(r"memories/topics/|system/(?:state|tag|prompt|meta|key)/|system/(?:ignore|stop)\.md\Z|store/sources/")
_LEFTOVER = re.compile(r"\.ok-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp\Z")


class Stamp(NamedTuple):
    """What tells cheaply that a file changed: bytes, modification time in ns, inode."""

    size: int
    mtime_ns: int
    inode: int


@dataclass
class Walk:
    """The notes and docs found, and what was met and left alone; all paths relative to the root, with `/`."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    symlinks: dict[str, str] = field(default_factory=dict)
    bad_names: list[str] = field(default_factory=list)
    conflict_twins: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    ignored: int = 0

    def frozen(self, path: str) -> bool:
        """Whether `path` lies where nothing could be listed, so that its absence proves nothing."""
        return any(folder in ("", path) or path.startswith(folder + "/") for folder in self.unreadable)


class Ignore:
    """The rules of `.gitignore` files and of the `ignore` setting, the deepest file first, as git reads them."""

    def __init__(self, root: Path, globs: Iterable[str] = ()) -> None:
        self._root = root
        self._own = gitignore.rules(globs)
        self._files: dict[str, gitignore.Rules] = {}
        self._above = [(prefix, found) for prefix, path in _files_above(root) if (found := _read_rules(path))]

    def enter(self, folder: str) -> None:
        """Read the `.gitignore` of `folder`, if there is one."""
        if found := _read_rules(self._root / folder / ".gitignore"):
            self._files[folder] = found

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether `path` itself is ignored; its parents are asked before it."""
        if self._own and gitignore.verdict(self._own, path, is_folder):
            return True
        for folder in _upwards(path) if self._files else ():
            found = self._files.get(folder)
            told = gitignore.verdict(found, path[len(folder) + 1 if folder else 0 :], is_folder) if found else None
            if told is not None:
                return told
        for prefix, found in self._above:
            told = gitignore.verdict(found, prefix + path, is_folder)
            if told is not None:
                return told
        return False


def _read_rules(path: Path) -> gitignore.Rules:
    if not path.is_file():
        return ()
    try:
        return gitignore.rules(path.read_text(encoding="utf-8", errors="replace").split("\n"))
    except OSError:
        return ()


def walk(root: Path, globs: Iterable[str] = (), include: Iterable[str] = (), known: Container[str] = ()) -> Walk:
    """Every note and doc below `root` with its stamp.

    `known` paths are taken without asking the ignore rules again: they were asked when the path
    first came, and the caller asks anew (with nothing known) when a rule changed. A directory that
    cannot be listed is named in `unreadable`, never an error.
    """
    found = Walk()
    _descend("", found, _Rules(root, Ignore(root, globs), frozenset(name.strip("/") for name in include), known))
    return found


@dataclass(frozen=True, slots=True)
class _Rules:
    root: Path
    ignore: Ignore
    include: frozenset[str]
    known: Container[str]


def _descend(folder: str, found: Walk, rules: _Rules) -> None:
    try:
        with os.scandir(rules.root / folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        found.unreadable[folder] = error.strerror or str(error)
        return
    if any(entry.name == ".gitignore" for entry in entries):
        rules.ignore.enter(folder)
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_symlink():
            _note_symlink(path, found, rules)
        elif entry.is_dir(follow_symlinks=False):
            if _is_notes_folder(path, entry.name, found, rules):
                _descend(path, found, rules)
        elif entry.name[-3:].lower() == ".md" or entry.name.startswith(".ok-"):
            _take(entry, path, found, rules)


def _is_notes_folder(path: str, name: str, found: Walk, rules: _Rules) -> bool:
    if not _printable(path, found):
        return False
    if name in _SKIPPED_NAMES or (_is_hidden(path, rules) and not any(i.startswith(path + "/") for i in rules.include)):
        return False
    if path in ("store", DOCS) or path.startswith(DOCS + "/"):
        return True
    if rules.ignore.matches(path, is_folder=True):
        found.ignored += 1
        return False
    return True


def _is_hidden(path: str, rules: _Rules) -> bool:
    """Whether a folder on the way begins with a dot, and none that is included is reached."""
    dotted = path.startswith(".") or "/." in path
    return dotted and not any(path == name or path.startswith(name + "/") for name in rules.include)


def _take(entry: os.DirEntry[str], path: str, found: Walk, rules: _Rules) -> None:
    if not entry.is_file(follow_symlinks=False):
        found.special.append(path)
    elif path in rules.known or _is_new_note(entry.name, path, found, rules):
        try:
            stat = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        found.stamps[path] = Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def _is_new_note(name: str, path: str, found: Walk, rules: _Rules) -> bool:
    """Whether a file that was not known before is a note; why not is kept in `found`."""
    if name.startswith("."):
        if _LEFTOVER.match(name):
            found.leftovers.append(path)
        elif not name.startswith((".#", ".ok-")) and _printable(path, found):
            found.hidden.append(path)
    elif not _printable(path, found) or _is_hidden(path, rules):
        return False
    elif _CONFLICT_TWIN.search(name):
        found.conflict_twins.append(path)
    elif not is_note_path(path):
        if not _OURS.match(path):
            found.misplaced.append(path)
    elif not path.startswith(DOCS) and rules.ignore.matches(path, is_folder=False):
        found.ignored += 1
    else:
        return True
    return False


def is_note_path(path: str) -> bool:
    """Whether a `.md` file at `path` is a note or a doc, by where it lies."""
    if path.startswith(DOCS + "/"):
        return path.endswith(".ok.md")
    return not path.startswith(SYSTEM_FOLDERS)


def leftover_owner(path: str) -> tuple[str, int] | None:
    """(host mark, pid) of the process that left the temporary file `path`."""
    found = _LEFTOVER.search(path.rpartition("/")[2])
    return (found[1], int(found[2])) if found else None


def _note_symlink(path: str, found: Walk, rules: _Rules) -> None:
    """Symlinks are not followed; they are named, since a reader may miss what lies behind them."""
    if path.startswith("memories/topics/") or path.rpartition("/")[2].startswith("."):
        return
    if not _printable(path, found):
        return
    target = os.path.realpath(rules.root / path)
    if path.lower().endswith(".md") or os.path.isdir(target) or target.lower().endswith(".md"):
        found.symlinks[path] = target


def _printable(path: str, found: Walk) -> bool:
    """Whether the name is Unicode text; others cannot be addressed and are reported."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        found.bad_names.append(os.fsencode(path).decode("utf-8", errors="backslashreplace"))
        return False
    return True


def _files_above(root: Path) -> list[tuple[str, Path]]:
    """(the store's path below it, ignore file) up to the repository's root; none outside a repository."""
    prefix, found = "", []
    for folder in (root, *root.parents):
        if prefix:
            found.append((prefix, folder / ".gitignore"))
        if (folder / ".git").exists():
            return [*found, (prefix, folder / ".git" / "info" / "exclude")]
        prefix = f"{folder.name}/{prefix}"
    return []


def _upwards(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def ignore_fingerprint(root: Path, globs: Iterable[str], paths: Iterable[str]) -> str:
    """What changes when an ignore rule may have changed for one of `paths`: each rule file's path, size and time."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    files = [root / folder / ".gitignore" for folder in sorted(folders)] + [path for _, path in _files_above(root)]
    rows = [f"{path}:{stat.st_size}:{stat.st_mtime_ns}" for path in files if (stat := _stat(path))]
    return "\n".join([*rows, *globs])


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
