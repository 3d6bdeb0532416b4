"""`ok mem`: memories."""

from __future__ import annotations

from typing import Annotated

import typer

from okl.cli import notes
from okl.cli.search import QUERY_SETTINGS, Budget, Envelope, Limit, MinScore, Superseded, Words, query_text, show_found
from okl.cli.terminal import (
    DryRun,
    IfMatch,
    Json,
    Jsonl,
    Keys,
    Namespace,
    Since,
    Tags,
    Topics,
    Until,
    one_or_all,
    read_stdin,
    session,
    show,
    split,
)

app = typer.Typer(help="Memories: add, search, list, update, delete.", no_args_is_help=True)


@app.command()
def add(
    text: Annotated[str, typer.Argument(metavar="TEXT|-")],
    id: Annotated[str | None, typer.Option("--id")] = None,
    title: Annotated[str | None, typer.Option("--title")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tags", "--tag", help="Tags, or properties as k=v.")] = None,
    topics: Topics = None,
    keys: Keys = None,
    names: Annotated[list[str] | None, typer.Option("--names", "--name", help="Keys that are names.")] = None,
    proper_nouns: Annotated[list[str] | None, typer.Option("--proper-nouns", "--proper-noun", help="Keys that are proper nouns.")] = None,
    related: Annotated[list[str] | None, typer.Option("--related", help="Ids of related notes.")] = None,
    namespace: Namespace = "",
    ttl: Annotated[str, typer.Option("--ttl", help="Time to live: 30d, 12h.")] = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Remember TEXT. The same words are the same memory."""
    written = session.client().call(
        "mem_add",
        text=read_stdin() if text == "-" else text,
        id=id,
        title=title,
        tags=[tag for tag in split(tags) if "=" not in tag],
        topics=split(topics),
        keys=split(keys),
        names=split(names),
        proper_nouns=split(proper_nouns),
        related=split(related),
        namespace=namespace,
        expires=notes.expiry(ttl),
        props=notes.properties_in(split(tags)),
        dry_run=dry_run,
    )
    notes.show_written(written, json)


@app.command(context_settings=QUERY_SETTINGS)
def search(
    words: Words = None,
    limit: Limit = None,
    tags: Tags = None,
    topics: Topics = None,
    keys: Keys = None,
    since: Since = "",
    until: Until = "",
    namespace: Namespace = "",
    include_superseded: Superseded = False,
    min_score: MinScore = None,
    budget: Budget = None,
    json: Json = False,
    jsonl: Jsonl = False,
    envelope: Envelope = False,
) -> None:
    """Search memories."""
    found = session.client().call(
        "search",
        query=query_text(words),
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        since=since,
        until=until,
        namespace=namespace,
        surface="mem",
        include_superseded=include_superseded,
        limit=limit,
        min_score=min_score,
        budget=budget,
    )
    show_found(found, json, jsonl, envelope)


@app.command("list")
def list_(
    tags: Tags = None,
    topics: Topics = None,
    keys: Keys = None,
    since: Since = "",
    until: Until = "",
    namespace: Namespace = "",
    include_superseded: Superseded = False,
    limit: Limit = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List memories, newest first."""
    found = session.client().call(
        "list",
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        kinds=["memory"],
        since=since,
        until=until,
        namespace=namespace,
        include_superseded=include_superseded,
        sort="updated",
        limit=limit,
    )
    notes.show_listed(found, ids, json, jsonl)


@app.command()
def update(
    id: Annotated[str, typer.Argument(metavar="ID")],
    text: Annotated[str, typer.Option("--text", help="The new text; - reads stdin.")] = "",
    title: Annotated[str | None, typer.Option("--title")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tags", "--tag", "--new-tags", help="The new tags.")] = None,
    topics: Topics = None,
    keys: Keys = None,
    namespace: Namespace = "",
    ttl: Annotated[str, typer.Option("--ttl", help="Time to live from now: 30d, 12h.")] = "",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Give a memory new text, tags, topics or keys."""
    written = session.client().call(
        "mem_update",
        id=id,
        text=read_stdin() if text == "-" else text,
        title=title,
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        namespace=namespace,
        expires=notes.expiry(ttl),
        if_match=if_match,
        dry_run=dry_run,
    )
    notes.show_written(written, json)


@app.command()
def delete(ids: Annotated[list[str], typer.Argument(metavar="ID…")], dry_run: DryRun = False, json: Json = False) -> None:
    """Move memories to .trash/."""
    gone = session.client().call("mem_delete", ids=ids, dry_run=dry_run)
    show(one_or_all(gone, ids), json, lambda: (f"{row['path']} -> {row.get('trash', '.trash/' + row['path'])}" for row in gone))
