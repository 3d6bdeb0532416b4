"""Ids that people can read aloud."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from okl.ids import base32, cite_id, memory_id

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def test_base32() -> None:
    """Numbers are written in Crockford's digits, filled up with zeros, higher bits left out."""
    assert [base32(0, 3), base32(31, 2), base32(32, 2), base32(1 << 15, 3), base32(0b11111_01010_00001, 3)] == [
        "000",
        "0z",
        "10",
        "000",
        "za1",
    ]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**60 - 1), st.integers(0, 2**60 - 1))
def test_base32_tells_numbers_apart(one: int, other: int) -> None:
    """Two numbers of 60 bits are the same 12 characters only if they are the same number."""
    assert (base32(one, 12) == base32(other, 12)) == (one == other)
    assert re.fullmatch("[0-9a-hjkmnp-tv-z]{12}", base32(one, 12))


def test_a_memory_id_holds_its_day() -> None:
    """A memory's id holds the day in UTC, wherever it is written."""
    tokyo = datetime(2026, 5, 5, 1, 0, tzinfo=timezone(timedelta(hours=9)))
    assert [memory_id(NOW, 33), memory_id(tokyo, 2**30 - 1)] == ["m-20260504-000011", "m-20260504-zzzzzz"]


def test_a_cite_id_is_the_same_everywhere() -> None:
    """The id of a cite depends on target, text and span, and on nothing else."""
    assert cite_id("a#char0-5", "00" * 32, 0, 5) == "c-1w4v5n9v9qam"
    others = {cite_id("b#char0-5", "00" * 32, 0, 5), cite_id("a#char0-5", "01" * 32, 0, 5), cite_id("a#char0-5", "00" * 32, 1, 5)}
    assert len(others | {cite_id("a#char0-5", "00" * 32, 0, 6), "c-1w4v5n9v9qam"}) == 5
