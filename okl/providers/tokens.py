"""How much of a model's reading a word takes. Imports nothing but `tokenizers`, and that when a word is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from okl.errors import Unavailable
from okl.providers import e5_file
from okl.providers.base import readable

if TYPE_CHECKING:
    import tokenizers

REMEMBERED = 200_000
LOOKED_AT = 65_536  # characters, for at most 512 tokens

Tokenize: TypeAlias = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class Reading:
    """How text is counted for a model.

    `max_tokens` is what the model reads, its own marks included (0: no limit). `tokenizer` is "" where words are
    counted, a path to a `tokenizer.json`, or `e5:` and the path to the packed model. `identity` is the same on every
    machine and changes when the counting does. `special` marks are added around each text.
    """

    max_tokens: int
    tokenizer: str
    identity: str
    special: int


@cache
def costs(tokenizer: str) -> Mapping[str, int]:
    """Word -> how many of the model's tokens it takes, tokenised alone, at least 1. Any word can be looked up."""
    return _Costs(plain(tokenizer)) if tokenizer else _Ones()


class _Ones(dict[str, int]):
    def __missing__(self, word: str) -> int:
        return 1


class _Costs(dict[str, int]):
    """Remembers what it was asked, and forgets all of it past `REMEMBERED` words."""

    def __init__(self, tokenize: Tokenize) -> None:
        super().__init__()
        self._tokenize = tokenize

    def __missing__(self, word: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        cost = self[word] = max(1, len(self._tokenize(word)))
        return cost


def plain(tokenizer: str) -> Tokenize:
    """Text -> the numbers of its tokens, without the model's marks."""
    if tokenizer.startswith("e5:"):
        return e5_file.opened(tokenizer.removeprefix("e5:")).tokenize
    loaded = _loaded(tokenizer)
    loaded.no_truncation()
    return lambda text: loaded.encode(readable(text), add_special_tokens=False).ids


def marked(tokenizer: str, limit: int) -> Tokenize:
    """Text -> the numbers of its tokens with the model's marks, at most `limit`."""
    if tokenizer.startswith("e5:"):
        file = e5_file.opened(tokenizer.removeprefix("e5:"))
        return lambda text: [file.sizes.begin, *file.tokenize(text[:LOOKED_AT])[: limit - 2], file.sizes.end]
    loaded = _loaded(tokenizer)
    loaded.enable_truncation(limit)
    return lambda text: loaded.encode(readable(text[:LOOKED_AT])).ids


def _loaded(path: str) -> tokenizers.Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Unavailable("The package tokenizers is not installed; `pip install okl` brings it.") from error
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:
        raise Unavailable(f"{path} cannot be read as a tokenizer: {error}.") from error
    tokenizer.no_padding()
    return tokenizer
