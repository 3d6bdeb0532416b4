"""What was measured beside its mark, and how time and memory are taken."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value; `more` says that the mark is a least, else it is a most."""

    what: str
    value: float
    unit: str
    mark: float | None = None
    more: bool = False
    note: str = ""


def seconds(work: Callable[[], object]) -> float:
    """How long it takes once."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def medians(works: Mapping[str, Callable[[], object]], times: int) -> dict[str, float]:
    """The median seconds of each, taken in turns so that a busy machine is busy for all of them."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(times):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return {name: median(values) for name, values in taken.items()}


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """The 50th and the 95th."""
    return float(np.percentile(values, 50)), float(np.percentile(values, 95))


def in_ms(what: str, values: Iterable[float], marks: tuple[float | None, float | None] = (None, None), note: str = "") -> list[Row]:
    """Rows for the 50th and 95th percentile of some seconds, in milliseconds."""
    p50, p95 = percentiles(list(values))
    return [Row(f"{what}, p50", p50 * 1000, "ms", marks[0], note=note), Row(f"{what}, p95", p95 * 1000, "ms", marks[1], note=note)]


def program(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Callable[[], str]:
    """A program that is run each time it is called, and gives what it printed; an exit code above 1 is an error."""

    def run() -> str:
        done = subprocess.run(command, env=dict(environment), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode > 1:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    return run
