"""How a surface reaches a store: today in this process, through `verbs.call`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from okl import verbs
from okl.config import Environment
from okl.index.sync import Progress, no_progress
from okl.knowledge import Knowledge, open_store


@dataclass(frozen=True)
class Client:
    """A store that answers verbs."""

    knowledge: Knowledge

    def call(self, verb: str, **params: Any) -> Any:
        """Run a verb; the answer is plain data."""
        return verbs.call(self.knowledge, verb, params)


def connect(
    start: Path,
    named: str | None,
    environment: Environment,
    say: Callable[[str], None],
    progress: Progress = no_progress,
    tell: Callable[[dict[str, Any]], None] = lambda _event: None,
) -> Client:
    """The store named, or the one at or above `start`."""
    return Client(open_store(start, named, environment, say, progress, tell))
