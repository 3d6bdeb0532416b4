"""Evaluation sets: what to search in, what to ask, and what ought to be found. Reads files, writes none."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """A text that becomes one note. `unit` is what finding it counts as: in multi-hop sets its title, else its id."""

    unit: str
    title: str
    text: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the grades of the units that answer it; `kind` is the set's own word for what sort it is."""

    text: str
    gold: Mapping[str, int]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents that become one store, and the questions asked of it."""

    documents: Sequence[Document]
    questions: Sequence[Question]


class Missing(Exception):
    """The files of a set are not in the data folder."""


# --- files ---


def rows(path: Path) -> list[Row]:
    """The objects of a JSON Lines file, or of one JSON array; packed with gzip or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def named(data: Path, stem: str) -> list[Row]:
    """The rows of every file below `data` whose name begins with `stem`, in order of path."""
    files = [path for path in sorted(data.rglob(f"{stem}*")) if re.search(r"\.jsonl?(\.gz)?$", path.name)]
    if not files:
        raise Missing(f"There is no file {stem}*.jsonl under {data}.")
    return [row for path in files for row in rows(path)]


# --- BEIR ---


def beir(data: Path, name: str, limit: int | None) -> list[Pool]:
    """One pool: the whole corpus, and the queries that have relevant documents."""
    folder = data / name
    grades = _grades(folder)
    texts = {str(row["_id"]): str(row["text"]) for row in named(folder, "queries")}
    questions = [Question(texts[id_], gold) for id_, gold in grades.items() if id_ in texts]
    documents = [Document(str(row["_id"]), str(row.get("title") or ""), str(row["text"])) for row in named(folder, "corpus")]
    return [Pool(documents, questions[:limit])]


def _grades(folder: Path) -> dict[str, dict[str, int]]:
    """{query id: {document id: grade}} of `qrels*.tsv` or `qrels/*.tsv`, grades above 0 only."""
    files = sorted([*folder.glob("qrels*.tsv"), *folder.glob("qrels/*.tsv")])
    if not files:
        raise Missing(f"There is no file qrels.tsv in {folder}.")
    grades: dict[str, dict[str, int]] = {}
    for path in files:
        with path.open(encoding="utf-8", newline="") as file:
            for query, document, grade in csv.reader(file, delimiter="\t"):
                if grade.strip().isdigit() and int(grade) > 0:
                    grades.setdefault(query, {})[document] = int(grade)
    return grades


# --- multi-hop ---


def each(data: Path, name: str, limit: int | None) -> list[Pool]:
    """A pool for each question, of its own paragraphs alone."""
    return [Pool(list(_paragraphs([row])), [_hop_question(row)]) for row in named(data, name)[:limit]]


def pooled(data: Path, name: str, limit: int | None) -> list[Pool]:
    """One pool: the distinct paragraphs of all questions. With a limit, those of the first questions."""
    found = named(data, name)[:limit]
    return [Pool(list(_paragraphs(found)), [_hop_question(row) for row in found])]


def _paragraphs(found: Iterable[Row]) -> Iterator[Document]:
    seen = set()
    for row in found:
        for paragraph in row["paragraphs"]:
            title, text = str(paragraph["title"]), str(paragraph["text"])
            if (title, text) not in seen:
                seen.add((title, text))
                yield Document(title, title, text, tuple(paragraph.get("keys", ())))


def _hop_question(row: Row) -> Question:
    return Question(str(row["question"]), dict.fromkeys(row["gold"], 1), str(row.get("type", "")))


# --- conversations ---


def longmemeval(data: Path, name: str, limit: int | None) -> list[Pool]:
    """A pool for each question that has an answer: its sessions, a heading a turn."""
    answered = [row for row in named(data, name) if not str(row["question_id"]).endswith("_abs")]
    return [Pool(list(_sessions(row)), [_session_question(row)]) for row in answered[:limit]]


def _sessions(row: Row) -> Iterator[Document]:
    seen = set()
    for id_, date, turns in zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True):
        if id_ not in seen:
            seen.add(id_)
            text = "\n\n".join(f"## {turn['role']}\n\n{turn['content']}" for turn in turns)
            yield Document(id_, f"Conversation of {date}", text)


def _session_question(row: Row) -> Question:
    return Question(str(row["question"]), dict.fromkeys(row["answer_session_ids"], 1), str(row.get("question_type", "")))


UNANSWERABLE = 5
"""LoCoMo's category of questions whose answer the conversation does not hold."""


def locomo(data: Path, name: str, limit: int | None) -> list[Pool]:
    """A pool for each conversation: its turns, and the questions that have evidence in it."""
    left = limit
    pools = []
    for row in named(data, name):
        turns = list(_turns(row["conversation"]))
        pool = Pool(turns, list(_turn_questions(row["qa"], {turn.unit for turn in turns}))[:left])
        left = None if left is None else left - len(pool.questions)
        if pool.questions:
            pools.append(pool)
    return pools


def _turns(conversation: Row) -> Iterator[Document]:
    for name, turns in conversation.items():
        if re.fullmatch(r"session_\d+", name):
            date = conversation[f"{name}_date_time"]
            for turn in turns:
                photo = f"\n\nPhoto: {turn['blip_caption']}" if turn.get("blip_caption") else ""
                yield Document(turn["dia_id"], f"{turn['speaker']}, {date}", turn["text"] + photo)


def _turn_questions(found: Iterable[Row], turns: set[str]) -> Iterator[Question]:
    for row in found:
        evidence = re.findall(r"D\d+:\d+", " ".join(row.get("evidence", ())))
        gold = dict.fromkeys([turn for turn in evidence if turn in turns], 1)
        if gold and row["category"] != UNANSWERABLE:
            yield Question(str(row["question"]), gold, str(row["category"]))
