"""Results as tables, the same on a terminal and on the page in `docs/`, and where they are recorded."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.quality import Outcome
from bench.timing import Row

Data = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
RECORDED = Path(__file__).resolve().parent / "results.json"


def stamp() -> Data:
    """Commit, date and machine of a run; a commit with changes on top of it ends in `+`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "okl") else ""),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{cores} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def quality_data(outcome: Outcome, run: Data) -> Data:
    """An experiment's outcome as it is recorded."""
    return {**asdict(outcome), "run": run}


def speed_data(rows: Iterable[Row], run: Data) -> Data:
    """The rows of a run as they are recorded."""
    return {"run": run, "rows": [asdict(row) for row in rows]}


# --- tables ---


@dataclass(frozen=True)
class Shown:
    """A table with its title and what is said below it."""

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: list[str]

    def rich(self) -> Table:
        """For a terminal."""
        table = Table(*self.head, title=self.title, caption="\n".join(self.notes), title_justify="left", caption_justify="left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For the page."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"### {self.title}\n\n{table}\n\n{' '.join(self.notes)}\n"


def quality_table(outcome: Data) -> Shown:
    """A row a system, one for the marks where there are any, a column a measure."""
    measures = outcome["counts"]
    rows = [[system["name"], *(_score(system, measure) for measure in measures)] for system in outcome["systems"]]
    if outcome["marks"]:
        rows.append(["mark", *(_mark(outcome, measure) for measure in measures)])
    head = ["", *(f"{measure} (n = {count})" for measure, count in measures.items())]
    return Shown(outcome["name"], head, rows, [*_told(outcome), _when(outcome["run"])])


def _score(system: Data, measure: str) -> str:
    p = system["p"].get(measure)
    told = "" if p is None else " (p < .001)" if p < 0.001 else f" (p = {p:.3f})"
    return f"{100 * system['means'][measure]:.1f}{told}"


def _mark(outcome: Data, measure: str) -> str:
    mark = outcome["marks"].get(measure)
    if mark is None:
        return ""
    return f"{100 * mark:.1f}, {'met' if outcome['systems'][0]['means'][measure] >= mark else 'not met'}"


def _told(outcome: Data) -> list[str]:
    """What else is told of an experiment, a sentence each."""
    notes = [f"{outcome['documents']:,} documents in {outcome['stores']:,} stores, {outcome['embedding']}."]
    notes.append(f"{_percent(outcome['answered'])} of {outcome['questions']:,} questions got an answer.")
    if outcome["by_title"] is not None:
        notes.append(f"{_percent(outcome['by_title'])} of {outcome['titles']:,} documents are found by their own title (first five).")
    if outcome["refused"]:
        notes.append(
            f"Nonsense that finds nothing: {', '.join(f'{sort} {_percent(share)}' for sort, share in outcome['refused'].items())}."
        )
    return notes


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _when(run: Data) -> str:
    return f"Commit {run['commit']}, {run['date']}, {run['machine']}."


def speed_table(found: Data) -> Shown:
    """A row for each thing measured, beside its mark."""
    rows = [[_what(row), _value(row["value"], row["unit"]), _limit(row), _met(row)] for row in found["rows"]]
    return Shown("Speed", ["what", "measured", "mark", "met"], rows, [_when(found["run"])])


def _what(row: Data) -> str:
    return f"{row['what']} ({row['note']})" if row["note"] else str(row["what"])


def _value(number: float, unit: str) -> str:
    return f"{number:,.0f} {unit}" if number >= 1000 else f"{number:.3g} {unit}"


def _limit(row: Data) -> str:
    if row["mark"] is None:
        return ""
    return f"{'at least' if row['more'] else 'at most'} {_value(row['mark'], row['unit'])}"


def _met(row: Data) -> str:
    if row["mark"] is None:
        return ""
    return "yes" if (row["value"] >= row["mark"] if row["more"] else row["value"] <= row["mark"]) else "no"


# --- records ---


def record(kind: str, found: Data) -> None:
    """Keep results beside those of other runs: `quality` by the experiment's name, `speed` as a whole."""
    kept = recorded()
    kept[kind] = {**kept.get(kind, {}), **found} if kind == "quality" else found
    RECORDED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded() -> Data:
    """What was recorded so far."""
    return dict(json.loads(RECORDED.read_text(encoding="utf-8"))) if RECORDED.exists() else {}


def page(kept: Data) -> str:
    """The page of recorded results."""
    quality = [quality_table(outcome).markdown() for outcome in kept.get("quality", {}).values()]
    speed = [speed_table(kept["speed"]).markdown()] if "speed" in kept else []
    return "\n".join([INTRO, *quality, *speed])


INTRO = """# Benchmarks

<!-- made by `python -m bench` from bench/results.json -->

`python -m bench quality --data DIR` asks the questions of public sets of real stores: each document is a Markdown file, indexed,
embedded and searched by okl with its default settings, each question exactly as the set has it. Beside okl stand baselines of the
same run over the same texts: BM25 with English stemming over title and text (Tantivy), the same model's vectors alone (a
document's nearest chunk, exact cosine), and both by reciprocal ranks (RRF, k = 60). Figures are per cent. p is how likely a
difference to okl this large is by chance, question by question: an exact sign test where a question scores 0 or 1 (both@k,
recall_any, recall_all), else a randomisation test of 10,000 draws. both@k: all that a question needs stands among the first k.
In the pooled sets of several hops one store holds the paragraphs of all questions; in those ending in `-each` a store holds one
question's own. The sets lie outside this repository, and their licences are their own.

`python -m bench speed` makes notes of its own and measures times and ratios of one run.
"""
