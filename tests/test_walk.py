"""Which files of a store are notes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.walk import Stamp, Walk, ignore_fingerprint, is_note_path, leftover_owner, walk


def put(root: Path, *paths: str, text: str = "Text\n") -> None:
    for path in paths:
        full = root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")


def paths(found: Walk) -> list[str]:
    return sorted(found.stamps)


def test_notes_and_docs_are_found(tmp_path: Path) -> None:
    """Every Markdown file is a note, wherever it lies and whatever its name; nothing else is."""
    notes = [
        "a.md",
        "b c.md",
        "Ünï/鯨.md",
        "x/y/z.md",
        "UPPER.MD",
        "a.b.md",
        "now.md",
        "memories/by_date/2026-05/04/m-1.md",
        "store/normalized/lib/p.pdf.ok.md",
    ]
    put(tmp_path, *notes, "a.txt", "b.markdown", "md", "x/pic.png", "c.md.bak", ".hidden.md")
    found = walk(tmp_path)
    assert paths(found) == sorted(notes)
    assert found == Walk(found.stamps, hidden=[".hidden.md"])


def test_stamps(tmp_path: Path) -> None:
    """A note's stamp is its size, time and inode, so that an edit, a touch and a replacement all show."""
    put(tmp_path, "a.md", text="é\n")
    stat = (tmp_path / "a.md").stat()
    assert walk(tmp_path).stamps == {"a.md": Stamp(3, stat.st_mtime_ns, stat.st_ino)}


def test_an_empty_folder(tmp_path: Path) -> None:
    """An empty store has no notes and nothing to report."""
    assert walk(tmp_path) == Walk()


def test_folders_that_are_no_notes_places(tmp_path: Path) -> None:
    """Hidden folders, node_modules and okl's own folders hold no notes; Markdown put where only okl writes is reported."""
    put(
        tmp_path,
        "a.md",
        ".git/x.md",
        ".ok/x.md",
        ".obsidian/x.md",
        ".trash/x.md",
        ".stfolder/x.md",
        "deep/.hidden/x.md",
        "node_modules/x.md",
        "deep/node_modules/y/x.md",
    )
    put(tmp_path, "annotations/x.md", "system/state/x.md", "memories/topics/x.md", "store/sources/lib/x.md")
    put(tmp_path, "citations/x.md", "graph/x.md", "journal/x.md", "store/x.md", "store/normalized/lib/x.md")
    put(tmp_path, "deep/citations/x.md", "deep/store/x.md", "memories/x.md")
    found = walk(tmp_path)
    assert paths(found) == ["a.md", "deep/citations/x.md", "deep/store/x.md", "memories/x.md"]
    assert sorted(found.misplaced) == [
        "annotations/x.md",
        "citations/x.md",
        "graph/x.md",
        "journal/x.md",
        "store/normalized/lib/x.md",
        "store/x.md",
    ]


def test_a_hidden_folder_can_be_included(tmp_path: Path) -> None:
    """The include setting names hidden folders whose notes count, with all that lies below them."""
    put(tmp_path, "a.md", ".github/x.md", ".github/deep/y.md", ".github/.deeper/z.md", ".other/x.md", "in/.claude/z.md", ".claude/z.md")
    found = walk(tmp_path, include=[".github/", "in/.claude"])
    assert paths(found) == [".github/.deeper/z.md", ".github/deep/y.md", ".github/x.md", "a.md", "in/.claude/z.md"]


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"": "b.md\n"}, ["a.md", "one/a.md", "one/two/a.md"]),
        ({"": "/b.md\n"}, ["a.md", "one/a.md", "one/b.md", "one/two/a.md", "one/two/b.md"]),
        ({"": "one/\n"}, ["a.md", "b.md"]),
        ({"": "one/*.md\n"}, ["a.md", "b.md", "one/two/a.md", "one/two/b.md"]),
        ({"": "two\n"}, ["a.md", "b.md", "one/a.md", "one/b.md"]),
        ({"": "# b.md\n\n*.md\n!a.md\n"}, ["a.md", "one/a.md", "one/two/a.md"]),
        ({"": "*.md\n", "one": "!b.md\n"}, ["one/b.md", "one/two/b.md"]),
        ({"": "b.md\n", "one/two": "!b.md\n"}, ["a.md", "one/a.md", "one/two/a.md", "one/two/b.md"]),
        ({"one": "/b.md\n"}, ["a.md", "b.md", "one/a.md", "one/two/a.md", "one/two/b.md"]),
        ({"": "one/\n", "one": "!a.md\n"}, ["a.md", "b.md"]),
        ({"": "**/two/**\n"}, ["a.md", "b.md", "one/a.md", "one/b.md"]),
        ({"": "b.md \n"}, ["a.md", "one/a.md", "one/two/a.md"]),
        ({"": "b.md\r\n"}, ["a.md", "one/a.md", "one/two/a.md"]),
    ],
)
def test_gitignored_notes_are_left_alone(tmp_path: Path, rules: dict[str, str], left: list[str]) -> None:
    """A note that git ignores is no note: rules of deeper folders win, negated ones take back, as git reads them."""
    put(tmp_path, *(f"{folder}{name}.md" for folder in ("", "one/", "one/two/") for name in "ab"))
    for folder, text in rules.items():
        (tmp_path / folder / ".gitignore").write_bytes(text.encode())
    found = walk(tmp_path)
    assert paths(found) == left
    assert found.ignored > 0


