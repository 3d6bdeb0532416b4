"""The one line that names an embedder: `scheme:name?option=value&…`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Uri:
    """The parts; option values are percent-decoded."""

    scheme: str
    name: str
    options: Mapping[str, str]


def parse(text: str) -> Uri:
    """Take the line apart; what the parts mean is their scheme's business."""
    head, _, options = text.strip().partition("?")
    scheme, _, name = head.partition(":")
    return Uri(scheme, name, dict(parse_qsl(options, keep_blank_values=True)))
