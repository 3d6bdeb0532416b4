"""Commands that search: search, why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from okl.cli.hits import print_hits, why_lines
from okl.cli.terminal import (
    Json,
    Jsonl,
    Keys,
    Kinds,
    Namespace,
    Since,
    Tags,
    Topics,
    Until,
    leave,
    print_json,
    print_jsonl,
    read_stdin,
    refuse,
    session,
    show,
    split,
)

QUERY_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": True}
Words = Annotated[
    list[str] | None, typer.Argument(metavar="QUERY…", help='Words, "phrases", -word, tag:x, path:x, kind:x.', show_default=False)
]
Limit = Annotated[int | None, typer.Option("--limit", "--k", help="Results at the most.", show_default=False)]
Paths = Annotated[list[str] | None, typer.Option("--path", help="At or below a path, or matching a glob.")]
Envelope = Annotated[bool, typer.Option("--envelope", help="Print one JSON object with query, legs, degraded, results.")]
Superseded = Annotated[bool, typer.Option("--include-superseded", help="Superseded and expired notes too.")]
PerDocument = Annotated[int | None, typer.Option("--per-document", help="Results one document may take.", show_default=False)]
HalfLife = Annotated[float | None, typer.Option("--half-life", help="Days after which a score is halved.", show_default=False)]
MinScore = Annotated[float | None, typer.Option("--min-score", help="Relevance the best hit must have.", show_default=False)]
Budget = Annotated[int | None, typer.Option("--budget", help="Characters of text in all.", show_default=False)]
Surface = Annotated[str, typer.Option("--surface", help="mem, store, note or all.")]
Like = Annotated[
    str, typer.Option("--like", metavar="ID|FILE", help="Like this note or file, which is left out itself.", show_default=False)
]
Lanes = Annotated[str, typer.Option("--lanes", help="direct, linked (what hangs on the best hits) or both.")]
Deep = Annotated[bool, typer.Option("--deep", help="Follow the links of every hit.")]


def search(
    words: Words = None,
    limit: Limit = None,
    tags: Tags = None,
    topics: Topics = None,
    keys: Keys = None,
    kinds: Kinds = None,
    paths: Paths = None,
    since: Since = "",
    until: Until = "",
    namespace: Namespace = "",
    surface: Surface = "all",
    include_superseded: Superseded = False,
    like: Like = "",
    lanes: Lanes = "both",
    deep: Deep = False,
    per_document: PerDocument = None,
    half_life: HalfLife = None,
    min_score: MinScore = None,
    budget: Budget = None,
    json: Json = False,
    jsonl: Jsonl = False,
    envelope: Envelope = False,
) -> None:
    """Search everything; answers in cites. Exit 0 with hits, 1 without."""
    found = session.client().call(
        "search",
        query=query_text(words),
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        kinds=split(kinds),
        paths=paths or [],
        since=since,
        until=until,
        namespace=namespace,
        surface=surface,
        include_superseded=include_superseded,
        like=like,
        lanes=lanes,
        deep=deep,
        limit=limit,
        per_document=per_document,
        half_life=half_life,
        min_score=min_score,
        budget=budget,
    )
    show_found(found, json, jsonl, envelope)


def why(
    id: Annotated[str, typer.Argument(metavar="ID")],
    words: Words = None,
    limit: Limit = None,
    tags: Tags = None,
    topics: Topics = None,
    keys: Keys = None,
    kinds: Kinds = None,
    paths: Paths = None,
    since: Since = "",
    until: Until = "",
    namespace: Namespace = "",
    surface: Surface = "all",
    include_superseded: Superseded = False,
    lanes: Lanes = "both",
    min_score: MinScore = None,
    json: Json = False,
) -> None:
    """Explain a note's rank in the results of QUERY, or its absence. Exit 0 if it is among them, 1 if not."""
    found = session.client().call(
        "why",
        id=id,
        query=query_text(words),
        tags=split(tags),
        topics=split(topics),
        keys=split(keys),
        kinds=split(kinds),
        paths=paths or [],
        since=since,
        until=until,
        namespace=namespace,
        surface=surface,
        include_superseded=include_superseded,
        lanes=lanes,
        limit=limit,
        min_score=min_score,
    )
    show(found, json, lambda: why_lines(found))
    leave(0 if found["found"] else 1)


def query_text(words: list[str] | None) -> str:
    """The words of a query as one text; UsageError for what looks like a misspelt option."""
    for word in words or ():
        if word.startswith("--") and len(word) > 2:
            refuse(f"There is no option {word}.")
    return " ".join(read_stdin() if word == "-" else word for word in words or ())


def show_found(found: dict[str, Any], json: bool, jsonl: bool, envelope: bool) -> None:
    """Print an envelope as was asked for, say what weakened it, and end with 1 if it is empty."""
    for weakness in found["degraded"]:
        session.say(f"degraded: {weakness}")
    results = found["results"]
    if envelope:
        print_json(found)
    elif jsonl:
        print_jsonl(results)
    elif json:
        print_json(results)
    else:
        print_hits(results)
        if not results:
            session.say("nothing found")
    leave(0 if results else 1)
