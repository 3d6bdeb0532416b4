"""Topics as pages: `memories/topics/<slug>.md`, generated, ignored by git, safe to delete."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from okl.index.state import State
from okl.select import rows
from okl.store import Store, temporary_name

FOLDER = "memories/topics"
MOST_LINKS = 1000
_MARK = "<!-- made by okl from the notes' topics; changes here are lost -->"


def refresh(store: Store, state: State, style: str) -> None:
    """Make the views agree with the notes; `style` is `index`, `symlinks` or `off`."""
    topics = _topics(state) if style != "off" else {}
    folder = store.root / FOLDER
    if not topics and not folder.is_dir():
        return
    wanted: dict[str, str] = {}
    for (slug, name), paths in topics.items():
        if style == "symlinks":
            wanted |= {f"{slug}/{link}": _relative(path, f"{FOLDER}/{slug}") for link, path in _link_names(paths)}
        else:
            wanted[f"{slug}.md"] = _page(name, paths, state)
    _drop_others(folder, wanted)
    for path, content in wanted.items():
        _put(folder / path, content, style == "symlinks")


def slug(topic: str) -> str:
    """The file name of a topic's view; a topic that leaves nothing gets a hash."""
    plain = unicodedata.normalize("NFKC", topic).casefold()
    found = re.sub(r"[^\w]+", "-", plain).strip("-")[:80]
    return found or "topic-" + hashlib.sha256(topic.encode()).hexdigest()[:8]


def _topics(state: State) -> dict[tuple[str, str], list[str]]:
    """(slug, first name) -> paths of its notes; names with one slug share a view."""
    found: dict[str, tuple[str, list[str]]] = {}
    for value, path in state.rows("SELECT value, path FROM tags WHERE name = 'topic' ORDER BY value, path"):
        _, paths = found.setdefault(slug(value), (value, []))
        if path not in paths:
            paths.append(path)
    return {(key, name): paths for key, (name, paths) in found.items()}


def _page(name: str, paths: list[str], state: State) -> str:
    notes = sorted(rows(state, paths).values(), key=lambda note: note.path)
    notes.sort(key=lambda note: note.updated, reverse=True)
    lines = [f"# {name}", "", _MARK, ""]
    lines += [f"- [[{note.path.removesuffix('.md')}|{note.title.replace('|', ' ').replace(']', ')')}]]" for note in notes[:MOST_LINKS]]
    if len(notes) > MOST_LINKS:
        lines.append(f"- … and {len(notes) - MOST_LINKS} more: `ok list --topic {name}`")
    return "\n".join(lines) + "\n"


def _link_names(paths: Iterable[str]) -> list[tuple[str, str]]:
    taken: set[str] = set()
    named = []
    for path in list(paths)[:MOST_LINKS]:
        name = path.rpartition("/")[2]
        name = name if name not in taken else path.replace("/", "~")
        taken.add(name)
        named.append((name, path))
    return named


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(path, folder)


def _put(path: Path, content: str, symlink: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if symlink:
        if not path.is_symlink() or os.readlink(path) != content:
            with suppress(FileNotFoundError):
                path.unlink()
            path.symlink_to(content)
        return
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == content:
            return
    temporary = path.with_name(temporary_name())
    temporary.write_text(content, encoding="utf-8")
    os.replace(temporary, path)


def _drop_others(folder: Path, wanted: dict[str, str]) -> None:
    """Remove views that no longer stand for a topic; files that okl did not make stay."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.relative_to(folder).as_posix() in wanted:
            continue
        if path.is_symlink() or (path.is_file() and is_ours(path)):
            path.unlink()
        elif path.is_dir():
            with suppress(OSError):
                path.rmdir()
    with suppress(OSError):
        folder.rmdir()


def is_ours(path: Path) -> bool:
    """Whether okl made the page."""
    try:
        return _MARK in path.read_text(encoding="utf-8", errors="replace")[:2000]
    except OSError:
        return False
