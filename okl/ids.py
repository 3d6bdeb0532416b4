"""Ids that people can read aloud: Crockford's base 32, in lower case, without i, l, o and u."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def base32(number: int, length: int) -> str:
    """The lowest `5 * length` bits of `number` as `length` characters."""
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(length)))


def memory_id(now: datetime, random_bits: int) -> str:
    """The id of a new memory: `m-YYYYMMDD-` and 6 characters from 30 random bits."""
    return f"m-{now.astimezone(UTC):%Y%m%d}-{base32(random_bits, 6)}"


def cite_id(target: str, body_sha256: str, start: int, end: int) -> str:
    """The id of a cite: the same span of the same text gives the same id on every machine."""
    seed = f"{target}\n{body_sha256}\n{start}\n{end}".encode()
    return "c-" + base32(int.from_bytes(hashlib.sha256(seed).digest()[:8], "big") >> 4, 12)