RULES = st.sampled_from(
    ["*.md", "!*.md", "a.md", "!a.md", "/a.md", "one/", "/one", "one/a.md", "!one/a.md", "two", "**/two/*", "!one/two/b.md", "*", "*/",
     "/*", "[ab].md", "?.md", "b.md ", "\\!a.md", "\\#b.md", "# a.md", "", "two/../a.md", "**/a.md", "one/*/b.md"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(("", "one/", "one/two/")), st.lists(RULES, max_size=4)))
def test_ignore_rules_are_read_as_git_reads_them(rules: dict[str, list[str]]) -> None:
    """The notes of a repository are the Markdown files that git does not ignore, whatever the rules."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put(root, *(f"{place}{name}.md" for place in ("", "one/", "one/two/") for name in ("a", "b", "!a", "#b")))
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for place, lines in rules.items():
            put(root, f"{place}.gitignore", text="\n".join(lines))
        asked = subprocess.run(
            ["git", "ls-files", "-zo", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True, check=True
        )
        assert paths(walk(root)) == sorted(asked.stdout.split("\0")[:-1])


def test_rules_above_the_store_count(tmp_path: Path) -> None:
    """A store inside a repository follows the ignore files above it and the repository's own excludes, and none beyond."""
    root = tmp_path / "repo" / "docs" / "store"
    put(root, "a.md", "b.md", "c.md", "d.md", "e.md")
    put(tmp_path, "repo/.git/info/exclude", text="b.md\n")
    put(tmp_path, "repo/.gitignore", text="docs/store/c.md\n")
    put(tmp_path, "repo/docs/.gitignore", text="store/d.md\n")
    put(tmp_path, ".gitignore", text="e.md\n")
    assert paths(walk(root)) == ["a.md", "e.md"]


def test_sources_are_indexed_though_git_ignores_them(tmp_path: Path) -> None:
    """The text of a source is a doc even where git is told to ignore the folder."""
    put(tmp_path, ".gitignore", text="store/\n*.ok.md\n")
    put(tmp_path, "store/normalized/lib/p.pdf.ok.md", "x.ok.md")
    assert paths(walk(tmp_path)) == ["store/normalized/lib/p.pdf.ok.md"]


def test_the_ignore_setting(tmp_path: Path) -> None:
    """Globs of the ignore setting count like lines of a .gitignore at the top, and nothing takes them back."""
    put(tmp_path, "a.md", "drafts/b.md", "x/drafts/c.md", "x/old-1.md")
    put(tmp_path, ".gitignore", text="!drafts/\n!old-1.md\n")
    found = walk(tmp_path, globs=["drafts/", "old-*.md"])
    assert (paths(found), found.ignored) == (["a.md"], 3)


def test_known_paths_are_not_asked_again(tmp_path: Path) -> None:
    """A path that is known to be a note is taken without asking the ignore rules."""
    put(tmp_path, "a.md", "b.md")
    put(tmp_path, ".gitignore", text="*.md\n")
    assert paths(walk(tmp_path, known={"b.md"})) == ["b.md"]


def test_symlinks_are_reported_and_not_followed(tmp_path: Path) -> None:
    """A symlink to a note or folder is named with its target and not followed, so that a loop does no harm."""
    root, outside = tmp_path / "store", tmp_path / "outside"
    put(root, "a.md", "sub/b.md")
    put(outside, "c.md", "pic.png")
    links = {
        "out": outside,
        "out.md": outside / "c.md",
        "in.md": root / "a.md",
        "sub/loop": root,
        "gone.md": root / "nothing.md",
        "pic.png": outside / "pic.png",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / ".hidden.md").symlink_to(root / "a.md")
    found = walk(root)
    assert paths(found) == ["a.md", "sub/b.md"]
    assert found.symlinks == {name: os.path.realpath(target) for name, target in links.items() if name != "pic.png"}


