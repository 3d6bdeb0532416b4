"""Values as Kùzu can hold them, and as its bulk load reads them. Pure text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_PART = 8 << 20  # bytes of one file of a bulk load
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def storable(value: Any) -> Any:
    """The value with texts as Kùzu can hold them: NUL becomes U+FFFD, half a character one of the private plane 16.

    So what cannot be stored still stays apart: two ids never become one.
    """
    match value:
        case str():
            return _UNSTORABLE.sub(_stand_in, value)
        case list() | tuple():
            return [storable(item) for item in value]
        case dict():
            return {name: storable(item) for name, item in value.items()}
        case _:
            return value


def quoted(text: str) -> str:
    """The text as it stands between the quotes of a Cypher string."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _stand_in(found: re.Match[str]) -> str:
    return chr(0x100000 + ord(found[0])) if found[0] != "\0" else "\ufffd"


def json_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Rows as lines of JSON, in lists of not much more than `_PART` characters."""
    part: list[str] = []
    size = 0
    for row in rows:
        told = dict(zip(columns, row, strict=True))
        line = _ENCODE(told)
        if "\\u0000" in line or _UNSTORABLE.search(line):
            line = _ENCODE(storable(told))
        part.append(line)
        size += len(part[-1])
        if size > _PART:
            yield part
            part, size = [], 0
    if part:
        yield part
