"""Which Cypher a person may run on the graph: one statement that reads, by an allowlist, and nothing else.

Kùzu tells no statement's kind before it runs, so the text is read here. What was found of 0.11.3 and shapes the rules:

- Many of its keywords are names too (`WITH 1 AS as CREATE (:N)` writes), so a word that could start a writing clause
  passes only where no clause can start: inside brackets, beside `.`, `:` or `,`, before a comparison or the end.
- Files and the network are reached by COPY, LOAD, ATTACH, EXPORT, IMPORT and INSTALL, which read-only transactions do
  not stop, and by table functions, which only CALL runs. CALL also changes settings and makes and drops indexes.
- Of its 250 other functions `nextval` alone changes anything, and none reads a file; `copy_json` always ends the
  process, and some thirty (`labels`, `list_contains`) do when given NULL, which no text shows: engine.asked is for that.
- Its parser heeds no time limit: brackets a thousand deep end the process, CASE 20 deep takes seconds, 25 deep minutes.
- In a string a backslash takes the next character as it is; there are no other escapes, nor a doubled quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from okl.errors import UsageError

LONGEST = 10_000  # characters
DEEPEST = 30  # brackets within brackets
MOST_CASES = 12  # the parser's work doubles with each within another

READERS = frozenset("show_tables table_info show_connection show_indexes show_functions db_version stats_info".split())
_FORBIDDEN_FUNCTIONS = frozenset("nextval copy_json".split())
_STARTERS = frozenset("MATCH OPTIONAL UNWIND WITH RETURN CALL".split())
_REFUSED = frozenset(
    "CREATE MERGE SET DELETE DETACH REMOVE FOREACH DROP ALTER RENAME COMMENT COPY LOAD INSTALL UNINSTALL UPDATE FORCE ATTACH USE PROJECT "
    "EXPORT IMPORT BEGIN COMMIT ROLLBACK CHECKPOINT EXPLAIN PROFILE ANALYZE CALL".split()
)
_BEFORE_AN_OPERAND = frozenset(
    "MATCH OPTIONAL UNWIND WITH RETURN CALL YIELD UNION ALL WHERE ORDER BY SKIP LIMIT HINT JOIN DISTINCT AND OR XOR NOT IN IS STARTS ENDS "
    "CONTAINS CASE WHEN THEN ELSE END NULL AS ASC ASCENDING DESC DESCENDING EXISTS COUNT ANY NONE SINGLE SHORTEST FROM TO".split()
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(
    r"""
    (?P<space> (?: \s | //[^\n]* | /\*.*?\*/ )+ )
  | (?P<string> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<quoted> `[^`]*` )
  | (?P<parameter> \$\w+ )
  | (?P<number> (?: \d+ (?:\.(?!\.)\d*)? | \.\d+ ) (?: [eE][+-]?\d+ )? )
  | (?P<word> \w+ )
  | (?P<open> [(\[{] ) | (?P<close> [)\]}] )
  | (?P<sign> [.,:;=<>+\-*/%^|&!~?] )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNFINISHED = {"'": "A string", '"': "A string", "`": "A name in backticks", "/": "A comment"}


class _Token(NamedTuple):
    kind: str
    text: str
    depth: int = 0

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else self.text


def read_only(query: str) -> str:
    """The statement as it is to be run: `query` without its comments, if it reads and does nothing else, else UsageError."""
    if len(query) > LONGEST:
        raise UsageError(f"The query has {len(query)} characters; {LONGEST} are the most.")
    tokens = _tokens(query.removeprefix("\ufeff"))
    statement = _deepened([token for token in tokens if token.kind != "space"])
    _check_one(statement)
    for place, token in enumerate(statement):
        if token.kind == "word" and token.depth == 0 and token.upper in _REFUSED and not _is_name(statement, place):
            _check_call(statement, place)
        if token.kind in ("word", "quoted") and token.text.strip("`").lower() in _FORBIDDEN_FUNCTIONS and _next(statement, place) == "(":
            raise UsageError(f"The function {token.text.strip('`')} is not for reading.")
    return "".join(_written(token) for token in tokens).strip()


def _tokens(query: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(query):
        found = _TOKEN.match(query, place)
        if found is None or found.lastgroup is None or _starts_comment(found):
            raise _unreadable(query, place)
        token = _Token(found.lastgroup, found[0])
        if token.kind == "word" and not token.text.isidentifier():
            raise UsageError(f"“{token.text}” is no name: a name begins with a letter, or stands in backticks.")
        if tokens and token.kind in ("word", "number", "parameter") and tokens[-1].kind in ("number", "word", "parameter"):
            raise UsageError(f"“{tokens[-1].text}” and “{token.text}” stand together without a space.")
        tokens.append(token)
        place = found.end()
    return tokens


def _starts_comment(found: re.Match[str]) -> bool:
    return found[0] == "/" and found.string[found.end() : found.end() + 1] == "*"


def _unreadable(query: str, place: int) -> UsageError:
    sign = query[place]
    if sign in _UNFINISHED:
        return UsageError(f"{_UNFINISHED[sign]} is not finished: {query[place : place + 20]}")
    shown = sign if sign.isprintable() else f"U+{ord(sign):04X}"
    return UsageError(f"A query has no place for “{shown}” outside of strings and names in backticks.")


def _deepened(tokens: Sequence[_Token]) -> list[_Token]:
    """The tokens, each with the number of brackets that it stands in."""
    expected: list[str] = []
    found = []
    for token in tokens:
        if token.kind == "close" and (not expected or expected.pop() != token.text):
            raise UsageError(f"A “{token.text}” closes nothing.")
        found.append(token._replace(depth=len(expected)))
        if token.kind == "open":
            expected.append(_PAIRS[token.text])
        if len(expected) > DEEPEST:
            raise UsageError(f"The query has brackets more than {DEEPEST} deep.")
    if expected:
        raise UsageError(f"A “{expected[-1]}” is missing.")
    if sum(token.upper == "CASE" for token in tokens) > MOST_CASES:
        raise UsageError(f"The query has more than {MOST_CASES} CASE.")
    return found


def _check_one(tokens: Sequence[_Token]) -> None:
    """One statement that starts as a reading one does; a `;` may end it."""
    if any(token.text == ";" for token in tokens[:-1]):
        raise UsageError("Only one statement can be run at a time.")
    first = tokens[0].upper if tokens and tokens[0].text != ";" else ""
    if not first:
        raise UsageError("The query is empty.")
    if first in _REFUSED - _STARTERS:
        raise _refusal(first)
    if first not in _STARTERS:
        raise UsageError(f"A query begins with MATCH, OPTIONAL, UNWIND, WITH, RETURN or CALL, not “{first}”.")


def _is_name(tokens: Sequence[_Token], place: int) -> bool:
    """Whether the word can only be a name there, since no clause can start or go on so."""
    before = tokens[place - 1].upper if place else ""
    if place and (before in (".", ":", ",") or (before == "AS" and _ends_operand(tokens, place - 2))):
        return True
    return place > 0 and _next(tokens, place) in ("", ";", ".", ",", "=", "<", ">")


def _ends_operand(tokens: Sequence[_Token], place: int) -> bool:
    """Whether the token ends a value, so that an AS after it is no name."""
    if place < 0:
        return False
    token = tokens[place]
    if token.kind == "word":
        return token.upper not in _BEFORE_AN_OPERAND | _REFUSED
    return token.kind in ("string", "quoted", "parameter", "number", "close")


def _next(tokens: Sequence[_Token], place: int) -> str:
    return tokens[place + 1].text if place + 1 < len(tokens) else ""


def _check_call(tokens: Sequence[_Token], place: int) -> None:
    """A clause that is not for reading; CALL is, of some functions."""
    if tokens[place].upper != "CALL":
        raise _refusal(tokens[place].upper)
    called = _next(tokens, place).strip("`")
    if called.lower() not in READERS or _next(tokens, place + 1) != "(":
        raise UsageError(f"CALL is for {', '.join(sorted(READERS))} alone, not for “{called}”.")


def _refusal(word: str) -> UsageError:
    return UsageError(f"The graph is only read here, so {word} is refused; as a name it stands in backticks: `{word.lower()}`.")


def _written(token: _Token) -> str:
    """The token as Kùzu reads it in the same way: comments and odd white space are one space."""
    return " " if token.kind == "space" else token.text
