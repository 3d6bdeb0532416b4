"""What a TARGET means: a path, an id or a name, a handle from search, an `ok://` address, with lines, characters or a quote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from okl.cite.anchor import Anchor, find
from okl.cite.record import Passage, parse_handle, passage
from okl.errors import Conflict, NotFound, UsageError
from okl.index.generation import Index
from okl.index.names import resolve
from okl.markup import name_key
from okl.note import Note, parse
from okl.store import Store

_LINES = re.compile(r"(.+):L?(\d+)(?:-L?(\d+))?\Z")
_RANGE = re.compile(r"L?(\d+)(?:\s*-\s*L?(\d+))?\Z")


@dataclass(frozen=True)
class Span:
    """Which part of a document is meant: lines of the file, characters of the body, or words; at most one."""

    lines: str | None = None
    chars: str | None = None
    quote: str | None = None


@dataclass(frozen=True)
class Document:
    """A file of the store, read: its id, its note, its bytes."""

    id: str
    note: Note
    data: bytes


def document(store: Store, index: Index, name: str, cwd: Path | None = None) -> Document:
    """The note, memory or doc that `name` means. NotFound, Ambiguous or UsageError if it means none."""
    path = path_of(store, index, name, cwd)
    data = store.read(path)
    found = index.state.rows("SELECT id FROM notes WHERE path = ?", (path,))
    return Document(str(found[0][0]), parse(path, data), data)


def path_of(store: Store, index: Index, name: str, cwd: Path | None = None) -> str:
    """The path of what `name` means: an `ok://` address, a handle, an id or a name, or a path on this machine."""
    if not name.strip():
        raise UsageError("Say which note: its id, path or title.")
    if handle := parse_handle(name):
        name = handle[0]
    for prefix in ("ok://note/", "ok://doc/"):
        if name.startswith(prefix):
            name = unquote(name.removeprefix(prefix).partition("#")[0])
    try:
        return resolve(index.state, name)
    except NotFound:
        inside = store.relative((cwd or store.root) / name) if "\x00" not in name else None
        if inside and index.state.rows("SELECT 1 FROM notes WHERE path = ?", (inside,)):
            return inside
        raise


def passage_at(store: Store, index: Index, target: str, span: Span, cwd: Path | None = None) -> Passage:
    """The passage that a TARGET means; the whole body if it names no part of it."""
    if sum(part is not None for part in (span.lines, span.chars, span.quote)) > 1:
        raise UsageError("Give one of --lines, --chars and --quote.")
    named = span != Span()
    handle = parse_handle(target)
    if handle and not named:
        found = document(store, index, handle[0], cwd)
        return _at(found, handle[1], handle[2])
    lines = _LINES.match(target)
    if lines and not named and not _is_name(store, index, target, cwd):
        target, span = lines[1], Span(lines=f"{lines[2]}-{lines[3] or lines[2]}")
    name, mark, fragment = target.rpartition("#")
    if mark and not named and not _is_name(store, index, target, cwd):
        found = document(store, index, name, cwd)
        return _at(found, *_fragment_span(found.note, fragment))
    found = document(store, index, target, cwd)
    start, end = _resolve_span(found.note, span)
    return _at(found, start, end)


def _fragment_span(note: Note, fragment: str) -> tuple[int, int]:
    """The block that `^id` marks, or the section under a heading, as `[[Note#…]]` means it."""
    markup, body = note.markup, note.body
    if fragment.startswith("^") and fragment[1:] in markup.block_ids:
        line = markup.line_of(markup.block_ids[fragment[1:]])
        block = next((b for b in markup.blocks if b.start <= line < b.end), None)
        first, last = (block.start, block.end) if block else (line, line + 1)
    else:
        wanted = name_key(fragment.rpartition("#")[2])
        heading = next((h for h in markup.headings if name_key(h.text) == wanted), None)
        if heading is None:
            raise NotFound(f"There is no heading or block “{fragment}” in {note.path}.")
        after = (h.line for h in markup.headings if h.line > heading.line and h.level <= heading.level)
        first, last = heading.line, next(after, len(markup.lines))
    end = markup.lines[last] if last < len(markup.lines) else len(body)
    return _trimmed(body, markup.lines[first], end)


def _is_name(store: Store, index: Index, target: str, cwd: Path | None) -> bool:
    """A literal name wins over the `:L10-20` ending."""
    try:
        path_of(store, index, target, cwd)
    except (NotFound, UsageError):
        return False
    return True


def _at(found: Document, start: int, end: int) -> Passage:
    if not 0 <= start < end <= len(found.note.body):
        raise UsageError(f"{found.note.path} has {len(found.note.body)} characters; {start}-{end} is no part of them.")
    return passage(found.note, found.id, start, end, found.data)


def _resolve_span(note: Note, span: Span) -> tuple[int, int]:
    if span.lines is not None:
        return _line_span(note, *_range(span.lines, "lines"))
    if span.chars is not None:
        return _range(span.chars, "characters")
    if span.quote is not None:
        return _quote_span(note, span.quote)
    return _trimmed(note.body, 0, len(note.body))


def _range(text: str, what: str) -> tuple[int, int]:
    match = _RANGE.match(text.strip())
    if not match:
        raise UsageError(f"“{text}” is no range of {what}; write it as 12-20.")
    return int(match[1]), int(match[2] or match[1])


def _line_span(note: Note, first: int, last: int) -> tuple[int, int]:
    """The body's part of the file's lines `first` to `last`, without blank ends."""
    lines = note.markup.lines
    total = note.first_line + len(lines) - 1
    low, high = first - note.first_line, last - note.first_line
    if not 1 <= first <= last <= total:
        raise UsageError(f"{note.path} has lines 1 to {total}; {first}-{last} is no part of them.")
    if high < 0:
        raise UsageError(f"Lines {first}-{last} of {note.path} are frontmatter; only the text can be cited.")
    start = lines[max(low, 0)]
    end = lines[high + 1] if high + 1 < len(lines) else len(note.body)
    return _trimmed(note.body, start, end)


def _trimmed(body: str, start: int, end: int) -> tuple[int, int]:
    while end > start and body[end - 1].isspace():
        end -= 1
    while start < end and body[start].isspace():
        start += 1
    return start, end


def _quote_span(note: Note, quote: str) -> tuple[int, int]:
    found = find(Anchor(quote.strip(), "", "", -1), note.body)
    if found.verdict == "ambiguous" and found.similarity == 1.0:
        raise Conflict(f"The quote stands {len(found.candidates)} times in {note.path}; give --lines or --chars.")
    if found.verdict != "moved" or found.span is None:
        raise NotFound(f"The quote does not stand in {note.path}.")
    return found.span
