"""Commands about the store itself: init, status, doctor, index, sync, config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from okl import initial
from okl.cli.terminal import DryRun, Json, leave, refuse, session, show

config_app = typer.Typer(help="Settings: get, set, list.", no_args_is_help=True)


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", show_default=False)] = Path("."),
    template: Annotated[str, typer.Option("--template", help="What to start from: default or demo.")] = "default",
    from_vault: Annotated[
        bool, typer.Option("--from-vault", help="Around notes that are there: adds .ok/config.yml and ignore lines only.")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make a store."""
    made = initial.init(folder, template, from_vault, dry_run)
    show(made, json, lambda: _init_lines(made))


def _init_lines(made: dict[str, Any]) -> Iterator[str]:
    yield f"{made['store']} is a store" + (" already" if made["done"] == "unchanged" else "")
    yield from (f"  + {path}" for path in made["added"])
    if not made["repository"]:
        yield "  no git repository: notes have no versions"


def status(json: Json = False) -> None:
    """What the store holds, and how it is."""
    found = session.client().call("status")
    show(found, json, lambda: _status_lines(found))


def _status_lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"store     {found['store']}"
    yield f"holds     {found['notes']} notes, {found['memories']} memories, {found['docs']} sources, {found['cites']} cites"
    yield f"links     {found['links']}, of which {found['links_resolved']} lead somewhere"
    index = found["index"]
    generation = f"generation {index['generation']}" if index["generation"] else "in memory"
    yield f"index     {found['chunks']} chunks, {generation}" + (f", degraded: {', '.join(found['degraded'])}" if found["degraded"] else "")
    vectors = found["vectors"]
    yield f"vectors   {vectors['model'] or 'none'}: {vectors['chunks']} chunks" + (
        f", {vectors['waiting']} wait" if vectors["waiting"] else ""
    )
    yield f"ignored   {found['ignored']} paths" if found["ignored"] else "ignored   nothing"
    counts = found["findings"]
    told = ", ".join(f"{counts[level]} {level}{'s' if counts[level] != 1 else ''}" for level in counts if counts[level])
    yield "findings  " + (f"{told} (`ok doctor` lists them)" if told else "none")


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what needs no decision; never touches a note.")] = False, json: Json = False
) -> None:
    """Name every fault, where it is, and what mends it. Exit 7 if there is one."""
    found = session.client().call("doctor", fix=fix)
    show(found, json, lambda: _doctor_lines(found))
    leave(7 if any(row["severity"] != "info" for row in found) else 0)


def _doctor_lines(found: list[dict[str, Any]]) -> Iterator[str]:
    for row in found:
        place = f"{row['path']}:{row['line']}: " if row["path"] and row["line"] else f"{row['path']}: " if row["path"] else ""
        yield f"{row['severity']:<8}{row['name']:<18}{place}{row['text']}"
        yield f"{'':<26}{row['mend']}"
    if not found:
        yield "no findings"


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build anew from the files alone.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare with an index built anew; exit 7 if they differ.")] = False,
    json: Json = False,
) -> None:
    """Build the index or bring it up to date."""
    if rebuild and check:
        refuse("Give one of --rebuild and --check.")
    if check:
        found = session.client().call("index_check")
        show(found, json, lambda: _check_lines(found))
        leave(0 if found["equal"] else 7)
        return
    done = session.client().call("index", rebuild=rebuild)
    show(done, json, lambda: _sync_lines(done))


def _check_lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"digest   {found['digest']}"
    yield f"rebuilt  {found['rebuilt']}"
    yield "equal" if found["equal"] else "they differ:"
    yield from (f"  {line}" for line in found["differences"])
    if not found["equal"]:
        yield "If files changed since the last command, “ok sync” and check again; else “ok index --rebuild” mends it."


def sync(
    accept_deletions: Annotated[bool, typer.Option("--accept-deletions", help="It is right that most notes are gone.")] = False,
    json: Json = False,
) -> None:
    """Bring the index up to date with the files."""
    done = session.client().call("sync", accept_deletions=accept_deletions)
    show(done, json, lambda: _sync_lines(done))


def proof(json: Json = False) -> None:
    """Show that the index is what the files give and nothing else; exit 7 if it is not."""
    found = session.client().call("proof")
    show(found, json, lambda: _proof_lines(found))
    leave(0 if found["proven"] else 7)


def _proof_lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"files      {found['files']} read, their bytes as before"
    yield f"digest     {found['digest']}"
    yield f"rebuilt    {found['rebuilt']}"
    yield f"answers    {found['questions']} questions asked of both"
    yield f"vectors    {found['reembedded']} texts embedded once more"
    yield from (f"FAILED     {failure}" for failure in found["failures"])
    yield "proven: the index is what the files give, and nothing else" if found["proven"] else "not proven"


def _sync_lines(done: dict[str, Any]) -> Iterator[str]:
    changes = {"added": done["added"], "updated": done["updated"], "renamed": len(done["renamed"]), "removed": done["removed"]}
    told = ", ".join(f"{count} {what}" for what, count in changes.items() if count) or "nothing changed"
    yield f"{done['files']} files, {done['chunks']} chunks: {told} ({done['took_ms'] / 1000:.2f} s)"
    if done["waiting"]:
        yield f"{done['waiting']} chunks have no vector yet"


@config_app.command("list")
def config_list(json: Json = False) -> None:
    """Every setting, its value and where that comes from."""
    found = session.client().call("config_list")
    show(found, json, lambda: (f"{row['name']:<22}{_value(row['value'])}  ({row['origin']})" for row in found))


@config_app.command("get")
def config_get(name: str, json: Json = False) -> None:
    """One setting."""
    found = session.client().call("config_get", name=name)
    show(found, json, lambda: [_value(found["value"])])


@config_app.command("set")
def config_set(name: str, value: str, dry_run: DryRun = False, json: Json = False) -> None:
    """Change a setting in the store's .ok/config.yml."""
    done = session.client().call("config_set", name=name, value=value, dry_run=dry_run)
    show(done, json, lambda: [f"{done['name']}: {_value(done['value'])}"])


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value) if value != "" else "-"
