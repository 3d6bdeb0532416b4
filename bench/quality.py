"""How well okl finds: each experiment run on real stores, ours beside the baselines of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import nonsense
from bench.experiments import Experiment
from bench.metrics import Measure, Ranking, mean
from bench.sets import Pool, Question
from bench.stores import Bench, Searched

OURS = "okl"
TITLES = 500
NONSENSE = 200
STORES_A_MESSAGE = 20
Say = Callable[[str], None]


@dataclass(frozen=True)
class System:
    """What one way of searching scored: means by measure, and against it the p of ours being another."""

    name: str
    means: dict[str, float]
    p: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one experiment gave. Shares are None where they were not measured."""

    name: str
    embedding: str
    counts: dict[str, int]  # questions by measure
    questions: int
    documents: int
    stores: int
    systems: list[System]
    marks: dict[str, float]
    answered: float
    by_title: float | None
    titles: int
    missed: list[str]
    refused: dict[str, float]
    seconds: float


def run(experiment: Experiment, data: Path, bench: Bench, limit: int | None, say: Say) -> Outcome:
    """Ask every question of an experiment; Missing without its files."""
    started = time.perf_counter()
    pools = experiment.load(data, experiment.stem, limit)
    questions = [question for pool in pools for question in pool.questions]
    rankings: dict[str, list[Ranking]] = {}
    checks = Checks(None, 0, [], {})
    for done, pool in enumerate(pools, 1):
        if done % STORES_A_MESSAGE == 1:
            say(f"{experiment.name}: store {done} of {len(pools)}, {len(pool.documents)} documents")
        with bench.store(pool) as store:
            for system, found in _asked(store, pool, experiment.hops):
                rankings.setdefault(system, []).extend(found)
            if experiment.is_one_store:
                checks = checked(store, pool)
    return Outcome(
        experiment.name,
        bench.embedding,
        {measure.title: len(list(_concerned(measure, questions))) for measure in experiment.measures},
        len(questions),
        sum(len(pool.documents) for pool in pools),
        len(pools),
        systems(experiment.measures, questions, rankings),
        dict(experiment.marks),
        mean([float(bool(ranking)) for ranking in rankings[OURS]]),
        checks.by_title,
        checks.titles,
        checks.missed,
        checks.refused,
        round(time.perf_counter() - started, 1),
    )


def _asked(store: Searched, pool: Pool, hops: bool) -> Iterator[tuple[str, list[Ranking]]]:
    """(system, its rankings of the pool's questions)."""
    ways: dict[str, Callable[[str], Ranking]] = {OURS: store.okl}
    if hops and store.has_lanes:
        ways["okl, direct lane"] = store.direct
    ways |= {"BM25": store.bm25, "dense": store.dense, "RRF": store.rrf}
    for name, way in ways.items():
        yield name, [way(question.text) for question in pool.questions]


def systems(measures: Sequence[Measure], questions: Sequence[Question], rankings: dict[str, list[Ranking]]) -> list[System]:
    """The scores of each system, ours first, and how likely each difference to ours is by chance."""
    scores = {
        name: {
            measure: [measure.of(found[place], questions[place].gold) for place in _concerned(measure, questions)] for measure in measures
        }
        for name, found in rankings.items()
    }
    return [
        System(
            name,
            {measure.title: round(mean(of[measure]), 4) for measure in measures},
            {measure.title: round(measure.p(scores[OURS][measure], of[measure]), 4) for measure in measures if name != OURS},
        )
        for name, of in scores.items()
    ]


def _concerned(measure: Measure, questions: Sequence[Question]) -> Iterator[int]:
    """Places of the questions that a measure is taken over."""
    return (place for place, question in enumerate(questions) if measure.kind in ("", question.kind))


@dataclass(frozen=True)
class Checks:
    """What is looked at in one store beside its questions."""

    by_title: float | None
    titles: int
    missed: list[str]
    refused: dict[str, float]


def checked(store: Searched, pool: Pool) -> Checks:
    """How many documents are found by their own titles, and how much nonsense is refused."""
    missed = list(_missed(store, pool))
    titles = len(_sampled(pool))
    refused = {sort: mean([float(not store.places(query)) for query in asked]) for sort, asked in nonsense.queries(NONSENSE).items()}
    return Checks((titles - len(missed)) / titles if titles else None, titles, missed, refused)


def _sampled(pool: Pool) -> range:
    """Places of documents over the whole pool, `TITLES` at the most."""
    return range(0, len(pool.documents), -(-len(pool.documents) // TITLES))


def _missed(store: Searched, pool: Pool) -> Iterator[str]:
    """Titles of sampled documents that are not among the first five results for their own title."""
    for place in _sampled(pool):
        title = pool.documents[place].title
        if title and place not in store.places(title)[:5]:
            yield title
