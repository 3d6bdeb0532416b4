"""What every command needs: the store's client, and how results reach the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from okl.client import Client, connect
from okl.config import Environment
from okl.errors import UsageError
from okl.reading import to_json, to_line

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")]
Tags = Annotated[list[str] | None, typer.Option("--tags", "--tag", help="Tags, comma-separated; may be repeated.")]
Topics = Annotated[list[str] | None, typer.Option("--topics", "--topic", help="Topics, comma-separated; may be repeated.")]
Keys = Annotated[list[str] | None, typer.Option("--keys", "--key", help="Keys, comma-separated; may be repeated.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="note, memory or doc.")]
Since = Annotated[str, typer.Option("--since", help="Changed since a date (2026-01-31) or for a time (P7D, 2w).")]
Until = Annotated[str, typer.Option("--until", help="Changed until a date or a time ago.")]
Namespace = Annotated[str, typer.Option("--namespace", help="Only in this namespace.")]
IfMatch = Annotated[str | None, typer.Option("--if-match", help="The sha256 of the file you read; refused if it changed.")]


@dataclass
class Session:
    """One run of `ok`: where it stands, which store was named, how much it says."""

    environment: Environment = field(default_factory=Environment.of_process)
    store: str | None = None
    quiet: bool = False

    def client(self, tell: Callable[[dict[str, Any]], None] = lambda _event: None) -> Client:
        """The store's client."""
        return connect(Path.cwd(), self.store, self.environment, self.say, Progress(self).show, tell)

    def say(self, message: str) -> None:
        """A message for the person, on stderr."""
        if not self.quiet:
            print(f"ok: {visible(message)}", file=sys.stderr, flush=True)


session = Session()


class Progress:
    """A bar on stderr while something takes long; nothing off a terminal."""

    def __init__(self, owner: Session) -> None:
        self._owner = owner
        self._shown: tuple[str, int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` files or chunks are through; `what` is done to them."""
        if self._owner.quiet or not sys.stderr.isatty() or total < 200:
            return
        filled = done * 30 // total
        if (what, filled) != self._shown or done == total:
            self._shown = what, filled
            end = "\n" if done == total else ""
            print(f"\r{what} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}", end=end, file=sys.stderr, flush=True)


def split(values: Iterable[str] | None) -> list[str]:
    """Comma-separated and repeated values as one list."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def width() -> int:
    """Columns of the terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 100
    except (OSError, ValueError):
        return 100


def is_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty()


def print_json(value: Any) -> None:
    """One JSON value, whatever the width of the terminal."""
    print(to_json(value))


def print_jsonl(rows: Iterable[Any]) -> None:
    """One JSON value a line."""
    for row in rows:
        print(to_line(row))


def show(value: Any, json: bool, text: Callable[[], Iterable[str]]) -> None:
    """`value` as JSON, or the lines of `text` for people."""
    if json:
        print_json(value)
        return
    for line in text():
        print(visible(line))


def one_or_all(rows: list[Any], named: list[str]) -> Any:
    """The answer itself where one thing was named, else the list of answers."""
    return rows[0] if len(named) == 1 and len(rows) == 1 else rows


def leave(code: int) -> None:
    """End with `code` if it is not 0."""
    if code:
        raise typer.Exit(code)


def refuse(message: str) -> NoReturn:
    """End as a usage error."""
    raise UsageError(message)


def read_stdin() -> str:
    """All of stdin as text; UsageError if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"What came on stdin is not UTF-8 (byte {error.start}).") from None


_SIGNS = {code: 0x2400 + code for code in range(32) if code != 9} | {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def visible(line: str) -> str:
    """A line for people: control characters, which could steer a terminal, as signs."""
    return line.translate(_SIGNS)
