"""The pages are true: sessions print what the page shows, generated pages are up to date, everything is documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from okl import initial
from okl.config import SPEC
from okl.doctor import IN_FILES
from okl.verbs import VERBS
from tests.conftest import ROOT

PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if "```console" in page.read_text(encoding="utf-8")]
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.S)


def play(session: str, store: Path, environment: dict[str, str]) -> str:
    """Run each `$ ` line of `session` in `store`; give the session as it printed."""
    printed = []
    for line in session.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(line[2:], shell=True, cwd=store, env=environment, capture_output=True, text=True, check=False)
            printed.append(f"{line}\n{done.stdout}{done.stderr}".replace(str(store), "…"))
    return "".join(printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The page's sessions, played from its top on the demo's notes, print what the page shows."""
    store = tmp_path / "lighthouses"
    initial.init(store, "demo")
    shim = tmp_path / "bin" / "ok"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m okl "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    environment = {"PATH": f"{shim.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "OK_ACTOR": "human:you"}
    text = page.read_text(encoding="utf-8")
    played = BLOCK.sub(lambda block: play(block[1], store, environment), text)
    if request.config.getoption("--update"):
        page.write_text(played, encoding="utf-8")
        text = played
    assert played == text


def test_generated_pages_are_up_to_date() -> None:
    """`docs/generate.py --check` has nothing to say."""
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_setting_and_verb_is_documented() -> None:
    """Each setting has its heading, each verb a sentence, each finding its mend."""
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    assert [setting.name for setting in SPEC if f"\n## {setting.name}\n" not in page] == []
    assert [verb.name for verb in VERBS.values() if not verb.text] == []
    assert [name for name, (severity, mend) in IN_FILES.items() if not mend or severity not in ("error", "warning", "info")] == []


def test_links_between_pages_lead_somewhere() -> None:
    """No page links to a file that is not there."""
    examples = ("relative/path.md", "/from/the/store's/root.md")
    broken = [
        (page.name, target)
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        if target not in examples and not (page.parent / target).exists()
    ]
    assert broken == []
