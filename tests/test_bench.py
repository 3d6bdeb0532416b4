"""The benchmarks' own arithmetic, loaders and stores, on cases small enough to check by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import __main__ as command
from bench import experiments, nonsense, quality, report, sets, stores, texts
from bench.baselines import Words, reciprocal
from bench.experiments import Experiment
from bench.metrics import Measure, found_all, found_any, ndcg, randomisation, recall, sign_test
from bench.sets import Document, Missing, Question
from bench.timing import Row, in_ms, medians

PARAGRAPHS = [
    {"title": "Otters", "text": "Otters live in the rivers of Norland."},
    {"title": "Norland", "text": "The capital of Norland is Vester."},
    {"title": "Bees", "text": "Bees make honey from nectar in spring."},
    {"title": "Lanterns", "text": "Lanterns were lit along the harbour every night."},
]
HOP = {
    "id": "q1",
    "question": "What is the capital of the land where otters live?",
    "answer": "Vester",
    "type": "bridge",
    "gold": ["Otters", "Norland", "Otters"],
    "paragraphs": PARAGRAPHS,
}


def lines(path: Path, rows: Iterable[Any]) -> None:
    """Put rows as JSON Lines, packed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


# --- measures ---


def test_ndcg() -> None:
    """Gains are discounted by place and divided by the best order's; a missing document costs its gain."""
    gold = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], gold, 10) == pytest.approx(1)
    assert ndcg(["b", "a"], gold, 10) == pytest.approx((1 + 2 / 1.584963) / (2 + 1 / 1.584963), abs=1e-6)
    assert ndcg(["x", "a"], gold, 10) == pytest.approx((2 / 1.584963) / (2 + 1 / 1.584963), abs=1e-6)
    assert ndcg(["x", "a"], gold, 1) == 0


def test_shares() -> None:
    """Recall is a share, all and any are yes or no, each among the first results alone."""
    gold = {"a": 1, "b": 1}
    assert recall(["a", "x", "b"], gold, 2) == 0.5
    assert (found_all(["a", "x", "b"], gold, 2), found_all(["a", "x", "b"], gold, 3)) == (0, 1)
    assert (found_any(["x", "a"], gold, 1), found_any(["x", "a"], gold, 2)) == (0, 1)


def test_sign_test() -> None:
    """Eight wins and one loss are p = 20 / 512; equal scores tell nothing; sides do not matter."""
    ours, theirs = [1.0] * 8 + [0.0] + [1.0] * 5, [0.0] * 8 + [1.0] + [1.0] * 5
    assert sign_test(ours, theirs) == pytest.approx(20 / 512)
    assert sign_test(theirs, ours) == pytest.approx(20 / 512)
    assert sign_test([1.0, 0.0], [1.0, 0.0]) == 1
    assert sign_test([1.0] * 3000, [0.0] * 1500 + [1.0] * 1500) < 1e-300


def test_randomisation() -> None:
    """Ten differences of one sign are as large as by chance twice in 1,024 times; the same call gives the same p."""
    ours, theirs = [0.9] * 10, [0.4] * 10
    assert randomisation(ours, theirs) == pytest.approx(2 / 1024, abs=0.001)
    assert randomisation(ours, theirs) == randomisation(theirs, ours)
    assert randomisation([0.5, 0.3], [0.3, 0.5]) == 1
    assert randomisation(ours, ours) == 1


def test_measures_know_their_test() -> None:
    """A measure of yes and no is tested by signs, a mean by randomisation; a kind is part of the name."""
    assert Measure("both@5", "bridge").title == "both@5 bridge"
    assert Measure("both@5").is_count and Measure("recall_any@5").is_count
    assert not Measure("recall@5").is_count
    assert Measure("both@5").p([1, 1, 1], [0, 0, 0]) == 0.25


# --- sets ---


