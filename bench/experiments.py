"""The table of experiments: which set, pooled how, measured by what, and the mark it is to reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench import sets
from bench.metrics import Measure
from bench.sets import Pool

Loader = Callable[[Path, str, int | None], list[Pool]]


def _measures(names: str, kinds: str = "") -> tuple[Measure, ...]:
    return tuple(Measure(name, kind) for name in names.split() for kind in kinds.split() or [""])


@dataclass(frozen=True)
class Experiment:
    """One set, asked in one way; `stem` is what its files' names begin with. `hops`: an answer hangs on several notes."""

    name: str
    stem: str
    load: Loader
    measures: tuple[Measure, ...]
    marks: Mapping[str, float] = field(default_factory=dict)
    hops: bool = False

    @property
    def is_one_store(self) -> bool:
        """Whether all its questions are asked of one store."""
        return self.load in (sets.beir, sets.pooled)


_HOTPOT = _measures("both@5 both@10", "bridge comparison") + _measures("recall@5")
_HOPS = _measures("recall@5 both@5 both@10")

EXPERIMENTS = (
    Experiment("scifact", "scifact", sets.beir, _measures("nDCG@10 recall@10"), {"nDCG@10": 0.73}),
    Experiment("nfcorpus", "nfcorpus", sets.beir, _measures("nDCG@10 recall@10")),
    Experiment("hotpotqa", "hotpotqa", sets.pooled, _HOTPOT, {"both@5 bridge": 0.85, "both@5 comparison": 0.90}, hops=True),
    Experiment("hotpotqa-each", "hotpotqa", sets.each, _HOTPOT, hops=True),
    Experiment("hotpot_keys-each", "hotpot_keys", sets.each, _HOPS, hops=True),
    Experiment("musique", "musique", sets.pooled, _HOPS, hops=True),
    Experiment("musique-each", "musique", sets.each, _HOPS, hops=True),
    Experiment("2wiki", "2wiki", sets.pooled, _HOPS, hops=True),
    Experiment("2wiki-each", "2wiki", sets.each, _HOPS, hops=True),
    Experiment(
        "longmemeval",
        "longmemeval",
        sets.longmemeval,
        _measures("recall_any@5 recall_all@10"),
        {"recall_any@5": 0.97, "recall_all@10": 0.95},
    ),
    Experiment("locomo", "locomo", sets.locomo, _measures("recall@5 nDCG@10"), {"recall@5": 0.66}),
)


def chosen(names: list[str]) -> list[Experiment]:
    """The experiments of these names, a set's name standing for all its ways; all of them without a name."""
    return [one for one in EXPERIMENTS if not names or one.name in names or one.stem in names]
