"""Write the generated pages: `docs/config.md` from the table of settings, `docs/cli.md` from the commands.

`python docs/generate.py` writes them, `--check` fails if they are not what it would write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.models import OptionInfo

from okl.cli.app import app
from okl.config import SPEC

Callback = Callable[..., Any]
DOCS = Path(__file__).resolve().parent


def config_page() -> str:
    """Every setting with type, default, variable and text."""
    rows = []
    for setting in SPEC:
        default = ", ".join(setting.default) if isinstance(setting.default, list) else setting.default
        shown = f"`{default}`" if default not in ("", []) else "none"
        facts = f"- type: {setting.kind}\n- default: {shown}\n- environment: `{setting.variable}`\n"
        rows.append(f"## {setting.name}\n\n{setting.text}\n\n{facts}")
    intro = (
        "# Settings\n\n<!-- made by docs/generate.py from okl/config.py -->\n\n"
        "A value is taken from the first that has it: a flag of the command, the environment, the store's `.ok/config.yml`, "
        "the user's `okl/config.yml` (in `$XDG_CONFIG_HOME` or `~/.config`), the default. In the files a name may be written "
        "with dots (`search.limit: 5`) or nested (`search:` and below it `limit: 5`). A name that is unknown or a value of the "
        "wrong type is an error that names it. `ok config list` shows what is in force and where it comes from.\n\n"
        "`OK_STORE` names the store, `OK_DEBUG=1` shows where a bug is, `VISUAL` or `EDITOR` is the editor of `ok edit`.\n\n"
    )
    return intro + "\n".join(rows)


def cli_page() -> str:
    """Every command: its words, arguments and options, from its own signature."""
    parts = [CLI_INTRO]
    for words, callback in commands():
        parts.append(f"## ok {words}\n\n{usage(words, callback)}\n\n{inspect.getdoc(callback)}\n\n{options(callback)}")
    return "\n".join(parts)


CLI_INTRO = """# Commands

<!-- made by docs/generate.py from the commands themselves -->

Data goes to stdout, messages to stderr. Every command takes `--json`, and anywhere on the line `--store DIR` (the store; else
`OK_STORE`, else the one around the current folder) and `--quiet`. `-` stands for stdin.

| exit code | means |
|---|---|
| 0 | done, or found |
| 1 | not found, nothing, or a part failed |
| 2 | the call's words, or a config file's |
| 3 | changed meanwhile, in conflict, or ambiguous; a cite is changed or ambiguous |
| 4 | a cite is lost |
| 5 | another process is writing the index |
| 6 | the disk, a permission or a program is missing |
| 7 | a check found something |
| 70 | a bug in okl |
| 130 | interrupted |
"""


def commands() -> Iterator[tuple[str, Callback]]:
    """(words after `ok`, function) of every command, groups last."""
    for prefix, instance in [("", app), *((f"{group.name} ", group.typer_instance) for group in app.registered_groups)]:
        for command in instance.registered_commands if instance else ():
            if command.callback:
                yield prefix + (command.name or command.callback.__name__.rstrip("_")), command.callback


def declared(callback: Callback) -> Iterator[tuple[str, inspect.Parameter, Any]]:
    """(name, parameter, Typer's info) of each parameter; one that says nothing is an argument."""
    for name, parameter in inspect.signature(callback, eval_str=True).parameters.items():
        info = next(iter(getattr(parameter.annotation, "__metadata__", ())), None)
        yield name, parameter, info


def usage(words: str, callback: Callback) -> str:
    """The call in one line."""
    arguments = [getattr(info, "metavar", None) or name.upper() for name, _, info in declared(callback) if not is_option(info)]
    return f"`{' '.join(['ok', words, *arguments, '[OPTIONS]'])}`"


def is_option(info: Any) -> bool:
    """Whether Typer's info is an option's."""
    return isinstance(info, OptionInfo)


def options(callback: Callback) -> str:
    """The options as a list."""
    rows = []
    for name, parameter, info in declared(callback):
        if is_option(info):
            # within Annotated, Typer keeps the first name of an option where its default would stand
            given = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str) and one.startswith("-")]
            names = ", ".join(f"`{option}`" for option in given or [f"--{name.replace('_', '-')}"])
            default = f" Default: {parameter.default}." if parameter.default not in (None, False, "", ".") else ""
            rows.append(f"- {names}{': ' + info.help if info.help else ''}{default}")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    for path, text in ((DOCS / "config.md", config_page()), (DOCS / "cli.md", cli_page())):
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"{', '.join(stale)}: not up to date. Run python docs/generate.py.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