def test_beir(tmp_path: Path) -> None:
    """A corpus, its queries with grades above 0, whether the grades lie beside them or in a folder."""
    lines(tmp_path / "tiny" / "corpus.jsonl.gz", [{"_id": "d1", "title": "One", "text": "first"}, {"_id": "d2", "text": "second"}])
    lines(tmp_path / "tiny" / "queries.jsonl", [{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "unjudged"}])
    (tmp_path / "tiny" / "qrels").mkdir()
    (tmp_path / "tiny" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n", encoding="utf-8")
    [pool] = sets.beir(tmp_path, "tiny", None)
    assert [document.unit for document in pool.documents] == ["d1", "d2"]
    assert pool.questions == [Question("first?", {"d1": 2})]
    (tmp_path / "tiny" / "qrels" / "test.tsv").unlink()
    with pytest.raises(Missing):
        sets.beir(tmp_path, "tiny", None)


def test_hops(tmp_path: Path) -> None:
    """Pooled, paragraphs that are the same in title and text are one; apart, each question has its own store."""
    second = {
        **HOP,
        "question": "What do bees make?",
        "gold": ["Bees"],
        "type": "comparison",
        "paragraphs": [*PARAGRAPHS[2:], {"title": "Bees", "text": "A band."}],
    }
    lines(tmp_path / "multihop" / "tiny.jsonl", [HOP, second])
    [pool] = sets.pooled(tmp_path, "tiny", None)
    assert [document.title for document in pool.documents] == ["Otters", "Norland", "Bees", "Lanterns", "Bees"]
    assert pool.questions[0] == Question(HOP["question"], {"Otters": 1, "Norland": 1}, "bridge")
    assert [len(one.documents) for one in sets.each(tmp_path, "tiny", None)] == [4, 3]
    assert len(sets.pooled(tmp_path, "tiny", 1)[0].documents) == 4


def test_sessions(tmp_path: Path) -> None:
    """A session is a note with a heading a turn; a question without an answer is left out, a session twice is one."""
    row = {
        "question_id": "1",
        "question_type": "t",
        "question": "Where?",
        "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_dates": ["d1", "d2", "d1"],
        "haystack_sessions": [[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]] * 3,
    }
    lines(tmp_path / "longmemeval_s.jsonl.gz", [row, {**row, "question_id": "2_abs"}])
    [pool] = sets.longmemeval(tmp_path, "longmemeval", None)
    assert [document.unit for document in pool.documents] == ["s1", "s2"]
    assert pool.documents[0].text == "## user\n\nHello\n\n## assistant\n\nHi"
    assert pool.questions == [Question("Where?", {"s2": 1}, "t")]


def test_turns(tmp_path: Path) -> None:
    """A turn is a note of its own; evidence is read however it is joined, unanswerable questions are left out."""
    said = {"speaker": "Ann", "text": "I moved."}
    conversation = {
        "speaker_a": "Ann",
        "session_1_date_time": "1 May",
        "session_1": [{**said, "dia_id": "D1:1"}, {**said, "dia_id": "D1:2", "blip_caption": "a house"}],
    }
    asked = [
        {"question": "Who moved?", "evidence": ["D1:1; D1:2", "D9:9"], "category": 1},
        {"question": "Who sang?", "evidence": ["D1:1"], "category": 5},
        {"question": "Why?", "evidence": [], "category": 4},
    ]
    (tmp_path / "locomo1.json").write_text(json.dumps([{"conversation": conversation, "qa": asked}]), encoding="utf-8")
    [pool] = sets.locomo(tmp_path, "locomo", None)
    assert pool.questions == [Question("Who moved?", {"D1:1": 1, "D1:2": 1}, "1")]
    assert pool.documents[1] == Document("D1:2", "Ann, 1 May", "I moved.\n\nPhoto: a house")


def test_missing_sets_are_named(tmp_path: Path) -> None:
    """A set that is not there is told by the name of its file."""
    with pytest.raises(Missing, match=r"tiny\*\.jsonl"):
        sets.each(tmp_path, "tiny", None)


# --- systems ---


def test_words_are_stemmed_and_ranked() -> None:
    """The baseline finds any word, in title or text, in any form; a query of signs finds nothing."""
    words = Words([Document("a", "Running", "shoes"), Document("b", "", "A runner ran."), Document("c", "Tea", "leaves")])
    assert words.rank("runs") == [0]
    assert sorted(words.rank("leaf leaves, running")) == [0, 2]
    assert words.rank("?!") == []


def test_reciprocal_ranks() -> None:
    """What both rankings have comes first; the higher rank decides between the others."""
    assert reciprocal([[1, 2], [2, 3]]) == [2, 1, 3]


def test_a_pool_is_a_real_store(tmp_path: Path) -> None:
    """An experiment writes notes, searches them with okl and the baselines, and scores them question by question."""
    lines(tmp_path / "tiny.jsonl", [HOP])
    experiment = Experiment(
        "tiny", "tiny", sets.pooled, (Measure("both@5", "bridge"), Measure("recall@5")), {"both@5 bridge": 0.5}, hops=True
    )
    with stores.bench(tmp_path / "cache", "hash:") as bench:
        outcome = quality.run(experiment, tmp_path, bench, None, lambda _message: None)
    assert [system.name for system in outcome.systems] == ["okl", "okl, direct lane", "BM25", "dense", "RRF"]
    assert outcome.counts == {"both@5 bridge": 1, "recall@5": 1}
    assert outcome.systems[3].means == {"both@5 bridge": 1, "recall@5": 1}
    assert (outcome.documents, outcome.stores, outcome.by_title, outcome.missed) == (4, 1, 1, [])
    assert list(outcome.refused) == list(nonsense.queries(3))
    shown = report.quality_table(report.quality_data(outcome, report.stamp())).markdown()
    assert "both@5 bridge (n = 1)" in shown and "| mark | 50.0, " in shown


def test_notes_are_told_from_their_path_alone(tmp_path: Path) -> None:
    """A title of any characters stays what it is, keys go along, and a document without either has no properties."""
    with stores.bench(None, "none") as bench:
        knowledge = bench.open(tmp_path / "store")
        for place, document in enumerate([Document("a", 'A "title": [x] # y', "text", ("Ann", "b: c")), Document("b", "", "alone")]):
            (tmp_path / "store" / stores.name(place)).write_text(stores.markdown(document), encoding="utf-8")
        [note] = knowledge.get(["000000"])
    assert (note["title"], note["properties"]["keys"], note["problems"]) == ('A "title": [x] # y', ["Ann", "b: c"], [])
    assert stores.markdown(Document("b", "", "alone")) == "alone\n"


def test_chosen() -> None:
    """A set's name stands for all its ways, a way's name for itself, and no name for everything."""
    assert [one.name for one in experiments.chosen(["musique"])] == ["musique", "musique-each"]
    assert [one.name for one in experiments.chosen(["musique-each"])] == ["musique-each"]
    assert experiments.chosen([]) == list(experiments.EXPERIMENTS)


def test_nonsense_is_the_same_every_time() -> None:
    """As many queries as wanted, none like another run's by chance, none empty."""
    made = nonsense.queries(200)
    assert made == nonsense.queries(200)
    assert sum(map(len, made.values())) == 200
    assert all(query.strip() for some in made.values() for query in some)


# --- speed and reports ---


def test_texts_are_notes(tmp_path: Path) -> None:
    """Notes of about a kilobyte with tags, lists, code, and links that lead somewhere; the same seed, the same notes."""
    texts.write_all(tmp_path, 30)
    text = (tmp_path / texts.path(7)).read_text(encoding="utf-8")
    assert 700 < len(text) < 1500
    assert all(mark in text for mark in ("\ntags: [", "\n- ", "```python", "[[Note 0000"))
    again = tmp_path / "again"
    texts.write_all(again, 30)
    assert (again / texts.path(7)).read_text(encoding="utf-8") == text


def test_times() -> None:
    """Percentiles come in milliseconds, works take turns."""
    turns: list[str] = []
    assert [(row.what, row.value, row.mark) for row in in_ms("x", [0.001] * 9, (2, None))] == [("x, p50", 1.0, 2), ("x, p95", 1.0, None)]
    medians({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, 2)
    assert turns == ["a", "b", "a", "b"]


def test_marks_are_met_or_not() -> None:
    """A most is met at or below it, a least at or above it."""
    rows = [Row("a", 2, "s", 2), Row("b", 2.1, "s", 2), Row("c", 1600, "notes/s", 1500, more=True), Row("d", 1, "s")]
    shown = report.speed_table(report.speed_data(rows, report.stamp()))
    assert [row[3] for row in shown.rows] == ["yes", "no", "yes", ""]
    assert shown.rows[2][1:3] == ["1,600 notes/s", "at least 1,500 notes/s"]


def test_the_page_keeps_what_other_runs_gave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of one set replaces that set's results and leaves the others."""
    monkeypatch.setattr(report, "RECORDED", tmp_path / "results.json")
    outcome = {
        "name": "x",
        "counts": {},
        "systems": [],
        "marks": {},
        "documents": 1,
        "stores": 1,
        "embedding": "none",
        "answered": 1.0,
        "questions": 1,
    }
    outcome |= {"by_title": None, "refused": {}, "run": report.stamp()}
    report.record("quality", {"x": outcome})
    report.record("quality", {"y": {**outcome, "name": "y"}})
    report.record("speed", report.speed_data([Row("a", 1, "s")], report.stamp()))
    shown = report.page(report.recorded())
    assert shown.index("### x") < shown.index("### y") < shown.index("### Speed")


def test_the_command(tmp_path: Path) -> None:
    """JSON on stdout; a set without its files is left out; a run of some questions only is not recorded."""
    lines(tmp_path / "musique.jsonl", [HOP])
    run = CliRunner()
    asked = [
        "quality",
        "--set",
        "musique-each",
        "--set",
        "locomo",
        "--data",
        str(tmp_path),
        "--embedding",
        "hash:",
        "--limit",
        "1",
        "--json",
    ]
    done = run.invoke(command.app, asked)
    assert done.exit_code == 0
    assert [one["name"] for one in json.loads(done.stdout)] == ["musique-each"]
    assert "locomo is left out" in done.stderr
    assert run.invoke(command.app, [*asked, "--write", str(tmp_path / "page.md")]).exit_code == 2
    assert run.invoke(command.app, ["quality", "--set", "nothing", "--data", str(tmp_path)]).exit_code == 2
