"""Whose id is whose, and where each link leads: the one part of the index that is about all files at once."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable

from okl.errors import Ambiguous, NotFound
from okl.index.record import ID, PATH
from okl.index.state import State
from okl.markup import name_key
from okl.note import stem

Candidates = list[tuple[int, str]]


def settle_ids(state: State, claims: Iterable[str] | None = None) -> tuple[set[str], set[str]]:
    """Give every file its id, or those files that have to do with `claims`; gives (the names that moved, the paths whose id did).

    A claimed id is granted unless it is the path of another file; of several claimants the one with
    the shortest path wins, then the smallest. Docs with one body share its id.
    """
    if claims is None:
        wanted = [row[0] for row in state.rows("SELECT DISTINCT claim FROM notes WHERE claim IS NOT NULL")]
    else:
        wanted = sorted(set(claims))
    claimants: dict[str, list[tuple[str, str, str]]] = {claim: [] for claim in wanted}
    for claim, path, kind, id_ in state.rows_in("SELECT claim, path, kind, id FROM notes WHERE claim IN (?)", wanted):
        claimants[claim].append((path, kind, id_))
    stems: dict[str, list[str]] = {}
    for taken, path in state.rows_in("SELECT stem, path FROM notes WHERE stem IN (?)", wanted):
        stems.setdefault(taken, []).append(path)
    moved: set[str] = set()
    paths: set[str] = set()
    for claim, rows in claimants.items():
        winners = _winners(rows, stems.get(claim, []))
        for path, _, id_ in rows:
            granted = claim if path in winners else stem(path)
            if granted != id_:
                moved |= {name_key(id_), name_key(claim)}
                paths.add(path)
                state.execute("UPDATE notes SET id = ? WHERE path = ?", (granted, path))
            _grant(state, path, claim if path in winners else None)
    return moved, paths


def _winners(rows: list[tuple[str, str, str]], holders: list[str]) -> set[str]:
    docs = {path for path, kind, _ in rows if kind == "doc"}
    if docs:
        return docs
    best = min((path for path, _, _ in rows), key=lambda path: (len(path), path), default=None)
    return {best} if best and all(holder == best for holder in holders) else set()


def _grant(state: State, path: str, claim: str | None) -> None:
    state.execute("DELETE FROM names WHERE path = ? AND strength = ?", (path, ID))
    if claim is not None:
        state.execute("INSERT INTO names VALUES (?,?,?)", (path, name_key(claim), ID))


def settle_links(state: State, names: Iterable[str] | None = None) -> set[str]:
    """Find where each link leads, or those links that have one of `names`; gives the paths of the notes and goals concerned."""
    query = "SELECT rowid, path, name, near, found FROM links"
    if names is None:
        links = state.rows(query)
        table: dict[str, Candidates] = {}
        for path, name, strength in state.rows("SELECT path, name, strength FROM names"):
            table.setdefault(name, []).append((strength, path))
        look: Callable[[str], Candidates | None] = table.get
    else:
        wanted = sorted(set(names))
        links = state.rows_in(f"{query} WHERE name IN (?)", wanted)
        links += state.rows_in(f"{query} WHERE near IN (?)", (name for name in wanted if name))
        look = _looker(state)
    changed = [
        (goal, row, path, found)
        for row, path, name, near, found in dict.fromkeys(links)
        if (goal := _goal(path, look(near) if near else None, look(name))) != found
    ]
    state.execute_all("UPDATE links SET found = ? WHERE rowid = ?", ((goal, row) for goal, row, _, _ in changed))
    return {touched for goal, _, path, found in changed for touched in (goal, path, found) if touched}


def _looker(state: State) -> Callable[[str], Candidates | None]:
    known: dict[str, Candidates] = {}

    def look(name: str) -> Candidates:
        if name not in known:
            known[name] = candidates(state, name)
        return known[name]

    return look


def candidates(state: State, name: str) -> Candidates:
    """(strength, path) of every file that answers to the folded `name`."""
    return [(strength, path) for strength, path in state.rows("SELECT strength, path FROM names WHERE name = ?", (name,))]


def _goal(source: str, near: Candidates | None, far: Candidates | None) -> str | None:
    """Where a link in `source` leads: the file at that very path, else the best bearer of the name."""
    at_path = [path for strength, path in near or [] if strength == PATH]
    if at_path:
        return min(at_path, key=lambda path: (len(path), path))
    if not far:
        return None
    folder = posixpath.dirname(source)
    best = min(strength for strength, _ in far)
    paths = [path for strength, path in far if strength == best]
    return min(paths, key=lambda path: (posixpath.dirname(path) != folder, len(path), path))


def resolve(state: State, name: str) -> str:
    """The path of the file that `name` (an id, path, file name, alias or title) means.

    NotFound if there is none; Ambiguous, with the candidates, if several are equally strong.
    """
    exact = state.rows("SELECT path FROM notes WHERE id = ? ORDER BY length(path), path", (name,))
    exact = exact or state.rows("SELECT path FROM notes WHERE path = ?", (name,))
    if exact:
        return str(exact[0][0])
    far = candidates(state, name_key(name)) or candidates(state, name_key(name).removesuffix(".md"))
    if not far:
        raise NotFound(f"There is no note, memory or source called “{name}”.")
    best = min(strength for strength, _ in far)
    paths = sorted({path for strength, path in far if strength == best}, key=lambda path: (len(path), path))
    if len(paths) > 1:
        raise Ambiguous(name, paths)
    return paths[0]
