"""Ignore rules as git reads them: each rule is asked about a path itself, never about what lies below it.

The libraries that were measured let a folder's rule count for the files below it, so that
`*`, `!*/`, `!a.md` brought back files that git ignores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: what it matches, whether it takes back (`!`), whether it is about folders only (`/` at its end)."""

    pattern: re.Pattern[str]
    negated: bool
    folders_only: bool


Rules = tuple[Rule, ...]


def rules(lines: Iterable[str]) -> Rules:
    """The rules in the lines of an ignore file; a line that is no rule is left out."""
    return tuple(rule for line in lines if (rule := _rule(line.rstrip("\r"))))


def verdict(found: Rules, path: str, is_folder: bool) -> bool | None:
    """True if `path` is ignored, False if a rule takes it back, None if no rule speaks of it; the last one counts."""
    for rule in reversed(found):
        if (is_folder or not rule.folders_only) and rule.pattern.match(path):
            return not rule.negated
    return None


def _rule(line: str) -> Rule | None:
    text = re.sub(r"(?<!\\)((?:\\\\)*)[ \t]+\Z", r"\1", line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    if not text:
        return None
    anchored = "/" in text
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _regex(text.lstrip("/")) + r"\Z", re.S)
    except re.error:
        return None
    return Rule(pattern, negated, folders_only)


def _regex(text: str) -> str:
    """The glob as a regular expression: `**` crosses folders, `*`, `?` and `[…]` do not."""
    found, at = "", 0
    while at < len(text):
        rest = text[at:]
        begins = at == 0 or text[at - 1] == "/"
        if begins and rest.startswith("**/"):
            found, at = found + "(?:.*/)?", at + 3
        elif begins and rest == "**":
            found, at = found + ".+", at + 2
        elif rest[0] == "*":
            at += len(rest) - len(rest.lstrip("*"))
            found += "[^/]*"
        elif rest[0] == "?":
            found, at = found + "[^/]", at + 1
        elif rest[0] == "[" and (match := re.match(r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]", rest)):
            inner = match[2].replace("[", "\\[")
            inner = "\\" + inner if inner.startswith(("]", "^")) else inner
            found, at = found + f"(?!/)[{'^' if match[1] else ''}{inner}]", at + match.end()
        else:
            escaped = rest[0] == "\\" and len(rest) > 1
            found, at = found + re.escape(rest[1] if escaped else rest[0]), at + (2 if escaped else 1)
    return found
