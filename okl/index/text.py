"""The full-text index (Tantivy): what words stand in which chunk. The only file that imports tantivy.

Words are analysed by the language of their note and handed to Tantivy ready made. So all languages
share one field, whose lengths and frequencies mean the same for each of them, and no custom
tokenizer has to be registered in a reader.
"""

from __future__ import annotations

import errno
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from math import log
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from okl.errors import Busy, OklError, Unavailable
from okl.index.language import STEMMERS, STOP_WORDS
from okl.markup import name_key

VERSION = "1"
ENGINE = f"tantivy {version('tantivy')}"
TITLE_BOOST = 0.2
EXACT_TITLE = 1000.0
BEST_TERM = 2.2 * (1 + TITLE_BOOST)
"""The most one term can add to a score, in units of its idf: BM25's k1 + 1, in text and in title."""

_CJK = re.compile(
    r"[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_HEAP = 64_000_000
_NATIVE = "en"
"""The language whose words Tantivy analyses itself, with our analyzer, since that is faster."""


class TextBroken(Exception):
    """Tantivy cannot read its files; they are to be set aside and built again."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """What is indexed of one chunk: its number, its place, its words."""

    number: int
    path: str
    ord: int
    language: str
    titles: tuple[str, ...]
    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query: what it was, and the terms it may stand as in the index."""

    text: str
    terms: tuple[str, ...]
    stop: bool


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("path", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("sha256", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("ord", stored=True)
    builder.add_unsigned_field("number", fast=True)
    builder.add_text_field("text", tokenizer_name=_NATIVE, index_option="position")
    builder.add_text_field("title", tokenizer_name=_NATIVE, index_option="freq")
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    return builder.build()


_SCHEMA = _schema()


@cache
def _analyzer(language: str) -> tantivy.TextAnalyzer:
    """Words in lower case, folded to ASCII where they can be, stemmed.

    English is folded before it is stemmed, so that `résumé` and `resume` are one word; the other
    stemmers look at accents and come first.
    """
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase())
    if language == "en":
        return builder.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()
    if language in STEMMERS:
        builder = builder.filter(Filter.stemmer(STEMMERS[language]))
    return builder.filter(Filter.ascii_fold()).build()


@cache
def _splitter() -> tantivy.TextAnalyzer:
    """Words in lower case, as they were written otherwise."""
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase()).build()


@cache
def _cjk_analyzer() -> tantivy.TextAnalyzer:
    """Single characters and pairs of a run without spaces."""
    return TextAnalyzerBuilder(Tokenizer.ngram(1, 2, False)).build()


def normal(text: str) -> str:
    """`text` in NFKC, so that full-width letters and ligatures are found by plain ones."""
    # İ in lower case would be two signs, which no other spelling of its word has
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("İ", "i")


def terms(text: str, language: str) -> list[str]:
    """The terms of `text` as they stand in the index."""
    spaced, runs = _split_cjk(normal(text))
    found = list(_analyzer(language).analyze(spaced))
    return found + [term for run in runs for term in _cjk_analyzer().analyze(run)]


@lru_cache(maxsize=100_000)
def word_terms(word: str, language: str) -> tuple[str, ...]:
    """The terms of one word; remembered, since the same words stand everywhere."""
    return tuple(terms(word, language))


def _split_cjk(text: str) -> tuple[str, list[str]]:
    """`text` with blanks for its CJK runs, and the runs."""
    if text.isascii():
        return text, []
    return _CJK.sub(" ", text), _CJK.findall(text)


def words(text: str, languages: Sequence[str]) -> list[Word]:
    """The words of a query, each with its terms in every language of the store; no word twice."""
    spaced, runs = _split_cjk(normal(text))
    found: dict[tuple[str, ...], Word] = {}
    for plain in _splitter().analyze(spaced):
        variants = tuple(dict.fromkeys(term for code in languages for term in _analyzer(code).analyze(plain)))
        stop = any(plain in STOP_WORDS.get(code, ()) for code in languages)
        found.setdefault(variants, Word(plain, variants, stop))
    for run in runs:
        for pair in [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]:
            found.setdefault((pair,), Word(pair, (pair,), False))
    return list(found.values())


def telling(found: Sequence[Word]) -> list[Word]:
    """The words without stop words, unless there are no others."""
    return [word for word in found if not word.stop] or list(found)


class Text:
    """An open full-text index; `path` None keeps it in memory."""

    def __init__(self, path: Path | None, fresh: bool = False) -> None:
        """Open what is at `path`, or with `fresh` make it; TextBroken if it is not there or cannot be read."""
        with _guarded():
            if path is None or fresh:
                if path is not None:
                    path.mkdir(parents=True, exist_ok=True)
                self._index = tantivy.Index(_SCHEMA, path=str(path) if path else None)
            elif tantivy.Index.exists(str(path)):
                self._index = tantivy.Index.open(str(path))
            else:
                raise TextBroken("the full-text index is missing")
            self._searcher = self._index.searcher()

    @contextmanager
    def writing(self) -> Iterator[TextWriter]:
        """One batch: committed at the end, forgotten if anything raises."""
        with _guarded():
            self._index.register_tokenizer(_NATIVE, _analyzer(_NATIVE))
            writer = self._index.writer(_HEAP, 1)
        try:
            with _guarded():
                yield TextWriter(writer)
                writer.commit()
        except BaseException:
            with _guarded():
                writer.rollback()
            raise
        finally:
            with _guarded():
                writer.wait_merging_threads()
        self.reload()

    def reload(self) -> None:
        """See what was committed since."""
        with _guarded():
            self._index.reload()
            self._searcher = self._index.searcher()

    @property
    def size(self) -> int:
        """Chunks in the index."""
        return int(self._searcher.num_docs)

    def idf(self, word: Word) -> float:
        """The weight of the rarest term the word stands as; of an unseen one if none stands anywhere."""
        with _guarded():
            seen = [count for term in word.terms if (count := self._searcher.doc_freq("text", term))]
        count = min(seen, default=0)
        return log(1 + (max(self.size - count, 0) + 0.5) / (count + 0.5))

    def search(self, query: TextQuery, limit: int) -> list[tuple[float, int]]:
        """The best chunks as (BM25 score, chunk number), best first."""
        if limit <= 0 or self.size == 0:
            return []
        with _guarded():
            hits = self._searcher.search(query.tantivy, limit=min(limit, self.size), count=False).hits
            numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
        return [(float(score), int(number)) for (score, _), number in zip(hits, numbers, strict=True) if number is not None]

    def phrase(self, phrase: str, languages: Sequence[str], limit: int) -> tuple[int, list[int]]:
        """(how many chunks have the words one after the other, the numbers of the first `limit`)."""
        with _guarded():
            found = self._searcher.search(_phrase_query(phrase, languages), limit=max(1, limit), count=True)
            numbers = self._searcher.fast_field_values("number", [address for _, address in found.hits])
        return int(found.count or 0), [int(number) for number in numbers if number is not None]  # type: ignore[attr-defined]

    def documents(self) -> Iterator[tuple[str, int, str]]:
        """(path, ord, sha256) of every chunk, for the dump."""
        with _guarded():
            hits = self._searcher.search(Query.all_query(), limit=max(1, self.size), count=False).hits
            for _, address in hits:
                row: dict[str, list[Any]] = self._searcher.doc(address).to_dict()
                yield row["path"][0], row["ord"][0], row["sha256"][0]


class TextWriter:
    """Adds and drops chunks within one batch."""

    def __init__(self, writer: tantivy.IndexWriter) -> None:
        self._writer = writer

    def drop(self, path: str) -> None:
        """Forget all chunks of the file."""
        self._writer.delete_documents_by_term("path", path)

    def add(self, chunk: TextChunk) -> None:
        """Index one chunk."""
        document = tantivy.Document()
        document.add_text("path", chunk.path)
        document.add_text("sha256", chunk.sha256)
        document.add_unsigned("ord", chunk.ord)
        document.add_unsigned("number", chunk.number)
        for title in chunk.titles:
            document.add_text("name", name_key(normal(title))[:1000])
        _add_words(document, "title", "\n".join(chunk.titles), chunk.language)
        _add_words(document, "text", chunk.text, chunk.language)
        self._writer.add_document(document)


def _add_words(document: tantivy.Document, field: str, text: str, language: str) -> None:
    spaced, runs = _split_cjk(normal(text))
    if language == _NATIVE:
        document.add_text(field, spaced)
    else:
        document.add_pre_tokenized_text(field, _analyzer(language).pre_tokenize(spaced))
    for run in runs:
        document.add_pre_tokenized_text(field, _cjk_analyzer().pre_tokenize(run))


@dataclass(frozen=True)
class TextQuery:
    """What to look for: any of `words` and `quotes`, all of `phrases`, best when `whole` is a title; or `everything`."""

    words: tuple[Word, ...]
    phrases: tuple[str, ...] = ()
    whole: str = ""
    languages: tuple[str, ...] = ("en",)
    everything: bool = False
    quotes: tuple[str, ...] = ()

    @cached_property
    def tantivy(self) -> Query:
        """The query as Tantivy runs it."""
        if self.everything:
            return Query.all_query()
        clauses = [(Occur.Should, _word_query(word)) for word in self.words]
        clauses += [(Occur.Must, _phrase_query(phrase, self.languages)) for phrase in self.phrases]
        clauses += [(Occur.Should, _phrase_query(quote, self.languages)) for quote in self.quotes if " " in quote.strip()]
        if self.whole:
            exact = Query.term_query(_SCHEMA, "name", name_key(normal(self.whole)), "basic")
            clauses.append((Occur.Should, Query.const_score_query(exact, EXACT_TITLE)))
        return Query.boolean_query(clauses)


def _word_query(word: Word) -> Query:
    """The word in the text, and a little more if it stands in the title."""
    return _any(
        [
            Query.boolean_query(
                [
                    (Occur.Should, Query.term_query(_SCHEMA, "text", term, "freq")),
                    (Occur.Should, Query.boost_query(Query.term_query(_SCHEMA, "title", term, "freq"), TITLE_BOOST)),
                ]
            )
            for term in word.terms
        ]
    )


def _phrase_query(phrase: str, languages: Sequence[str]) -> Query:
    """The words one after the other; pairs of a CJK run all there."""
    spaced, runs = _split_cjk(normal(phrase))
    variants = list(dict.fromkeys(tuple(_analyzer(code).analyze(spaced)) for code in languages))
    parts = [_any([_sequence(variant) for variant in variants if variant])] if any(variants) else []
    parts += [Query.term_query(_SCHEMA, "text", word.terms[0], "freq") for word in words(" ".join(runs), ())]
    return Query.boolean_query([(Occur.Must, part) for part in parts]) if parts else Query.empty_query()


def _sequence(sequence: Sequence[str]) -> Query:
    if len(sequence) == 1:
        return Query.term_query(_SCHEMA, "text", sequence[0], "freq")
    return Query.phrase_query(_SCHEMA, "text", list(sequence))


def _any(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def analysed(items: Iterable[str], language: str) -> frozenset[str]:
    """All terms of some texts."""
    return frozenset(term for item in items for term in terms(item, language))


@contextmanager
def _guarded() -> Iterator[None]:
    """Turn what Tantivy raises into our own: a full disk, a second writer, or broken files."""
    try:
        yield
    except (OklError, TextBroken):
        raise
    except OSError as error:
        raise _failure(error) from error
    except ValueError as error:
        raise _failure(error) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # Rust's panic, which is no Exception
            raise TextBroken(" ".join(str(error).split())[:100]) from error
        raise


def _failure(error: Exception) -> Exception:
    told = str(error)
    if isinstance(error, PermissionError) or any(mark in told for mark in ("os error 13", "os error 30", "ermission denied", "Read-only")):
        return Unavailable("The index folder cannot be written.")
    if "LockBusy" in told or "lockfile" in told.lower():
        return Busy("Another process is writing the full-text index. Try again in a moment.")
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "os error 28" in told or "No space left" in told:
        return Unavailable("No space left on the disk for the index; the notes are as they were.")
    return TextBroken(" ".join(told.split())[:100])
