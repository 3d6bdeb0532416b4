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


def why_lines(found: dict[str, Any]) -> Iterator[str]:
    """The explanation of a rank, for people."""
    if found["found"]:
        yield f"{found['title']}: rank {found['rank']}, {found['lane']} lane, relevance {found['score']:.2f}"
    else:
        yield f"{found['title']}: not among the results"
    for leg, place in found["legs"].items():
        if place is None:
            yield f"  {leg:<8}did not run"
        elif place["rank"] is None:
            yield f"  {leg:<8}does not have it"
        else:
            yield f"  {leg:<8}rank {place['rank']} of {place['of']}, {'BM25' if leg == 'text' else 'cosine'} {place['score']:.3g}"
    words = found["legs"]["text"]["words"]
    for told, stands in (("has", True), ("lacks", False)):
        if some := [word for word, there in words.items() if there == stands]:
            yield f"  {told:<8}{', '.join(some)}"
    for lane in ("direct", "linked"):
        if place := found[lane]:
            way = "; ".join(f"{kind} {name}" for step in place["via"] for kind, name in step.items())
            yield f"  {lane:<8}rank {place['rank']} of {place['of']}, score {place['score']:.2f}" + (f" (by {way})" if way else "")
    yield from (f"  because {reason}" for reason in found["reasons"])
