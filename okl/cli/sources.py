"""`ok store`: the grounding store."""

from __future__ import annotations

import json as json_module
from collections import Counter
from typing import Annotated, Any

import typer

from okl.cli.search import QUERY_SETTINGS, Budget, Envelope, Limit, MinScore, PerDocument, Words, query_text, show_found
from okl.cli.terminal import DryRun, Json, Jsonl, Since, Tags, Until, leave, one_or_all, print_jsonl, session, show, split

app = typer.Typer(help="Sources: ingest, search, list, remove.", no_args_is_help=True)


@app.command()
def ingest(
    sources: Annotated[list[str], typer.Argument(metavar="PATH…")], tags: Tags = None, dry_run: DryRun = False, json: Json = False
) -> None:
    """Take files and folders in: Markdown, text, HTML, PDF. Exit 1 if any failed."""
    ingest_all(sources, split(tags), dry_run, json)


def ingest_all(sources: list[str], tags: list[str], dry_run: bool, json: bool) -> None:
    """Ingest and tell of each file as it is done; with JSON one object a line."""

    def tell(outcome: dict[str, Any]) -> None:
        if json:
            print(json_module.dumps(outcome, ensure_ascii=False), flush=True)
        elif outcome["outcome"] in ("skipped", "failed"):
            session.say(f"{outcome['outcome']} {outcome['url']}: {outcome['reason']}")

    outcomes = session.client(tell).call("store_ingest", sources=sources, tags=tags, dry_run=dry_run)
    counts = Counter(outcome["outcome"] for outcome in outcomes)
    if not json:
        for outcome in outcomes:
            if outcome["outcome"] in ("added", "updated"):
                print(f"{outcome['outcome']}\t{outcome['doc']}\t{outcome['path']}")
        told = ", ".join(f"{counts[name]} {name}" for name in ("added", "updated", "unchanged", "skipped", "failed") if counts[name])
        session.say(told or "nothing to ingest")
    leave(1 if counts["failed"] else 0)


@app.command(context_settings=QUERY_SETTINGS)
def search(
    words: Words = None,
    limit: Limit = None,
    tags: Tags = None,
    since: Since = "",
    until: Until = "",
    per_document: PerDocument = None,
    min_score: MinScore = None,
    budget: Budget = None,
    json: Json = False,
    jsonl: Jsonl = False,
    envelope: Envelope = False,
) -> None:
    """Search sources."""
    found = session.client().call(
        "search",
        query=query_text(words),
        tags=split(tags),
        since=since,
        until=until,
        surface="store",
        limit=limit,
        per_document=per_document,
        min_score=min_score,
        budget=budget,
    )
    show_found(found, json, jsonl, envelope)


@app.command("list")
def list_(json: Json = False, jsonl: Jsonl = False) -> None:
    """List sources. Exit 1 if there are none."""
    found = session.client().call("store_list")
    if jsonl:
        print_jsonl(found)
    else:
        show(found, json, lambda: (f"{row['id']}\t{row['path']}\t{row['title']}" for row in found))
    leave(0 if found else 1)


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(metavar="ID…")], dry_run: DryRun = False, json: Json = False) -> None:
    """Move sources and their texts to .trash/."""
    gone = session.client().call("store_remove", ids=ids, dry_run=dry_run)
    show(one_or_all(gone, ids), json, lambda: (f"{row['path']} -> .trash/" for row in gone))
