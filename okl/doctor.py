"""Findings: every fault of a store has a name, a place, and what mends it."""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from okl import citing, grounding, history, views
from okl.errors import OklError
from okl.fresh import Fresh
from okl.index.generation import Index
from okl.ingest import document
from okl.store import Store
from okl.walk import Walk

ERROR, WARNING, INFO = "error", "warning", "info"
FOREIGN = 0.3
"""The share of notes in other languages from which on another model is recommended."""
LEAST_RECALL = 0.98


@dataclass(frozen=True)
class Finding:
    """One fault: its name, how bad it is, where, what it is, and what mends it."""

    name: str
    severity: str
    path: str | None
    line: int | None
    text: str
    mend: str

    def fields(self) -> dict[str, Any]:
        """As surfaces give it."""
        return {
            "name": self.name,
            "severity": self.severity,
            "path": self.path,
            "line": self.line,
            "text": self.text,
            "mend": self.mend,
        }


IN_FILES = {
    "broken-yaml": (WARNING, "Correct the frontmatter in an editor; until then the note counts as text without properties."),
    "yaml-alias": (WARNING, "Write the value out in place of *name."),
    "duplicate-key": (WARNING, "Delete one of the two lines."),
    "non-string-key": (INFO, "Put the key in quotes."),
    "bad-date": (WARNING, "Write it as 2026-01-31 or 2026-01-31T09:00:00Z."),
    "bad-id": (WARNING, "Give one word as the id."),
    "system-key": (INFO, "Take the line out; names with _ are the system's."),
    "invalid-utf8": (WARNING, "Save the file as UTF-8."),
    "nul-bytes": (WARNING, "Take the NUL bytes out; some program damaged the file."),
    "binary-file": (WARNING, "Give the file its right ending, or delete it."),
    "conflict-markers": (WARNING, "Settle the merge in an editor."),
    "odd-id": (INFO, "Give an id without blanks, colons, # and dots that climb."),
    "unparsed": (ERROR, "Report the file to okl's makers; it is a bug."),
    "unreadable": (ERROR, "Give yourself the right to read the file."),
}
"""What may be wrong inside a file: how bad it is, and its mend."""


