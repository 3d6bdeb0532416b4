"""The part of a text that shows why it was found. Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

WIDTH = 240
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line of text and the spans in it that matched."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, wanted: Collection[str], terms: Callable[[str], Sequence[str]], width: int = WIDTH) -> Snippet:
    """About `width` characters of `text` on one line, around the place where most of the `wanted` terms stand."""
    line = " ".join(text.split())
    marks = _marks(line, wanted, terms)
    start = _best_start(line, marks, width)
    end = min(len(line), start + width)
    if end < len(line):
        end = max(line.rfind(" ", start, end + 1), start + width // 2)
    shown = line[start:end]
    inside = tuple((a - start, b - start) for a, b in marks if a >= start and b <= end)
    left, right = ("… " if start else ""), (" …" if end < len(line) else "")
    return Snippet(left + shown + right, tuple((a + len(left), b + len(left)) for a, b in inside))


def _marks(line: str, wanted: Collection[str], terms: Callable[[str], Sequence[str]]) -> list[tuple[int, int]]:
    """Spans of the words that stand for a wanted term; in a run without spaces, of the wanted characters."""
    marks = []
    known: dict[str, bool] = {}
    for match in _WORD.finditer(line):
        word = match[0]
        if word not in known:
            known[word] = any(term in wanted for term in terms(word))
        if not known[word]:
            continue
        inner = [] if word.isascii() else [m.span() for term in wanted if len(term) < len(word) for m in re.finditer(re.escape(term), word)]
        marks += [(match.start() + a, match.start() + b) for a, b in _joined(inner)] or [match.span()]
    return marks


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _best_start(line: str, marks: list[tuple[int, int]], width: int) -> int:
    """Where to begin so that most different words are seen, a little before the first of them."""
    if len(line) <= width or not marks:
        return 0

    def seen(first: int) -> int:
        at = marks[first][0]
        return len({line[a:b].casefold() for a, b in marks[first:] if b <= at + width * 3 // 4})

    best = max(range(len(marks)), key=lambda first: (seen(first), -first))
    start = max(0, min(marks[best][0] - width // 8, len(line) - width))
    space = line.find(" ", start, marks[best][0])
    return space + 1 if 0 <= space - start <= width // 12 and start else start