def test_conflict_twins_are_reported(tmp_path: Path) -> None:
    """Files that a sync program made in a conflict are no notes and are named."""
    twins = ["a.sync-conflict-20260504-120000-ABC.md", "sub/b (conflicted copy 2026-05-04).md", "c (Ada's conflicted copy).md"]
    put(tmp_path, "a.md", *twins)
    found = walk(tmp_path)
    assert (paths(found), sorted(found.conflict_twins)) == (["a.md"], sorted(twins))


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path) -> None:
    """A folder that cannot be listed is named with the reason, and what lies in it counts as unknown and not as gone."""
    name = "long" * 50
    put(tmp_path, "one/a.md", f"one/{name}/b.md", "two/c.md")
    (tmp_path / ".git").mkdir()
    detour = Path(f"{tmp_path}{'/one/..' * ((4000 - len(str(tmp_path))) // len('/one/..'))}")
    found = walk(detour)
    assert paths(found) == ["one/a.md", "two/c.md"]
    assert found.unreadable == {f"one/{name}": "File name too long"}
    assert [found.frozen(path) for path in (f"one/{name}/b.md", f"one/{name}", "one/a.md", "one/longer.md")] == [True, True, False, False]


def test_a_folder_without_permission_is_reported(tmp_path: Path) -> None:
    """A folder that the user may not read is named with the reason."""
    put(tmp_path, "a.md", "locked/b.md")
    (tmp_path / "locked").chmod(0)
    found = walk(tmp_path)
    (tmp_path / "locked").chmod(0o700)
    if os.geteuid() != 0:
        assert (paths(found), found.unreadable) == (["a.md"], {"locked": "Permission denied"})


def test_a_store_that_is_gone_freezes_everything(tmp_path: Path) -> None:
    """Where the store itself cannot be listed, nothing counts as gone."""
    found = walk(tmp_path / "nothing")
    assert found == Walk(unreadable={"": "No such file or directory"})
    assert found.frozen("any/path.md")


def test_names_that_are_no_text_are_reported(tmp_path: Path) -> None:
    """A name that is no UTF-8 cannot be addressed; it is named with its bytes."""
    put(tmp_path, "a.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.md")).write_bytes(b"")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xfe")).mkdir()
    found = walk(tmp_path)
    assert (paths(found), found.bad_names) == (["a.md"], ["b\\xff.md", "c\\xfe"])


def test_leftovers_of_writers(tmp_path: Path) -> None:
    """The temporary file of a writer is no note; it is named with the machine and process it belongs to."""
    name = ".ok-0123abcd-4711-89abcdef.tmp"
    put(tmp_path, f"sub/{name}", ".ok-other.tmp", "sub/.other.tmp")
    found = walk(tmp_path)
    assert (paths(found), found.leftovers) == ([], [f"sub/{name}"])
    assert [leftover_owner(path) for path in (f"sub/{name}", "sub/.ok-other.tmp")] == [("0123abcd", 4711), None]


def test_what_is_a_notes_place() -> None:
    """Where a file lies tells whether it is a note."""
    noted = {
        "a.md": True,
        "memories/x.md": True,
        "memories/topics/x.md": False,
        "store/normalized/a.ok.md": True,
        "store/normalized/a.md": False,
        "system.md": True,
    }
    assert {path: is_note_path(path) for path in noted} == noted


def test_a_changed_rule_shows(tmp_path: Path) -> None:
    """The fingerprint of the rules changes with any ignore file and the setting, and with nothing else."""
    notes = ["a.md", "sub/deep/b.md"]
    put(tmp_path, *notes)
    prints = [ignore_fingerprint(tmp_path, [], notes)]
    put(tmp_path, "sub/.gitignore", text="x\n")
    prints += [ignore_fingerprint(tmp_path, [], notes), ignore_fingerprint(tmp_path, ["y"], notes)]
    put(tmp_path, "sub/.gitignore", text="xyz\n")
    prints.append(ignore_fingerprint(tmp_path, [], notes))
    put(tmp_path, ".git/info/exclude", text="z\n")
    prints.append(ignore_fingerprint(tmp_path, [], notes))
    put(tmp_path, "a.md", text="other\n")
    assert ignore_fingerprint(tmp_path, [], [*notes, "sub/c.md"]) == prints[-1]
    assert len(set(prints)) == 5
