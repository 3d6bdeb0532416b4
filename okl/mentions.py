"""Titles that stand in running text without a link. Text only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MOST_WORDS = 8
MOST_TEXT = 20_000
"""Characters of a text that are looked at."""
_WORD = re.compile(r"[^\W_]+(?:'(?!s\b)[^\W_]+)*")
_ASIDE = re.compile(r"\s*\([^()]*\)\s*\Z")


def form(title: str) -> str:
    """A title as mentions are compared: its words in lower case, without an aside as `(film)`; empty if it tells nothing."""
    words = [word.casefold() for word in _words(_ASIDE.sub("", title) or title)]
    found = " ".join(words)
    return found if len(words) <= MOST_WORDS and len(found) >= 3 and not found.isdigit() else ""


def forms(text: str) -> dict[str, list[str]]:
    """Every run of up to eight words of `text` in the form of a title, with the ways it is written there."""
    found: dict[str, list[str]] = {}
    for written, folded in _runs(text[:MOST_TEXT]):
        found.setdefault(folded, []).append(written)
    return found


def _runs(text: str) -> Iterator[tuple[str, str]]:
    words = _words(text)
    folded = [word.casefold() for word in words]
    for start in range(len(words)):
        for end in range(start + 1, min(start + MOST_WORDS, len(words)) + 1):
            yield " ".join(words[start:end]), " ".join(folded[start:end])


def is_meant(title: str, written: str) -> bool:
    """Whether `written`, found in running text, means the title: of one or two words only if its capitals are there too."""
    words = _words(_ASIDE.sub("", title) or title)
    given = written.split(" ")
    if len(words) > 2:
        return True
    return all(there[0].isupper() or not word[0].isupper() for word, there in zip(words, given, strict=False))


def _words(text: str) -> list[str]:
    """The words of a text, composed and with plain apostrophes."""
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'"))
