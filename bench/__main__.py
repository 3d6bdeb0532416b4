"""`python -m bench quality | speed | page`."""

from __future__ import annotations

import json as json_format
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench import experiments, quality, report, speed
from bench.sets import Missing
from bench.stores import bench

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
told = Console(stderr=True)
shown = Console()

BESIDE = report.ROOT.parent / "shared" / "data"
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Write = Annotated[Path | None, typer.Option(help="Record the results in bench/results.json, and write the page of all recorded ones here.")]
Cache = Annotated[Path | None, typer.Option(help="Keep vectors here between runs.")]
Embedding = Annotated[str, typer.Option(help="The embedding model, as in the setting of this name.")]


@app.command("quality")
def quality_command(
    set: Annotated[list[str] | None, typer.Option(help="Only this set, or this way of asking it; may be repeated.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder of the sets; else $OKL_BENCH_DATA.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions of each set, to try things out.")] = None,
    json: Json = False,
    cache: Cache = None,
    embedding: Embedding = "builtin:minilm",
    write: Write = None,
) -> None:
    """How well okl finds, beside BM25, vectors and RRF."""
    if write and limit:
        raise typer.BadParameter("results of some questions only are not recorded: leave out --write or --limit.")
    folder, run, found = _data(data), report.stamp(), {}
    with bench(cache, embedding) as stores:
        for experiment in _chosen(set or []):
            try:
                outcome = report.quality_data(quality.run(experiment, folder, stores, limit, _say), run)
            except Missing as missing:
                told.print(f"{experiment.name} is left out: {missing}")
                continue
            found[experiment.name] = outcome
            if write:
                report.record("quality", {experiment.name: outcome})
            if not json:
                shown.print(report.quality_table(outcome).rich())
    _end(list(found.values()), json, write)


@app.command("speed")
def speed_command(
    notes: Annotated[int, typer.Option(min=200, help="Notes in a store.")] = 10_000,
    chunks: Annotated[int, typer.Option(min=2000, help="Vectors in the search of vectors alone.")] = 100_000,
    json: Json = False,
    cache: Cache = None,
    embedding: Embedding = "builtin:minilm",
    write: Write = None,
) -> None:
    """How fast okl is, each thing beside its mark."""
    with bench(cache, embedding) as stores:
        found = report.speed_data(speed.run(stores, speed.Sizes(notes, chunks), _say), report.stamp())
    if write:
        report.record("speed", found)
    if not json:
        shown.print(report.speed_table(found).rich())
    _end(found, json, write)


@app.command("page")
def page_command(write: Annotated[Path, typer.Option(help="Where the page goes.")] = report.ROOT / "docs" / "benchmarks.md") -> None:
    """Write the page of what is recorded."""
    write.write_text(report.page(report.recorded()), encoding="utf-8")


def _data(named: Path | None) -> Path:
    folder = named or Path(os.environ.get("OKL_BENCH_DATA") or BESIDE)
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: name the one of the sets with --data or OKL_BENCH_DATA.")
    return folder


def _chosen(names: list[str]) -> list[experiments.Experiment]:
    found = experiments.chosen(names)
    if not found:
        raise typer.BadParameter(f"there is no such set; there are {', '.join(one.name for one in experiments.EXPERIMENTS)}.")
    return found


def _say(message: str) -> None:
    told.print(message, style="dim", highlight=False)


def _end(found: Any, json: bool, write: Path | None) -> None:
    if json:
        shown.print_json(json_format.dumps(found, ensure_ascii=False))
    if write:
        write.write_text(report.page(report.recorded()), encoding="utf-8")


if __name__ == "__main__":
    app()
