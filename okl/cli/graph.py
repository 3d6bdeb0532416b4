"""Commands about the graph: cypher, stats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from okl.cli.terminal import Json, Jsonl, print_json, print_jsonl, read_stdin, session, show, visible
from okl.reading import to_line

app = typer.Typer(help="The graph: ask it in Cypher, count it.", no_args_is_help=True)


@app.command()
def cypher(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One reading statement; - reads it from stdin.")],
    limit: Annotated[int, typer.Option("--limit", help="Rows at the most.")] = 1000,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds at the most.")] = 10.0,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """Ask the graph; the schema is in docs/graph.md."""
    found = session.client().call("graph_cypher", query=read_stdin() if query == "-" else query, limit=limit, timeout=timeout)
    if found["truncated"]:
        session.say(f"only the first {limit} rows are shown; --limit gives more")
    if json:
        print_json(found["rows"])
    elif jsonl:
        print_jsonl(found["rows"])
    else:
        for line in _table(found["columns"], found["rows"]):
            print(visible(line))


def _table(columns: list[str], rows: list[dict[str, Any]]) -> Iterator[str]:
    """Columns padded to their widest value, two blanks between them."""
    cells = [[value if isinstance(value, str) else to_line(value) for value in row.values()] for row in rows]
    lines = [columns, *([" ".join(cell.split()) for cell in row] for row in cells)]
    widths = [min(60, max(len(line[place]) for line in lines)) for place in range(len(columns))]
    for line in lines:
        yield "  ".join(cell.ljust(wide) for cell, wide in zip(line, widths, strict=True)).rstrip()


@app.command()
def stats(json: Json = False) -> None:
    """How many nodes and edges there are, and what most notes hang on."""
    found = session.client().call("graph_stats")
    show(found, json, lambda: _stats_lines(found))


def _stats_lines(found: dict[str, Any]) -> Iterator[str]:
    for group, value in found.items():
        rows = value.items() if isinstance(value, dict) else ((row.get("label", row.get("name", "")), row) for row in value)
        yield group
        for name, row in rows:
            count = row if isinstance(row, int) else next((part for part in row.values() if isinstance(part, int)), "")
            yield f"  {name!s:<40}{count!s:>8}"