def findings(store: Store, fresh: Fresh) -> list[Finding]:
    """Everything that is wrong with the store and its index, the worst first."""
    found = [
        *_in_files(fresh),
        *_ids(fresh),
        *_links(fresh),
        *_cites(store),
        *_sources(store, fresh),
        *_surroundings(store),
        *_index(fresh),
    ]
    if fresh.synced:
        found += [*_walked(store, fresh.synced.walk), *_twins(fresh.synced.walk)]
    return ordered(found)


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Findings, the worst first."""
    order = {ERROR: 0, WARNING: 1, INFO: 2}
    return sorted(found, key=lambda f: (order[f.severity], f.name, f.path or "", f.line or 0))


def _in_files(fresh: Fresh) -> Iterator[Finding]:
    for path, name, line, text in fresh.index.state.rows("SELECT path, name, line, text FROM problems"):
        severity, mend = IN_FILES[name]
        yield Finding(name, severity, path, line, text, mend)


def _ids(fresh: Fresh) -> Iterator[Finding]:
    query = "SELECT n.path, n.claim, n.id FROM notes n WHERE n.claim IS NOT NULL AND n.claim != n.id AND n.kind != 'doc'"
    for path, claim, id_ in fresh.index.state.rows(query):
        yield Finding(
            "id-claimed-twice",
            WARNING,
            path,
            1,
            f"another file has the id “{claim}”; this one goes by “{id_}”",
            "Change one of the two ids.",
        )


def _links(fresh: Fresh) -> Iterator[Finding]:
    """Links whose name several notes bear equally; links that lead nowhere are no fault."""
    query = (
        "SELECT l.path, l.line, l.target, l.found, count(DISTINCT n.path) FROM links l JOIN names n ON n.name = l.name "
        "WHERE l.found IS NOT NULL AND n.strength = (SELECT min(strength) FROM names WHERE name = l.name) AND l.near = '' "
        "GROUP BY l.rowid HAVING count(DISTINCT n.path) > 1"
    )
    for path, line, target, found, count in fresh.index.state.rows(query):
        yield Finding(
            "ambiguous-link", INFO, path, line, f"[[{target}]] means {count} notes; it was taken for {found}", "Write the path in the link."
        )


def _pages_of_others(store: Store) -> list[str]:
    """Pages under `memories/topics/` that okl did not make."""
    pages = sorted((store.root / views.FOLDER).glob("*.md"))
    return [f"{views.FOLDER}/{page.name}" for page in pages if page.is_file() and not views.is_ours(page)]


def _walked(store: Store, walk: Walk) -> Iterator[Finding]:
    for folder, why in walk.unreadable.items():
        yield Finding(
            "unreadable-folder", ERROR, folder or ".", None, f"the folder cannot be listed: {why}", "Give yourself the right to read it."
        )
    for path, target in walk.symlinks.items():
        yield Finding("symlink", WARNING, path, None, f"a symlink to {target}; okl does not follow it", "Put the file itself there.")
    for path in walk.bad_names:
        yield Finding("bad-name", WARNING, path, None, "the name is no Unicode text; the note is not indexed", "Rename the file.")
    for path in walk.conflict_twins:
        yield Finding(
            "conflict-twin", WARNING, path, None, "a copy that a syncing program made; it is not indexed", "Merge it and delete it."
        )
    for path in [*walk.misplaced, *_pages_of_others(store)]:
        yield Finding("misplaced-note", WARNING, path, None, "it lies in a folder of okl's own and is not indexed", "Move it elsewhere.")
    for path in walk.special:
        yield Finding("no-file", WARNING, path, None, "it is a pipe, a socket or a device, no file", "Move it elsewhere.")
    for path in walk.hidden:
        yield Finding("hidden-note", INFO, path, None, "its name begins with a dot, so it is not indexed", "Rename it if it is a note.")
    for path in walk.leftovers:
        yield Finding("leftover", INFO, path, None, "the temporary file of an interrupted write", "ok doctor --fix removes it.")


def _twins(walk: Walk) -> Iterator[Finding]:
    by_form: dict[str, list[str]] = {}
    for path in sorted(walk.stamps):
        by_form.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    for paths in by_form.values():
        for path in paths[1:]:
            same_form = unicodedata.normalize("NFC", path) == unicodedata.normalize("NFC", paths[0])
            name, what = ("unicode-twins", "in Unicode form") if same_form else ("case-twins", "in upper and lower case")
            yield Finding(
                name, WARNING, path, None, f"differs from {paths[0]} only {what}; some disks take them for one", "Rename one of them."
            )


def _cites(store: Store) -> Iterator[Finding]:
    for cite in citing.all_cites(store):
        if isinstance(cite, OklError):
            path = str(cite).partition(" ")[0]
            yield Finding("broken-cite", ERROR, path, 1, str(cite).rstrip("."), "Restore the file from git, or delete it.")


def _sources(store: Store, fresh: Fresh) -> Iterator[Finding]:
    for path, told in fresh.index.state.rows("SELECT path, source FROM notes WHERE kind = 'doc'"):
        original = grounding.original_of(path)
        if not store.exists(original) and len(path) < 240:
            url = json.loads(told or "{}").get("url")
            yield Finding("missing-original", WARNING, path, None, f"its original {original} is gone", f"Ingest {url or 'it'} again.")
    if not (store.root / document.NORMALIZED).is_dir() and (store.root / document.SOURCES).is_dir():
        yield Finding("missing-texts", WARNING, document.SOURCES, None, "there are originals without their texts", "Ingest them again.")


def _surroundings(store: Store) -> Iterator[Finding]:
    if not history.has_git():
        yield Finding("missing-tool", WARNING, None, None, "git is not installed; notes have no versions", "Install git.")
    elif history.repository(store.root) is None:
        yield Finding("no-repository", WARNING, None, None, "the store is in no git repository; notes have no versions", "Run “git init”.")
    if shutil.which("rg") is None:
        yield Finding(
            "missing-tool", INFO, None, None, "ripgrep (rg) is not installed; nothing needs it yet", "Install ripgrep if you like."
        )


def _index(fresh: Fresh) -> Iterator[Finding]:
    texts = {
        "lag": "the index could not be brought up to date; it may lag behind the files",
        "index": "the index cannot be written; searches read all files",
        "deletions": "more than half of the notes are gone; the index waits for “ok sync --accept-deletions”",
    }
    if fresh.healed:
        yield Finding("index-damaged", WARNING, None, None, f"the index was damaged: {fresh.healed}", "It was built again just now.")
    for name in fresh.degraded:
        yield Finding(f"index-{name}", ERROR, None, None, texts[name], "See the message above it.")


def missing_model(reason: str) -> Finding:
    """There is no embedding model."""
    return Finding("missing-model", WARNING, None, None, reason.rstrip("."), "Install it, or set embedding: none.")


def of_vectors(index: Index, embedding: str) -> Iterator[Finding]:
    """Chunks without a vector, and notes in languages that the model does not know."""
    waiting = index.state.rows("SELECT count(*) FROM chunks WHERE embedded = 0")[0][0]
    if waiting and embedding != "none":
        yield Finding("vectors-waiting", INFO, None, None, f"{waiting} chunks have no vector yet", "“ok sync” embeds them.")
    notes, foreign = index.state.rows("SELECT count(*), coalesce(sum(language != 'en'), 0) FROM notes")[0]
    if embedding == "builtin:minilm" and foreign > FOREIGN * notes:
        text = f"{foreign} of {notes} notes are not in English, which is all that builtin:minilm knows"
        mend = "pip install 'okl[multilingual]', then “ok config set embedding builtin:e5”."
        yield Finding("model-language", INFO, None, None, text, mend)


def hnsw_recall(recall: float) -> Finding:
    """How many of the truly nearest chunks the HNSW index finds."""
    low = recall < LEAST_RECALL
    text = f"the HNSW index finds {recall:.1%} of the ten nearest chunks"
    return Finding("hnsw-recall", WARNING if low else INFO, None, None, text, "It was built again just now." if low else "Nothing to do.")
