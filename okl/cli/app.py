"""The command `ok`: all commands together, and how a run ends."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from okl import __version__
from okl.cli import cites, demo, graph, memories, notes, search, sources, upkeep
from okl.cli.terminal import session
from okl.errors import ConfigError, OklError, UsageError

app = typer.Typer(
    name="ok",
    help="The open knowledge layer: a repo of plain Markdown files, searched and cited.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"okl {__version__}")
        raise typer.Exit


@app.callback()
def _all_commands(
    store: Annotated[str | None, typer.Option("--store", metavar="DIR", help="The store; else OK_STORE, else the one around here.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing on stderr but errors.")] = False,
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    session.store = store
    session.quiet = quiet


app.command()(upkeep.init)
app.command()(demo.demo)
app.command()(upkeep.status)
app.command()(upkeep.doctor)
app.command(context_settings=search.QUERY_SETTINGS)(search.search)
app.command("find", context_settings=search.QUERY_SETTINGS)(search.search)
app.command(context_settings=search.QUERY_SETTINGS)(search.why)
app.command()(notes.get)
app.command("list")(notes.list_)
app.command()(notes.put)
app.command(context_settings=search.QUERY_SETTINGS)(notes.tag)
app.command()(notes.edit)
app.add_typer(memories.app, name="mem")
app.add_typer(sources.app, name="store")
app.add_typer(cites.app, name="cite")
app.add_typer(graph.app, name="graph")
app.command()(upkeep.index)
app.command()(upkeep.sync)
app.command()(upkeep.proof)
app.add_typer(upkeep.config_app, name="config")

# Newer Typers carry a Click of their own; its exceptions are reached through Typer's names.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]

_WITH_VALUE = ("--store",)
_ALONE = ("--quiet",)


def hoisted(arguments: list[str]) -> list[str]:
    """`arguments` with the options that every command takes moved to the front, wherever they stood."""
    front: list[str] = []
    rest: list[str] = []
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            rest += [argument, *pending]
            break
        if argument in _WITH_VALUE and pending:
            front += [argument, pending.pop(0)]
        elif argument in _ALONE or argument.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            front.append(argument)
        else:
            rest.append(argument)
    return front + rest


def main(arguments: list[str] | None = None) -> int:
    """Run `ok` and give its exit code. Every failure is one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if any("\udc80" <= c <= "\udcff" for text in given for c in text):
            return _end("An argument is not UTF-8.", UsageError.exit_code)
        code = _run(hoisted(given))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    try:
        done = app(arguments, prog_name="ok", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except ConfigError as error:
        return _end(str(error), error.exit_code)
    except UsageError as error:
        return _end(_with_hint(str(error), _command(arguments)), error.exit_code)
    except OklError as error:
        return _end(str(error), error.exit_code)
    except typer.Abort:
        return 130
    except ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            return UsageError.exit_code
        return _end(_usage(error), UsageError.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _end(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", 6)
    except Exception as error:
        if session.environment.debug():
            raise
        return _end(f"a bug in okl: {type(error).__name__}: {error} (OK_DEBUG=1 shows where).", OklError.exit_code)


def _usage(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    told = getattr(error, "format_message", error.__str__)()
    return _with_hint(f"{told.rstrip('.')}.", context.command_path if context else "ok")


def _with_hint(message: str, command: str) -> str:
    return message if "--help`" in message else f"{message} Try `{command} --help`."


def _command(arguments: list[str]) -> str:
    """The words of the command that was called, as `ok cite make`."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    words = words[1:] if arguments[:1] == ["--store"] else words
    groups = {group.name for group in app.registered_groups}
    return " ".join(["ok", *words[: 2 if words and words[0] in groups else 1]])


def _end(message: str, code: int) -> int:
    print(f"ok: {' '.join(message.split())}", file=sys.stderr)
    return code
