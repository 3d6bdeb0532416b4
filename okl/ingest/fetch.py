"""Fetchers: from an address to bytes. A table of schemes; other packages may add rows by entry point."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from okl.errors import NotFound, UsageError

SUFFIXES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".org": "text/plain",
    ".rst": "text/plain",
    ".tex": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One document to fetch: its address, its place in the tree of sources, its size in bytes, how to read it."""

    url: str
    tree: str
    size: int
    read: Callable[[], bytes]


def local(argument: str) -> Iterator[Item]:
    """The file, or every file in the folder, that `argument` names on this machine.

    Hidden files and symlinks that lead out of the folder are left out. NotFound if there is nothing.
    """
    path = Path(os.path.abspath(os.path.expanduser(argument.removeprefix("file://"))))
    if path.is_file():
        yield _item(path, path.name)
        return
    if not path.is_dir():
        raise NotFound(f"There is no file or folder {argument}.")
    root = Path(os.path.realpath(path))
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith(".") and name != "node_modules")
        for name in sorted(files):
            file = Path(folder) / name
            if not name.startswith(".") and file.is_file() and Path(os.path.realpath(file)).is_relative_to(root):
                yield _item(file, f"{root.name}/{file.relative_to(root).as_posix()}")


def _item(path: Path, tree: str) -> Item:
    return Item(path.as_uri(), "/".join(map(_seen, tree.split("/"))), path.stat().st_size, path.read_bytes)


def _seen(name: str) -> str:
    """A name under which the store will look: Unicode text, no dot at its beginning."""
    text = os.fsencode(name).decode("utf-8", errors="backslashreplace").replace("\\", "_")
    return "_" + text[1:] if text.startswith(".") else text + "_" if text == "node_modules" else text


FETCHERS: dict[str, Callable[[str], Iterator[Item]]] = {"file": local}
"""scheme -> what lists the documents behind an address"""


def items(argument: str) -> Iterator[Item]:
    """The documents behind an address or a path; UsageError if nothing here can fetch it."""
    scheme, mark, _ = argument.partition("://")
    fetcher = FETCHERS.get(scheme if mark else "file")
    if fetcher is None:
        known = ", ".join(f"{name}://" for name in sorted(FETCHERS))
        raise UsageError(f"okl cannot fetch {scheme}:// yet; it reads paths and {known}.")
    return fetcher(argument)


def media_type(name: str, data: bytes) -> str | None:
    """What the bytes are, by their first ones and the name's ending; None if no converter knows them."""
    if data.lstrip()[:5] == b"%PDF-":
        return "application/pdf"
    return SUFFIXES.get(os.path.splitext(name)[1].lower())
