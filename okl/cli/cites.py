"""`ok cite`: citations that can be checked."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from okl.citing import EXIT
from okl.cli.terminal import (
    DryRun,
    Json,
    Jsonl,
    Tags,
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

app = typer.Typer(help="Cites: make, verify, open, list.", no_args_is_help=True)
Targets = Annotated[
    list[str],
    typer.Argument(metavar="TARGET…", help="A path or id, path:L10-20, id#Heading, id#^block, a handle; - for search results on stdin."),
]
Retention = Annotated[str | None, typer.Option("--retention", "--retention-class", help="temp, standard, durable or pinned.")]


@app.command()
def make(
    targets: Targets,
    lines: Annotated[str | None, typer.Option("--lines", help="Lines of the file, as 100-120.")] = None,
    chars: Annotated[str | None, typer.Option("--chars", help="Characters of the text, as 7231-7615.")] = None,
    quote: Annotated[str | None, typer.Option("--quote", help="The words themselves.")] = None,
    tags: Tags = None,
    retention: Retention = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Save a cite of a passage and print its address. The same span gives the same cite."""
    named = [target for given in targets for target in (_handles(read_stdin()) if given == "-" else [given])]
    if not named:
        leave(1)
    made = session.client().call(
        "cite_make", targets=named, lines=lines, chars=chars, quote=quote, tags=split(tags), retention=retention, dry_run=dry_run
    )
    if json:
        print_json(one_or_all(made, named))
        return
    for cite in made:
        print(cite["uri"])


def _handles(text: str) -> list[str]:
    """The handles in search results (a JSON array, an envelope, JSON lines), or one target a line."""
    stripped = text.strip()
    if not stripped.startswith(("[", "{")):
        return [line.strip() for line in stripped.splitlines() if line.strip()]
    try:
        told = json_module.loads(stripped)
    except ValueError:
        try:
            told = [json_module.loads(line) for line in stripped.splitlines() if line.strip()]
        except ValueError:
            refuse("What came on stdin is no JSON of search results.")
    rows = told.get("results", [told]) if isinstance(told, dict) else told
    if not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in rows):
        refuse("What came on stdin is no JSON of search results: a row has no id.")
    return [str(row.get("target") or row["id"]) for row in rows]


@app.command()
def verify(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID|URI…", show_default=False)] = None,
    all: Annotated[bool, typer.Option("--all", help="Every saved cite.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Write the verdict into the cite.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Let moved and changed cites point where their words stand now.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """Say how cites stand: exact, moved, changed, ambiguous or lost. Exit 0, 3 (changed, ambiguous), 4 (lost), 1 (unknown)."""
    named = [id_ for given in ids or () for id_ in (read_stdin().split() if given == "-" else [given])]
    if ids and not named and not all:
        leave(1)
    found = session.client().call("cite_verify", ids=named, all=all, record=record, fix=fix)
    if jsonl:
        print_jsonl(found)
    else:
        show(one_or_all(found, named), json, lambda: (line for row in found for line in _verdict_lines(row)))
    leave(max((EXIT[row["verdict"]] for row in found), default=0))


def _verdict_lines(row: dict[str, Any]) -> Iterator[str]:
    if row["verdict"] == "unknown":
        yield f"{row['id']}\tunknown\t{row['reason']}"
        return
    place = f"{row['path']}:{row['loc']['lines'][0]}-{row['loc']['lines'][1]}" if row["loc"] else row["path"] or "-"
    told = [row["reason"]] if row["reason"] else []
    told += [f"the words stand in {', '.join(row['elsewhere'])}"] if row["elsewhere"] else []
    more = f"\t{'; '.join(told)}" if told else ""
    yield f"{row['id']}\t{row['verdict']}\t{row['similarity']:.2f}\t{place}{more}"
    if row["diff"]:
        yield "  " + " ".join({"=": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}[kind].format(words) for kind, words in row["diff"])


@app.command("open")
def open_(id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False) -> None:
    """Show the cited passage as it stands now, with its lines."""
    found = session.client().call("cite_open", id=id)
    show(found, json, lambda: _passage_lines(found))
    leave(EXIT[found["verdict"]])


def _passage_lines(found: dict[str, Any]) -> Iterator[str]:
    source = (found["source"] or {}).get("url") or ""
    page = f", page {found['loc']['page']}" if found["loc"] and found["loc"]["page"] else ""
    yield f"{found['title']}{page}  {source}".rstrip()
    yield f"{found['path'] or '-'}  {found['verdict']}"
    if not found["lines"]:
        yield f"  “{found['quote']}”"
    for row in found["lines"]:
        start, end = row["mark"]
        text = visible(row["text"])
        if start < end and is_terminal():
            text = f"{text[:start]}\x1b[7m{text[start:end]}\x1b[0m{text[end:]}"
        yield f"{row['line']:>6} {'>' if start < end else ' '} {text}"


@app.command("list")
def list_(
    status: Annotated[str, typer.Option("--status", help="Only cites with this verdict.")] = "",
    doc: Annotated[str, typer.Option("--doc", help="Only cites of this document.")] = "",
    tags: Tags = None,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List saved cites. Exit 1 if there are none."""
    found = session.client().call("cite_list", status=status, doc=doc, tags=split(tags))
    if jsonl:
        print_jsonl(found)
    else:
        show(found, json, lambda: (_cite_line(row) for row in found))
    leave(0 if found else 1)


def _cite_line(row: dict[str, Any]) -> str:
    low, high = row["loc"]["lines"]
    quote = " ".join(row["quote"].split())
    return f"{row['id']}\t{row['path']}:{low}-{high}\t{quote[:70] + ('…' if len(quote) > 70 else '')}"
