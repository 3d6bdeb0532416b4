"""Which notes' places in the graph a change touches."""

from __future__ import annotations

from collections.abc import Iterable

from okl.index.state import State


def ids_of(state: State, paths: Iterable[str]) -> dict[str, str]:
    """The id of each of these notes that is there."""
    return dict(state.rows_in("SELECT path, id FROM notes WHERE path IN (?)", paths))


def neighbours(state: State, paths: Iterable[str]) -> set[str]:
    """`paths`, the notes whose properties link to them, name their ids or share them, and those that they supersede."""
    near = set(paths)
    ids = {text for row in state.rows_in("SELECT id, claim, stem FROM notes WHERE path IN (?)", near) for text in row if text}
    found = state.rows_in("SELECT path FROM links WHERE kind NOT IN ('wiki', 'embed', 'markdown') AND found IN (?)", near)
    found += state.rows_in("SELECT found FROM links WHERE kind = 'supersedes' AND found IS NOT NULL AND path IN (?)", near)
    found += state.rows_in("SELECT path FROM notes WHERE id IN (?)", ids)
    found += state.rows_in("SELECT path FROM tags WHERE name LIKE '=%' AND value IN (?)", ids)
    return near.union(row[0] for row in found)


def linkers(state: State, paths: Iterable[str]) -> set[str]:
    """The notes that link to these in any way."""
    return {row[0] for row in state.rows_in("SELECT path FROM links WHERE found IN (?)", paths)}


def mark_stale(state: State, paths: Iterable[str]) -> None:
    """Have the graph look at these notes again; the caller holds a transaction."""
    state.execute_all("INSERT OR IGNORE INTO graph_stale VALUES (?)", ((path,) for path in sorted(paths)))
