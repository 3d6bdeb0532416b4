"""What a person types into a search, taken apart. Pure text; any input is a query, never an error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from okl.errors import UsageError
from okl.note import utc

KINDS = ("note", "memory", "doc")
SENTENCE = 5
"""Words beside a phrase from which on they are a sentence that quotes something."""
SURFACES = {"all": KINDS, "mem": ("memory",), "store": ("doc",), "note": ("note",)}
_PART = re.compile(r'(?<!\S)(-?)(?:(tag|topic|key|path|kind):)?(?:"([^"]*)"(?!\S)|(\S+))')
_DURATION = re.compile(r"(?i)p?(?:(\d{1,6})y)?(?:(\d{1,6})m)?(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:t?(\d{1,6})h)?(?:t?(\d{1,6})m)?\Z")


@dataclass(frozen=True)
class Filters:
    """What a hit must be like. Several of one kind must all hold; `not_` ones must not."""

    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_topics: tuple[str, ...] = ()
    not_keys: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    namespace: str = ""
    include_superseded: bool = False

    @property
    def narrow(self) -> bool:
        """Whether they ask for anything."""
        return any(getattr(self, each.name) for each in fields(self) if each.name != "include_superseded")


@dataclass(frozen=True)
class Query:
    """A query: words that count, phrases that must stand, quotes that count, words and phrases that must not stand, and filters."""

    text: str
    words: str
    phrases: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return not (self.words.strip() or self.phrases or self.filters.narrow)


def parse(text: str, filters: Filters | None = None) -> Query:
    """Read `text`: words, `"phrases"`, `-word`, `tag:x`, `topic:x`, `key:x`, `path:x`, `kind:x`.

    Whatever is none of these is words, punctuation and all. What a sentence of words quotes is no
    condition: it counts for more than its words, no more.
    """
    words: list[str] = []
    sentence: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    found: dict[str, list[str]] = {}
    for minus, prefix, quoted, plain in (match.groups() for match in _PART.finditer(text)):
        value = quoted if quoted is not None else plain
        if prefix and value.strip('"') and not (prefix == "kind" and value not in KINDS):
            found.setdefault(("not_" if minus else "") + prefix + "s", []).append(value.strip('"'))
        elif minus and re.match(r"\w", value):
            without.append(value)
        elif quoted is not None and quoted.strip() and not minus:
            phrases.append(quoted)
            sentence.append(quoted)
        else:
            words.append((prefix + ":" if prefix else "") + (value or ""))
            sentence.append(words[-1])
    narrowed = merged(filters if filters is not None else Filters(), found)
    if phrases and len(words) >= SENTENCE:
        return Query(text, " ".join(sentence), (), tuple(phrases), tuple(without), narrowed)
    return Query(text, " ".join(words), tuple(phrases), (), tuple(without), narrowed)


def merged(filters: Filters, found: dict[str, list[str]]) -> Filters:
    """`filters` and those found in the query's text, all to hold."""
    values = {each.name: getattr(filters, each.name) for each in fields(filters)}
    for name, more in found.items():
        if name in values:
            values[name] = (*values[name], *more)
    return Filters(**values)


def check_kinds(kinds: Iterable[str]) -> None:
    """UsageError for a kind that does not exist."""
    unknown = next((kind for kind in kinds if kind not in KINDS), None)
    if unknown is not None:
        raise UsageError(f"“{unknown}” is no kind; it is one of {', '.join(KINDS)}.")


def moment(text: str, now: datetime) -> str:
    """A date, a time, or a duration before `now` (`P7D`, `7d`, `2w`) as a UTC time; UsageError if it is none."""
    stripped = text.strip()
    if found := utc(stripped):
        return found
    match = _DURATION.match(stripped)
    if not match or not any(match.groups()):
        raise UsageError(f"“{text}” is no date (2026-01-31) and no duration (P7D, 2w).")
    years, months, weeks, days, hours, minutes = (int(part or 0) for part in match.groups())
    try:
        then = now.astimezone(UTC) - timedelta(days=years * 365 + months * 30 + weeks * 7 + days, hours=hours, minutes=minutes)
    except OverflowError:
        raise UsageError(f"“{text}” is longer than there have been dates.") from None
    return utc(then.replace(microsecond=0).isoformat())


def path_matches(path: str, wanted: str) -> bool:
    """Whether `path` lies at or below `wanted`, or matches it as a glob; case does not count."""
    path, wanted = path.casefold(), wanted.casefold().strip("/")
    if re.search(r"[*?\[]", wanted):
        return fnmatchcase(path, wanted) or fnmatchcase(path, wanted + ".md") or fnmatchcase(path, "*/" + wanted)
    return path in (wanted, wanted + ".md") or path.startswith(wanted + "/")


def any_path_matches(path: str, wanted: Iterable[str]) -> bool:
    """Whether `path` matches one of `wanted`."""
    return any(path_matches(path, one) for one in wanted)
