"""What can go wrong, in one sentence each, with the exit code a shell sees.

OklError                 70  (never raised itself)
├── NotFound              1  no such note, doc, cite, store or setting
├── UsageError            2  the call's words are off
│   └── ConfigError          a config file's or variable's words are
├── Conflict              3  somebody else changed it, the name means several things, the file is damaged
│   ├── NoteChanged
│   └── Ambiguous
├── Busy                  5  another process holds the index
├── Unavailable           6  the disk, a tool or a permission is missing
└── CheckFailed           7  a check found something
"""

from __future__ import annotations

from collections.abc import Sequence


class OklError(Exception):
    """An error that is shown to the user as one sentence."""

    exit_code = 70


class NotFound(OklError):
    """Nothing has this name."""

    exit_code = 1


class UsageError(OklError):
    """The call cannot be understood."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file or variable cannot be understood."""


class Conflict(OklError):
    """The state of the store does not allow this now."""

    exit_code = 3


class NoteChanged(Conflict):
    """The file is no longer the one that was read."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed on disk since it was read. Read it again, then write.")


class Ambiguous(Conflict):
    """A name means several notes; `candidates` lists their paths."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        self.candidates = tuple(candidates)
        shown = ", ".join(candidates[:10]) + (", …" if len(candidates) > 10 else "")
        super().__init__(f"“{name}” means {len(candidates)} notes: {shown}. Give the path.")


class Busy(OklError):
    """Another process is writing the index."""

    exit_code = 5


class Unavailable(OklError):
    """Something outside okl is missing: disk space, a permission, a program."""

    exit_code = 6


class CheckFailed(OklError):
    """A check ran and found something."""

    exit_code = 7
