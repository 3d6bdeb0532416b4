"""Which notes pass the filters of a search or a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from okl.index.generation import Index
from okl.index.state import State
from okl.query import Filters, any_path_matches, moment


@dataclass(frozen=True, slots=True)
class NoteRow:
    """What the index tells of a note without opening it. Dates are UTC; `changed` is the file's time where the note names none."""

    path: str
    id: str
    kind: str
    type: str
    title: str
    namespace: str
    status: str
    trust: str
    created: str
    updated: str
    expires: str
    language: str
    changed: str
    tags: tuple[str, ...]


_TOLD = (
    "path", "id", "kind", "type", "title", "namespace", "status", "trust", "created", "updated", "expires", "language",
)  # fmt: skip
_COLUMNS = ", ".join(f"n.{name}" for name in _TOLD) + ", f.mtime_ns"


class Selection:
    """The filters of one request, ready to be asked about any notes."""

    def __init__(self, index: Index, filters: Filters, now: datetime) -> None:
        self._state = index.state
        self._filters = filters
        self._now = now
        self._known: dict[str, NoteRow | None] = {}  # None: it does not pass
        self._wanted = list(_tag_sets(self._state, filters.tags, filters.topics, filters.keys))
        self._barred = _twins(self._state).union(*_tag_sets(self._state, filters.not_tags, filters.not_topics, filters.not_keys))
        if not filters.include_superseded:
            self._barred |= superseded(self._state)

    def admit(self, paths: Iterable[str] | None = None) -> dict[str, NoteRow]:
        """Those of `paths` (or of all notes) that pass, with what the index tells of them."""
        if paths is None:
            return {path: row for path, row in rows(self._state).items() if self._passes(row)}
        wanted = set(paths)
        new = rows(self._state, wanted - self._known.keys())
        self._known |= dict.fromkeys(wanted - self._known.keys()) | {path: row for path, row in new.items() if self._passes(row)}
        return {path: row for path in sorted(wanted) if (row := self._known[path]) is not None}

    def _passes(self, row: NoteRow) -> bool:
        return next(self._refusals(row), None) is None

    def refusals(self, path: str) -> list[str]:
        """Each filter that keeps a note of the index out, as a sentence."""
        return list(self._refusals(rows(self._state, [path])[path]))

    def _refusals(self, row: NoteRow) -> Iterator[str]:
        filters = self._filters
        if row.path in self._barred:
            yield from self._barring(row.path)
        if not all(row.path in wanted for wanted in self._wanted):
            yield "it lacks a tag, topic or key that was asked for"
        if not filters.include_superseded and row.expires and row.expires <= utc_text(self._now):
            yield f"it expired on {row.expires}"
        if (filters.kinds and row.kind not in filters.kinds) or row.kind in filters.not_kinds:
            yield f"it is a {row.kind}, which was not asked for"
        if not all(any_path_matches(row.path, (wanted,)) for wanted in filters.paths) or any_path_matches(row.path, filters.not_paths):
            yield "it does not lie where was asked"
        if filters.since and row.changed < moment(filters.since, self._now):
            yield f"it changed last on {row.changed}, before the time asked for"
        if filters.until and row.changed > _end(filters.until, self._now):
            yield f"it changed last on {row.changed}, after the time asked for"
        if filters.namespace and row.namespace != filters.namespace:
            yield f"its namespace is “{row.namespace}”, not “{filters.namespace}”"

    def _barring(self, path: str) -> Iterator[str]:
        """Why a path is barred."""
        if not self._filters.include_superseded and path in superseded(self._state):
            yield "another note supersedes it"
        elif path in _twins(self._state):
            yield "another source has the same text and stands for it"
        else:
            yield "it has a tag, topic or key that was asked not to be there"


def rows(state: State, paths: Iterable[str] | None = None) -> dict[str, NoteRow]:
    """What the index tells of these notes, or of all, by path."""
    notes = f"SELECT {_COLUMNS} FROM notes n JOIN files f ON f.path = n.path"  # noqa: S608 - constants
    tags = "SELECT path, value FROM tags WHERE +name = 'tag'"  # the plus: look the paths up, not all that is a tag
    if paths is None:
        found, tagged = state.rows(notes), state.rows(f"{tags} ORDER BY rowid")
    else:
        wanted = sorted(set(paths))
        found = state.rows_in(f"{notes} WHERE n.path IN (?)", wanted)
        tagged = state.rows_in(f"{tags} AND path IN (?) ORDER BY rowid", wanted)
    by_path: dict[str, list[str]] = {}
    for path, value in tagged:
        by_path.setdefault(path, []).append(value)
    return {row[0]: _note_row(row, by_path.get(row[0], [])) for row in sorted(found)}


def _note_row(row: tuple[Any, ...], tags: list[str]) -> NoteRow:
    told = dict(zip(_TOLD, row, strict=False))
    changed = told["updated"] or utc_text(datetime.fromtimestamp(row[-1] // 10**9, UTC))
    return NoteRow(**told, changed=changed, tags=tuple(tags))


def utc_text(moment: datetime) -> str:
    """A time as the index writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _twins(state: State) -> set[str]:
    """Docs whose body another doc has too, all but the first: that one stands for them."""
    again = state.rows("SELECT id, min(path) FROM notes WHERE kind = 'doc' GROUP BY id HAVING count(*) > 1")
    first = dict(again)
    found = state.rows_in("SELECT path, id FROM notes WHERE id IN (?)", first)
    return {path for path, id_ in found if path != first[id_]}


def superseded(state: State) -> set[str]:
    """Paths that a note which is no draft says it supersedes."""
    query = (
        "SELECT l.found FROM links l INDEXED BY links_supersedes CROSS JOIN notes n ON n.path = l.path "
        "WHERE l.kind = 'supersedes' AND l.found IS NOT NULL AND l.found != l.path AND n.status != 'draft'"
    )
    return {row[0] for row in state.rows(query)}


def _tag_sets(state: State, tags: Iterable[str], topics: Iterable[str], keys: Iterable[str]) -> Iterator[set[str]]:
    """The paths of the notes with each tag, each topic, each key."""
    yield from (_tagged(state, tag) for tag in tags)
    yield from (_valued(state, "topic", topic) for topic in topics)
    yield from (_valued(state, "key", key) for key in keys)


def _tagged(state: State, tag: str) -> set[str]:
    """Notes with the tag, or a tag nested in it; with `name=value`, notes with that property."""
    name, is_pair, value = tag.partition("=")
    if is_pair:
        return _valued(state, {"tags": "tag", "topics": "topic"}.get(name, "=" + name), value)
    plain = tag.lstrip("#").strip("/").casefold()
    query = "SELECT path FROM tags WHERE name = 'tag' AND (folded = ? OR substr(folded, 1, ?) = ?)"
    return {row[0] for row in state.rows(query, (plain, len(plain) + 1, plain + "/"))}


def _valued(state: State, name: str, value: str) -> set[str]:
    found = state.rows("SELECT path FROM tags WHERE lower(name) = ? AND folded = ?", (name.lower(), value.casefold()))
    return {row[0] for row in found}


def _end(until: str, now: datetime) -> str:
    """The last moment of a day that is named without a time."""
    return moment(until, now).replace("T00:00:00Z", "T23:59:59Z") if "T" not in until.upper() else moment(until, now)
