"""Chunks: the spans of a note that are found and cited. Pure functions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from okl.markup import Block, Heading, Markup
from okl.note import Note, sha256

SMALL = 64
_TOKEN = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]{1,64}|\S")
_ASCII_TOKEN = re.compile(r"\w{1,64}|\S")
_SENTENCE_END = re.compile(r"[.!?。！？]['\")\]]*\s|\n")
_LONGEST_CONTEXT = 200


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span `[start, end)` of the body in code points, its 1-based lines in the file, its heading path."""

    start: int
    end: int
    line_start: int
    line_end: int
    headings: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    tokens: int
    heading: bool
    line: int


Costs = Mapping[str, int]
"""How many of a model's tokens each word is."""


def cost(text: str, costs: Costs | None = None) -> int:
    """The tokens of `text`: a model's own by `costs`, else words and signs."""
    return _total((_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text), costs)


def _total(words: list[str], costs: Costs | None) -> int:
    return len(words) if costs is None else sum(map(costs.__getitem__, words))


def passage(title: str, headings: Iterable[str], text: str) -> str:
    """What a model reads of a chunk. The headings come last: where it reads no further, they are what is lost."""
    return "\n".join(part for part in (title[:_LONGEST_CONTEXT], text, " > ".join(headings)[:_LONGEST_CONTEXT]) if part)


def chunks(note: Note, limit: int, overlap: int, costs: Costs | None = None) -> list[Chunk]:
    """The chunks of `note`, at most `limit` tokens each, in order; at least one, so that its title is found.

    Headings, paragraphs, lists, tables and code stay whole where they fit; a longer block is cut
    into windows that share `overlap` tokens. Together they cover every line that is not blank.
    """
    body = note.body
    measure = _Measure(body, limit, min(overlap, limit // 2), costs)
    pieces = [piece for block in note.markup.blocks for piece in _pieces(measure, note.markup, block)]
    spans = [(group[0].start, group[-1].end, group[0].line) for group in _groups(pieces, limit, _page_starts(note))]
    paths = _heading_paths(note.markup.headings)
    return [_chunk(note, *span, paths) for span in spans or [(0, len(body), 0)]]


@dataclass(frozen=True, slots=True)
class _Measure:
    """A body, how long a chunk of it may be, how much two windows share, and how tokens are counted."""

    body: str
    limit: int
    overlap: int
    costs: Costs | None

    def tokens(self, start: int, end: int) -> int:
        pattern = _ASCII_TOKEN if self.body.isascii() else _TOKEN
        return _total(pattern.findall(self.body, start, end), self.costs)


def _chunk(note: Note, start: int, end: int, line: int, paths: list[tuple[int, tuple[str, ...]]]) -> Chunk:
    first = note.first_line
    path = next((path for at, path in reversed(paths) if at <= line), ())
    return Chunk(
        start,
        end,
        first + note.markup.line_of(start),
        first + note.markup.line_of(max(start, end - 1)),
        path,
        sha256(note.body[start:end]),
    )


def _pieces(measure: _Measure, markup: Markup, block: Block) -> Iterator[_Piece]:
    body = measure.body
    start = markup.lines[block.start]
    end = markup.lines[block.end] - 1 if block.end < len(markup.lines) else len(body)
    while end > start and body[end - 1].isspace():
        end -= 1
    tokens = measure.tokens(start, end)
    if tokens <= measure.limit:
        yield _Piece(start, end, tokens, block.kind == "heading", block.start)
        return
    for a, b in _windows(measure, start, end):
        yield _Piece(a, b, measure.limit, False, markup.line_of(a))


def _windows(measure: _Measure, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans within the limit that cover `[start, end)`, cut at a sentence's or line's end where one is near."""
    body, limit = measure.body, measure.limit
    words = [match.span() for match in _TOKEN.finditer(body, start, end)]
    reach = [0, *accumulate(measure.tokens(a, b) for a, b in words)]  # tokens before each word
    first = 0
    while True:
        last = max(bisect_right(reach, reach[first] + limit) - 1, first + 1)
        if last >= len(words):
            yield words[first][0], end
            return
        near = words[max(bisect_right(reach, reach[last] - limit // 4) - 1, first + 1)][0]
        cuts = [match.end() for match in _SENTENCE_END.finditer(body, near, words[last][0])]
        if cuts:
            while words[last - 1][0] >= cuts[-1]:
                last -= 1
        yield words[first][0], words[last - 1][1]
        first = max(bisect_right(reach, reach[last] - measure.overlap - 1), first + 1)


def _page_starts(note: Note) -> list[int]:
    """The offsets at which a doc's pages begin."""
    pages = note.values.get("pages") if note.kind == "doc" else None
    rows = pages if isinstance(pages, list) else []
    return sorted(row[1] for row in rows if isinstance(row, list) and len(row) == 2 and isinstance(row[1], int))


def _groups(pieces: list[_Piece], limit: int, pages: list[int]) -> Iterator[list[_Piece]]:
    """Neighbouring pieces of one page packed up to `limit`; a heading opens a new group once the last is not tiny."""
    group: list[_Piece] = []
    tokens = 0
    for piece in pieces:
        full = tokens + piece.tokens > limit or (piece.heading and tokens >= SMALL)
        if group and pages and bisect_right(pages, piece.start) != bisect_right(pages, group[0].start):
            yield group
            group, tokens = [], 0
        elif group and full:
            carried = _trailing_headings(group) if not piece.heading else 0
            if sum(p.tokens for p in group[len(group) - carried :]) + piece.tokens > limit:
                carried = 0
            if len(group) > carried:
                yield group[: len(group) - carried]
            group = group[len(group) - carried :]
            tokens = sum(p.tokens for p in group)
        group.append(piece)
        tokens += piece.tokens
    if group:
        yield group


def _trailing_headings(group: list[_Piece]) -> int:
    count = 0
    while count < len(group) and group[-1 - count].heading:
        count += 1
    return count if count < len(group) else 0


def _heading_paths(headings: list[Heading]) -> list[tuple[int, tuple[str, ...]]]:
    """(line, path of headings in force from there on)."""
    stack: list[Heading] = []
    paths = []
    for heading in headings:
        stack = [above for above in stack if above.level < heading.level] + [heading]
        paths.append((heading.line, tuple(above.text for above in stack)))
    return paths
