"""Converters: from bytes to clean text. A table of media types; each row names a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Converted:
    """The text of a document and what it says of itself. `pages` maps page numbers to offsets in `text`."""

    text: str
    parser: str
    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    tags: tuple[str, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    encoding: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a converter may use."""

    pages: int = 2000
    seconds: float = 120.0
    megabytes: int = 2048


@dataclass(frozen=True, slots=True)
class Row:
    """One converter: where it lives, and whether it runs in a child process with limits."""

    function: str
    apart: bool = field(default=False)


class Unconvertible(Exception):
    """The document cannot be read; the message says why, in one sentence."""


CONVERTERS = {
    "text/markdown": Row("okl.ingest.convert.plain:markdown"),
    "text/plain": Row("okl.ingest.convert.plain:text"),
    "text/html": Row("okl.ingest.convert.html:html", apart=True),
    "application/pdf": Row("okl.ingest.convert.pdf:pdf", apart=True),
}


def converter(media_type: str) -> Callable[[bytes, Limits], Converted]:
    """The function for `media_type`, imported now."""
    module, _, name = CONVERTERS[media_type].function.partition(":")
    found: Callable[[bytes, Limits], Converted] = getattr(import_module(module), name)
    return found
