"""Search results for people: a table on a terminal, `path:line: snippet` in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from okl.cli.terminal import is_terminal, visible, width


def print_hits(results: list[dict[str, Any]]) -> None:
    """Print hits for whoever reads stdout."""
    if is_terminal():
        _print_table(results)
        return
    for line in plain_lines(results):
        print(line)


def plain_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    """One line a hit, as grep prints them."""
    for hit in results:
        yield visible(f"{hit['path']}:{hit['loc']['lines'][0]}: {hit['snippet']}")


def _print_table(results: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 1, 0), show_header=False, width=width())
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(ratio=1)
    for hit in results:
        snippet = Text(visible(hit["snippet"]))
        for start, end in hit["marks"]:
            snippet.stylize("bold yellow", start, end)
        low, high = hit["loc"]["lines"]
        page = f", page {hit['loc']['page']}" if hit["loc"]["page"] else ""
        place = Text(visible(f"{hit['path']}:{low}-{high}{page}"), style="dim")
        table.add_row(f"{hit['score']:.2f}", Text.assemble((visible(hit["title"]), "bold"), "  ", place, "\n", snippet))
    Console().print(table)
