"""An open store: its files, settings and index, a clock, randomness, and somebody to tell."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from okl import fresh, views
from okl.config import Config
from okl.fresh import Fresh
from okl.index.generation import Generations, location
from okl.index.record import Settings
from okl.index.sync import Options, Progress, no_progress
from okl.store import Store

Data = dict[str, Any]


def silent(_message: str) -> None:
    """Say nothing."""


@dataclass
class Opened:
    """What every verb needs; what it takes from outside is passed in."""

    store: Store
    config: Config
    say: Callable[[str], None] = silent
    progress: Progress = no_progress
    tell: Callable[[Data], None] = lambda _event: None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    random_bits: Callable[[int], int] = secrets.randbits
    cwd: Path | None = None

    # --- the index ---

    @property
    def settings(self) -> Settings:
        """The settings that the index depends on."""
        return Settings(self.config["chunk.tokens"], self.config["chunk.overlap"], tuple(self.config["languages"]))

    @cached_property
    def generations(self) -> Generations:
        """Where the index lies."""
        folder = location(self.store.root, self.config["index.dir"], self.config.environment.user_cache())
        return Generations(folder, self.settings, self.config["index.wait"])

    def options(self, accept_deletions: bool = False) -> Options:
        """What a sync needs to know."""
        globs, include = tuple(self.config["ignore"]), tuple(self.config["include"])
        return Options(globs, include, self.settings, accept_deletions, self.progress)

    @contextmanager
    def fresh_index(self) -> Iterator[Fresh]:
        """The index, brought up to date; what it left behind on a crash is swept, views follow."""
        found = fresh.opened(self.store.root, self.generations, self.options(), self.say)
        with found.index:
            self.after_sync(found)
            yield found

    def set_index_aside(self, why: str) -> None:
        """Take an index that turned out to be damaged out of use; the next verb builds it again."""
        self.say(f"the index was damaged ({why}); it is built again")
        if current := self.generations.current():
            self.generations.quarantine(current)

    def after_sync(self, found: Fresh) -> None:
        """Sweep what dead writers left, and let the topics' pages follow."""
        if found.synced and found.synced.walk.leftovers:
            gone = self.store.sweep(found.synced.walk.leftovers)
            found.synced.walk.leftovers[:] = [path for path in found.synced.walk.leftovers if path not in gone]
        if found.synced and (found.synced.changes or found.synced.rebuilt) and not found.degraded:
            try:
                views.refresh(self.store, found.index.state, self.config["views"])
            except OSError as error:
                self.say(f"the topics' pages cannot be written: {error.strerror}")
