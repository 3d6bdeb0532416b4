"""Commands about notes: get, list, put, tag, edit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from okl.cli.search import Limit, Superseded
from okl.cli.terminal import (
    DryRun,
    IfMatch,
    Json,
    Jsonl,
    Keys,
    Kinds,
    Namespace,
    Since,
    Tags,
    Topics,
    Until,
    is_terminal,
    leave,
    one_or_all,
    print_json,
    print_jsonl,
    read_stdin,
    refuse,
    session,
    show,
    split,
    visible,
)
from okl.errors import Conflict, NotFound, Unavailable, UsageError


def get(ids: Annotated[list[str], typer.Argument(metavar="ID…")], json: Json = False) -> None:
    """Print notes by id, path, name or title."""
    found = session.client().call("get", ids=ids)
    if json:
        print_json(one_or_all(found, ids))
        return
    for number, note in enumerate(found):
        if len(found) > 1:
            print(("\n" if number else "") + f"==> {note['path']} <==")
        sys.stdout.write("\n".join(map(visible, note["text"].split("\n"))) if is_terminal() else note["text"])
        if note["text"] and not note["text"].endswith("\n"):
            sys.stdout.write("\n")


def list_(
    where: Annotated[str, typer.Argument(metavar="[PREFIX|GLOB]", show_default=False)] = "",
    tags: Tags = None,
    topics: Topics = None,
    keys: Keys = None,
    kinds: Kinds = None,
    since: Since = "",
    until: Until = "",
    namespace: Namespace = "",
    include_superseded: Superseded = False,
    sort: Annotated[str, typer.Option("--sort", help="id, path, title, updated or created.")] = "id",
    limit: Limit = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List notes, memories and sources. Exit 1 if there are none."""
    found = session.client().call(
        "list",
        where=where,
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        kinds=split(kinds),
        since=since,
        until=until,
        namespace=namespace,
        include_superseded=include_superseded,
        sort=sort,
        limit=limit,
    )
    show_listed(found, ids, json, jsonl)


def show_listed(found: list[dict[str, Any]], ids: bool, json: bool, jsonl: bool) -> None:
    """Print rows of notes; end with 1 if there are none."""
    if jsonl:
        print_jsonl(found)
    else:
        show(found, json, lambda: (row["id"] if ids else f"{row['id']}\t{row['changed'][:10]}\t{row['title']}" for row in found))
    leave(0 if found else 1)


