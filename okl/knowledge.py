"""One open store. Every verb is a method of a few lines; what goes in and out is plain JSON-able data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from okl import citing, config, grounding, reading, why, writing
from okl.cite.record import make as make_cite
from okl.config import CONFIG_PATH, Environment
from okl.errors import UsageError
from okl.fresh import Fresh
from okl.index.sync import Progress, no_progress
from okl.ingest.convert import Limits
from okl.opened import Data, silent
from okl.query import SURFACES, Filters, check_kinds
from okl.query import parse as query_of
from okl.ranking import LANES, Request
from okl.store import Store
from okl.target import Span, document, passage_at, path_of
from okl.upkeep import Rows, Upkeep
from okl.writing import Draft, Writer


class Knowledge(Upkeep):
    """An open store and its verbs."""

    # --- reading ---

    def search(
        self,
        query: str = "",
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        kinds: Sequence[str] = (),
        paths: Sequence[str] = (),
        since: str = "",
        until: str = "",
        namespace: str = "",
        surface: str = "all",
        include_superseded: bool = False,
        like: str = "",
        lanes: str = "both",
        deep: bool = False,
        limit: int | None = None,
        per_document: int | None = None,
        half_life: float | None = None,
        min_score: float | None = None,
        budget: int | None = None,
    ) -> Data:
        """Search notes, memories and sources; answers in cites."""
        if budget is not None and budget < 1:
            raise UsageError("A budget is at least one character.")
        filters = self._filters(tags, topics, keys, kinds, paths, since, until, namespace, surface, include_superseded)
        request = self._request(query, filters, lanes, deep, limit, per_document, half_life, min_score)
        with self.asked(query, like) as (found, meaning, likeness):
            return reading.answer(self.store, found, query, replace(request, budget=budget, like=likeness), self.settings, meaning)

    def why(
        self,
        id: str,
        query: str,
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        kinds: Sequence[str] = (),
        paths: Sequence[str] = (),
        since: str = "",
        until: str = "",
        namespace: str = "",
        surface: str = "all",
        include_superseded: bool = False,
        lanes: str = "both",
        limit: int | None = None,
        min_score: float | None = None,
    ) -> Data:
        """Why a note stands where it stands in the results of a search, or why it is not among them."""
        filters = self._filters(tags, topics, keys, kinds, paths, since, until, namespace, surface, include_superseded)
        request = self._request(query, filters, lanes, False, limit, None, None, min_score)
        with self.asked(query) as (found, meaning, _):
            path = path_of(self.store, found.index, id, self.cwd)
            return why.explained(self.store, found.index, path, request, self.settings, meaning)

    def _filters(
        self,
        tags: Sequence[str],
        topics: Sequence[str],
        keys: Sequence[str],
        kinds: Sequence[str],
        paths: Sequence[str],
        since: str,
        until: str,
        namespace: str,
        surface: str,
        include_superseded: bool,
    ) -> Filters:
        check_kinds(kinds)
        if surface not in SURFACES:
            raise UsageError(f"“{surface}” is no surface; it is one of {', '.join(SURFACES)}.")
        named = tuple(kinds) or (SURFACES[surface] if surface != "all" else ())
        return Filters(
            tuple(tags), tuple(topics), tuple(keys), tuple(paths), named, since=since, until=until,
            namespace=namespace or self.config["namespace"], include_superseded=include_superseded,
        )  # fmt: skip

    def _request(
        self,
        text: str,
        filters: Filters,
        lanes: str,
        deep: bool,
        limit: int | None,
        per_document: int | None,
        half_life: float | None,
        min_score: float | None,
    ) -> Request:
        """What was asked for, with the settings where nothing was said."""
        if lanes not in LANES:
            raise UsageError(f"“{lanes}” is no choice of lanes; it is one of {', '.join(LANES)}.")
        asked = {"search.limit": limit, "search.per_document": per_document, "search.half_life": half_life, "search.min_score": min_score}
        chosen = {
            name: self.config[name] if value is None else config.setting(name).parse(value, "the call") for name, value in asked.items()
        }
        return Request(
            query_of(text, filters), chosen["search.limit"], chosen["search.per_document"], chosen["search.min_score"],
            chosen["search.half_life"], self.clock(), strict=min_score is not None, lanes=LANES[lanes], deep=deep,
        )  # fmt: skip

    def get(self, ids: Sequence[str]) -> Rows:
        """Notes, memories and sources by id, path, name or title."""
        with self.fresh_index() as found:
            return [reading.note(found.index, document(self.store, found.index, id_, self.cwd)) for id_ in ids]

    def list(
        self,
        where: str = "",
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        kinds: Sequence[str] = (),
        since: str = "",
        until: str = "",
        namespace: str = "",
        include_superseded: bool = False,
        sort: str = "id",
        limit: int | None = None,
    ) -> Rows:
        """Notes, memories and sources, filtered; `where` is a path, a prefix or a glob."""
        check_kinds(kinds)
        paths = (where,) if where else ()
        filters = Filters(
            tuple(tags), tuple(topics), tuple(keys), paths, tuple(kinds), since=since, until=until,
            namespace=namespace or self.config["namespace"], include_superseded=include_superseded,
        )  # fmt: skip
        with self.fresh_index() as found:
            return reading.listed(found.index, filters, sort, limit, self.clock())

    # --- writing ---

    def _writer(self) -> Writer:
        return Writer(
            self.config.actor(), self.clock(), self.random_bits, tuple(self.config["tags.default"]), tuple(self.config["tags.required"])
        )

    def put(
        self,
        text: str,
        id: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        names: Sequence[str] = (),
        proper_nouns: Sequence[str] = (),
        related: Sequence[str] = (),
        namespace: str = "",
        ts: str | None = None,
        expires: str | None = None,
        props: Mapping[str, Any] | None = None,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> Data:
        """A note: new at `<id>.md`, new text for the one there is, or without an id a memory."""
        draft = self._draft(
            text, id=id, title=title, tags=tags, topics=topics, keys=keys, names=names, proper_nouns=proper_nouns, related=related,
            namespace=namespace, ts=ts, expires=expires, props=props,
        )  # fmt: skip
        with self.fresh_index() as found:
            return self._wrote(lambda store: writing.put_note(store, found.index, draft, self._writer(), if_match), dry_run)

    def mem_add(
        self,
        text: str,
        id: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        names: Sequence[str] = (),
        proper_nouns: Sequence[str] = (),
        related: Sequence[str] = (),
        namespace: str = "",
        ts: str | None = None,
        expires: str | None = None,
        props: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Data:
        """A new memory; the same words are the same memory."""
        draft = self._draft(
            text, id=id, title=title, tags=tags, topics=topics, keys=keys, names=names, proper_nouns=proper_nouns, related=related,
            namespace=namespace, ts=ts, expires=expires, props=props,
        )  # fmt: skip
        with self.fresh_index() as found:
            return self._wrote(lambda store: writing.add_memory(store, found.index, draft, self._writer()), dry_run)

    def _draft(self, text: str, **given: Any) -> Draft:
        """A draft of a verb's parameters."""
        if not text.strip():
            raise UsageError("There is no text to save.")
        given["namespace"] = given["namespace"] or self.config["namespace"]
        given["props"] = given["props"] or {}
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return Draft(text, **values)

    def _wrote(self, write: Callable[[Store], writing.Written], dry_run: bool) -> Data:
        return {**write(self.store.rehearsing() if dry_run else self.store).fields(), **({"dry_run": True} if dry_run else {})}

    def put_all(self, lines: Sequence[str]) -> Rows:
        """A batch: one JSON object a line, one answer each, in order; a bad line is answered with its error."""
        with self.fresh_index() as found:
            return writing.batch(self.store, found.index, lines, self._writer(), self.config["namespace"])

    def put_file(self, path: str) -> Data:
        """A file that lies in the store already: indexed where it lies."""
        inside = self.store.relative(Path(os.path.abspath((self.cwd or self.store.root) / path)))
        with self.fresh_index() as found:
            row = found.index.state.rows(
                "SELECT n.id, n.path, f.sha256 FROM notes n JOIN files f ON f.path = n.path WHERE n.path = ?", (inside,)
            )
        if not row:
            raise UsageError(f"{path} lies in the store, but is no note.")
        return {"id": row[0][0], "path": row[0][1], "sha256": row[0][2], "done": "indexed"}

    def tag(
        self, id: str, changes: Sequence[str] = (), removals: Sequence[str] = (), if_match: str | None = None, dry_run: bool = False
    ) -> Data:
        """Change properties and tags of one note, touching only their lines."""
        with self.fresh_index() as found:
            path = path_of(self.store, found.index, id, self.cwd)
            return self._wrote(lambda store: writing.tag(store, found.index, path, changes, removals, if_match), dry_run)

    def save(self, id: str, text: str, if_match: str) -> Data:
        """Replace the whole file of a note that was read with the sha256 `if_match`."""
        with self.fresh_index() as found:
            path = path_of(self.store, found.index, id, self.cwd)
            return writing.save_text(self.store, found.index, path, text, if_match).fields()

    def mem_update(
        self,
        id: str,
        text: str = "",
        title: str | None = None,
        tags: Sequence[str] = (),
        topics: Sequence[str] = (),
        keys: Sequence[str] = (),
        namespace: str = "",
        expires: str | None = None,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> Data:
        """New text or new properties for a memory."""
        draft = Draft(text, id, title, tuple(tags), tuple(topics), tuple(keys), namespace=namespace, expires=expires)
        with self.fresh_index() as found:
            path = self._memory(found, id)
            return self._wrote(lambda store: writing.replace_body(store, found.index, path, draft, if_match), dry_run)

    def mem_delete(self, ids: Sequence[str], dry_run: bool = False) -> Rows:
        """Move memories to `.trash/`."""
        with self.fresh_index() as found:
            paths = [self._memory(found, id_) for id_ in ids]
            if dry_run:
                return [{"path": path, "done": "deleted", "dry_run": True} for path in paths]
            return [writing.delete(self.store, found.index, path) for path in paths]

    def _memory(self, found: Fresh, id_: str) -> str:
        path = path_of(self.store, found.index, id_, self.cwd)
        if not path.startswith("memories/"):
            raise UsageError(f"{path} is no memory: it does not lie under memories/.")
        return path

    # --- grounding ---

    def store_ingest(self, sources: Sequence[str], tags: Sequence[str] = (), dry_run: bool = False) -> Rows:
        """Take documents into the grounding store: originals byte for byte, their text beside them."""
        limits = Limits(self.config["ingest.pages"], self.config["ingest.timeout"], self.config["ingest.memory_mb"])
        plan = grounding.Plan(limits, self.config["ingest.max_mb"] << 20, self._writer().ts, tuple(tags), dry_run)
        told: Callable[[grounding.Outcome], None] = lambda outcome: self.tell(outcome.fields())  # noqa: E731
        with self.fresh_index() as found:
            here = [self._local(source) for source in sources]
            return [outcome.fields() for outcome in grounding.ingest(self.store, found.index, here, plan, told)]

    def _local(self, source: str) -> str:
        return source if "://" in source else os.path.join(self.cwd or self.store.root, os.path.expanduser(source))

    def store_list(self) -> Rows:
        """The sources: id, title, path, original, provenance."""
        with self.fresh_index() as found:
            return grounding.listed(self.store, found.index)

    def store_remove(self, ids: Sequence[str], dry_run: bool = False) -> Rows:
        """Move sources and their texts to `.trash/`."""
        with self.fresh_index() as found:
            paths = [path_of(self.store, found.index, id_, self.cwd) for id_ in ids]
            if dry_run:
                return [{"path": path, "done": "removed", "dry_run": True} for path in paths]
            return [grounding.remove(self.store, found.index, path) for path in paths]

    # --- cites ---

    def cite_make(
        self,
        targets: Sequence[str],
        lines: str | None = None,
        chars: str | None = None,
        quote: str | None = None,
        tags: Sequence[str] = (),
        retention: str | None = None,
        dry_run: bool = False,
    ) -> Rows:
        """Save cites of passages; the same span gives the same cite."""
        with self.fresh_index() as found:
            spans = [passage_at(self.store, found.index, target, Span(lines, chars, quote), self.cwd) for target in targets]
        made = [make_cite(span, tags, retention or "standard", self._writer().ts, self.config.actor()) for span in spans]
        if dry_run:
            return [{**cite.data, "uri": cite.uri, "dry_run": True} for cite in made]
        saved = [citing.save(self.store, cite, retention) for cite in made]
        return [{**cite.data, "uri": cite.uri, "created": created} for cite, created in saved]

    def cite_verify(self, ids: Sequence[str] = (), all: bool = False, record: bool = False, fix: bool = False) -> Rows:
        """Say how cites stand now; writes only with `record` or `fix`."""
        if bool(ids) == all:
            raise UsageError("Name cites, or say --all.")
        writer = self._writer() if record or fix else None
        with self.fresh_index() as found:
            named = ids or citing.names(self.store)
            return [reading.verdict(self.store, found.index, id_, writer, fix) for id_ in named]

    def cite_open(self, id: str) -> Data:
        """The cited passage as it stands now, with its lines."""
        with self.fresh_index() as found:
            return reading.opened(self.store, found.index, citing.load(self.store, id))

    def cite_list(self, status: str = "", doc: str = "", tags: Sequence[str] = ()) -> Rows:
        """Saved cites; `status` asks for a verdict, `doc` for a document."""
        with self.fresh_index() as found:
            wanted = path_of(self.store, found.index, doc, self.cwd) if doc else ""
            return reading.cites(self.store, found.index, status, wanted, tags)

    # --- settings ---

    def config_list(self) -> Rows:
        """Every setting with its value and where that came from."""
        return [
            {"name": s.name, "value": self.config[s.name], "origin": self.config.origins[s.name], "default": s.default, "text": s.text}
            for s in config.SPEC
        ]

    def config_get(self, name: str) -> Data:
        """One setting."""
        return {"name": name, "value": self.config[name], "origin": self.config.origins[name]}

    def config_set(self, name: str, value: str, dry_run: bool = False) -> Data:
        """Change one setting in the store's config, keeping its comments."""
        data = self.store.read(CONFIG_PATH)
        text = config.edited(data.decode("utf-8-sig"), name, value)
        if not dry_run:
            self.store.write(CONFIG_PATH, text.encode(), if_match=writing.sha256_of(data))
        return {"name": name, "value": config.setting(name).parse(value, "the command line"), "origin": CONFIG_PATH}


def open_store(
    start: Path,
    named: str | None = None,
    environment: Environment | None = None,
    say: Callable[[str], None] = silent,
    progress: Progress = no_progress,
    tell: Callable[[Data], None] = lambda _event: None,
) -> Knowledge:
    """The store `named`, else `OK_STORE`, else the one at or above `start`."""
    environment = environment or Environment.of_process()
    store = Store.find(start, named or environment.store())
    return Knowledge(store, config.load(store.root, environment), say, progress, tell, cwd=start)