def put(
    text: Annotated[str | None, typer.Argument(metavar="TEXT|FILE|-", show_default=False)] = None,
    id: Annotated[str | None, typer.Option("--id", help="Write the note of this id (`a/b` lies at a/b.md).")] = None,
    title: Annotated[str | None, typer.Option("--title")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tags", "--tag", help="Tags, or properties as k=v.")] = None,
    topics: Topics = None,
    keys: Keys = None,
    names: Annotated[list[str] | None, typer.Option("--names", "--name", help="Keys that are names.")] = None,
    proper_nouns: Annotated[list[str] | None, typer.Option("--proper-nouns", "--proper-noun", help="Keys that are proper nouns.")] = None,
    related: Annotated[list[str] | None, typer.Option("--related", help="Ids of related notes.")] = None,
    namespace: Namespace = "",
    ttl: Annotated[str, typer.Option("--ttl", help="Time to live: 30d, 12h.")] = "",
    if_match: IfMatch = None,
    jsonl: Annotated[str | None, typer.Option("--jsonl", help="A batch: a file of JSON objects, one a line, or -.")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Save a note, a memory, a file or a source.

    TEXT becomes a memory, with --id a note. A FILE in the store is indexed where it lies; another
    file, a folder or an address goes into the grounding store. `-` reads stdin.
    """
    if jsonl is not None:
        _put_batch(jsonl)
        return
    if text is None:
        refuse("Say what to put: a text, a file, or - for stdin.")
    if id is None and _looks_like_a_file(text) and not os.path.exists(text):
        raise NotFound(f"There is no file {text}. To save these words, give them on stdin: ok put -")
    given = split(tags)
    if id is None and text != "-" and (place := _place_of(text)):
        _put_source(text, place, [tag for tag in given if "=" not in tag], dry_run, json)
        return
    written = session.client().call(
        "put",
        text=_text_of(text, id),
        id=id,
        title=title,
        tags=[tag for tag in given if "=" not in tag],
        topics=split(topics),
        keys=split(keys),
        names=split(names),
        proper_nouns=split(proper_nouns),
        related=split(related),
        namespace=namespace,
        expires=expiry(ttl),
        props=properties_in(given),
        if_match=if_match,
        dry_run=dry_run,
    )
    show_written(written, json)


def _put_source(path: str, place: str, tags: list[str], dry_run: bool, json: bool) -> None:
    """A file of the store is indexed where it lies; what lies outside becomes a source."""
    if place == "inside":
        show_written(session.client().call("put_file", path=path), json)
        return
    from okl.cli.sources import ingest_all

    ingest_all([path], tags, dry_run, json)


def _looks_like_a_file(text: str) -> bool:
    """Whether a text is more likely the name of a file than words to keep."""
    from okl.ingest.fetch import SUFFIXES

    plain = text.strip()
    return not re.search(r"\s", plain) and (plain.startswith(("./", "../", "/", "~/")) or os.path.splitext(plain)[1].lower() in SUFFIXES)


def _place_of(text: str) -> str:
    """`inside` for a file of the store, `outside` for another file, a folder or an address, else nothing."""
    if "://" in text.split(" ", 1)[0] and " " not in text.strip():
        return "outside"
    if "\n" in text or len(text) > 4096 or "\x00" in text or not os.path.exists(text):
        return ""
    inside = session.client().knowledge.store.relative(Path(os.path.abspath(text)))
    return "inside" if inside is not None and os.path.isfile(text) else "outside"


def _text_of(text: str, id: str | None) -> str:
    if text == "-":
        return read_stdin()
    if id is not None and "\n" not in text and len(text) < 4096 and os.path.isfile(text):
        try:
            return Path(text).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{text} is not UTF-8 (byte {error.start}).") from None
    return text


def expiry(ttl: str) -> str | None:
    """The end of a time to live, if one was given."""
    from datetime import UTC, datetime

    from okl.writing import until

    return until(ttl, datetime.now(UTC)) if ttl else None


def properties_in(tags: list[str]) -> dict[str, Any]:
    """Those of the tags that are k=v."""
    from okl.properties import scalar

    return {name: scalar(value) for name, mark, value in (tag.partition("=") for tag in tags) if mark}


def _put_batch(source: str) -> None:
    if source != "-" and not os.path.isfile(source):
        raise NotFound(f"There is no file {source}.")
    data = read_stdin() if source == "-" else _text_of(source, "")
    answers = session.client().call("put_all", lines=data.split("\n"))
    print_jsonl(answers)
    leave(1 if any("error" in answer for answer in answers) else 0)


def show_written(written: dict[str, Any], json: bool) -> None:
    """Print the id of a note that was written."""
    show(written, json, lambda: [written["id"]])
    if not json and written.get("done") == "unchanged":
        session.say("unchanged")


def tag(
    id: Annotated[str, typer.Argument(metavar="ID")],
    changes: Annotated[list[str] | None, typer.Argument(metavar="[k=v|tag|-tag]…", show_default=False)] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Take a tag or property away.")] = None,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Set properties (k=v, k= deletes) and tags (name, -name) of a note."""
    given = changes or []
    for change in given:
        if change.startswith("--"):
            refuse(f"There is no option {change}.")
    removals = [change[1:] for change in given if change.startswith("-")] + split(remove)
    kept = [change for change in given if not change.startswith("-")]
    written = session.client().call("tag", id=id, changes=kept, removals=removals, if_match=if_match, dry_run=dry_run)
    show_written(written, json)


def edit(id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False) -> None:
    """Open a note in $EDITOR; refused if somebody else saved it meanwhile, and then nothing is lost."""
    command = session.environment.editor()
    if not command:
        raise Unavailable("No editor is named: set VISUAL or EDITOR.")
    client = session.client()
    note = client.call("get", ids=[id])[0]
    if lossy := next((p for p in note["problems"] if p["name"] in ("binary-file", "invalid-utf8")), None):
        raise Conflict(f"{note['path']} line {lossy['line']}: {lossy['text']}. okl does not rewrite it.")
    copy = Path(tempfile.mkdtemp(prefix="ok-edit-")) / Path(note["path"]).name
    copy.write_bytes(note["text"].encode("utf-8"))
    try:
        done = subprocess.run([*command, str(copy)], check=False)
    except OSError as error:
        raise Unavailable(f"The editor {command[0]} cannot be run: {error.strerror}.") from error
    if done.returncode:
        raise Unavailable(f"The editor ended with {done.returncode}; the note is as it was, your text in {copy}.")
    try:
        text = copy.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise Unavailable("The editor removed the file; the note is as it was.") from None
    try:
        written = client.call("save", id=note["id"], text=text, if_match=note["sha256"])
    except Conflict as error:
        raise Conflict(f"{error} Your text is in {copy}.") from error
    copy.unlink()
    copy.parent.rmdir()
    show_written(written, json)
