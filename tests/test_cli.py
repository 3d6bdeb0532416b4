"""The command `ok` as a person and a script run it."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from okl import initial
from okl.cli.app import app, hoisted, main
from tests.conftest import DEMO, ROOT, Notes, Ok, run_ok

QUOTE = "Only the surfaces of a lens bend light; the glass between them merely carries it."


@pytest.fixture(scope="module")
def lit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's notes with its sources ingested, made once."""
    made = Notes(tmp_path_factory.mktemp("lit") / "store", {})
    shutil.copytree(DEMO, made.root, dirs_exist_ok=True)
    made.knowledge.store_ingest(["inbox"])
    return made.root


@pytest.fixture
def lights(notes: Notes, lit: Path) -> Notes:
    """A store with the demo's notes and sources."""
    shutil.copytree(lit, notes.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", "index"))
    return notes


def hashes(root: Path) -> dict[str, str]:
    """sha256 of every file that is not derived."""
    files = (path for path in root.rglob("*") if path.is_file() and not {".ok", ".git"} & set(path.parts))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_pipeline_of_the_rfc(lights: Notes, ok: Ok) -> None:
    """Search results go through jq and xargs into cites, as the RFC prints it."""
    assert shutil.which("jq")
    script = (
        f'ok() {{ "{sys.executable}" -m okl "$@"; }}\n'
        'ok search "geographic range" --json | jq -r ".[].id" | head -3 > ids\n'
        f'xargs -I {{}} "{sys.executable}" -m okl cite make {{}} --retention-class durable --tags "transformer,architecture" < ids\n'
    )
    done = subprocess.run(
        ["sh", "-c", script], cwd=lights.root, env={"PATH": "/usr/bin:/bin", "HOME": str(lights.root), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    made = done.stdout.split()
    assert len(made) == 3
    assert all(uri.startswith("ok://cite/c-") for uri in made)
    listed = ok("cite", "list", "--json").json
    assert sorted(row["uri"] for row in listed) == sorted(made)
    assert {tuple(row["tags"]) for row in listed} == {("transformer", "architecture")}
    assert {row["retention"] for row in listed} == {"durable"}


def test_search_results_on_stdin_become_cites(lights: Notes, ok: Ok) -> None:
    """`-` reads what `--json`, `--jsonl` or `--envelope` printed; the same span is the same cite."""
    uris = []
    for form in ("--json", "--jsonl", "--envelope"):
        found = ok("search", "Fresnel lens rings", "--limit", "2", form)
        uris.append(ok("cite", "make", "-", stdin=found.out).out.split())
    assert len(uris[0]) == 2
    assert uris[0] == uris[1] == uris[2]


def test_json_does_not_depend_on_the_terminal(lights: Notes, ok: Ok) -> None:
    """Long strings stay in one piece whatever COLUMNS says."""
    narrow, wide = (ok("search", "light", "--json", COLUMNS=columns).json for columns in ("20", "400"))
    for rows in (narrow, wide):
        for row in rows:
            row.pop("took_ms", None)
    assert narrow == wide


def test_a_pipe_gets_lines_like_grep(lights: Notes, ok: Ok) -> None:
    """`path:line: snippet`, one hit a line."""
    for line in ok("search", "hydraulic lime").out.splitlines():
        path, number, _ = line.split(":", 2)
        assert (lights.root / path).is_file()
        assert int(number) > 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("search nonexistentword", 1, "ok: nothing found"),
        ("search", 2, "ok: Say what to search for. Try `ok search --help`."),
        ("search x --limit 0", 2, "search.limit"),
        ("search x --since yesterdayish", 2, "no date"),
        ("search x --bogus", 2, "There is no option --bogus"),
        ("search x --surface moon", 2, "no surface"),
        ("get nothing-here", 1, "no note, memory or source called"),
        ("get", 2, "Try `ok get --help`."),
        ("nosuchcommand", 2, "Try `ok --help`."),
        ("list --sort colour", 2, "no order"),
        ("list --kind memory nowhere/", 1, ""),
        ("put", 2, "Say what to put"),
        ("put text --id ../out", 2, "cannot be a new note's id"),
        ("put text --id .ok/config", 2, "cannot be a new note's id"),
        ("put text --id store/x", 2, "okl's own folder"),
        ("put text --id a#b", 2, "may not stand in it"),
        ("put https://example.org/x", 2, "cannot fetch https://"),
        ("tag Eddystone", 2, "Say what to change"),
        ("tag Eddystone --bogus", 2, "There is no option"),
        ("mem delete Eddystone", 2, "is no memory"),
        ("mem update m-20260504-7k3x9q --text new --if-match 00", 3, "not the version you read"),
        ("store ingest no/such/file", 1, "There is no file or folder"),
        ("store remove Eddystone", 2, "is no source"),
        ("cite make Eddystone --lines 900-901", 2, "has lines 1 to"),
        ("cite make Eddystone --lines 1-2", 2, "frontmatter"),
        ("cite make Eddystone --quote never-said", 1, "does not stand in"),
        ("cite make Eddystone --lines 9-10 --chars 1-2", 2, "Give one of"),
        ("cite make Eddystone --lines x", 2, "no range"),
        ("cite verify c-000000000000", 1, ""),
        ("cite verify", 2, "say --all"),
        ("cite open nonsense", 1, "is no cite's id"),
        ("cite list --status odd", 2, "is no verdict"),
        ("config get nothing", 1, "no setting"),
        ("config set search.limit many", 2, "takes integer"),
        ("index --check --rebuild", 2, "Give one of"),
        ("--store /nowhere status", 1, "is no store"),
    ],
)
def test_every_failure_is_one_sentence_and_a_code(
    lights: Notes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, code: int, told: str
) -> None:
    """Nothing ends in a traceback; the code says what kind of failure it was."""
    monkeypatch.chdir(lights.root)
    assert main(arguments.split()) == code
    said = capsys.readouterr().err
    assert told in said
    assert all(line.startswith("ok: ") for line in said.splitlines())


def test_a_store_is_named_anywhere_on_the_line(lights: Notes, tmp_path: Path) -> None:
    """`--store` stands before or behind the command; `OK_STORE` names one too, a flag wins."""
    for arguments, variables in (
        (["--store", str(lights.root), "get", "Eddystone", "--json"], {}),
        (["get", "Eddystone", f"--store={lights.root}", "--json"], {}),
        (["get", "Eddystone", "--json"], {"OK_STORE": str(lights.root)}),
        (["get", "Eddystone", "--json", "--store", str(lights.root)], {"OK_STORE": "/nowhere"}),
    ):
        assert run_ok(*arguments, cwd=tmp_path, home=tmp_path, **variables).json["path"] == "places/Eddystone.md"
    assert hoisted(["put", "--", "--store", "x"]) == ["put", "--", "--store", "x"]


def test_a_vault_is_left_as_it_is(tmp_path: Path) -> None:
    """`init --from-vault`, index, search, doctor and status change no byte and add only config and ignore lines."""
    vault = tmp_path / "vault"
    shutil.copytree(DEMO, vault)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text("{}", encoding="utf-8")
    (vault / ".gitignore").write_bytes(b"*.log")
    (vault / "odd.md").write_bytes(b"\xef\xbb\xbf---\r\nup: [[x]]\r\ntags: a, b\r\n---\r\n\xff\x00broken")
    before = hashes(vault)
    for arguments in (["init", ".", "--from-vault"], ["index"], ["search", "lamp"], ["doctor"], ["status"], ["list"], ["get", "odd"]):
        assert run_ok(*arguments, cwd=vault, home=tmp_path).code in (0, 7), arguments
    after = hashes(vault)
    assert (vault / ".gitignore").read_bytes() == b"*.log\n.ok/*\n!.ok/config.yml\n"
    assert {path: sha for path, sha in after.items() if path != ".gitignore"} == {p: s for p, s in before.items() if p != ".gitignore"}
    assert sorted(path.name for path in (vault / ".ok").iterdir() if path.suffix == ".yml") == ["config.yml"]
    found = {row["path"] for row in run_ok("list", "--json", cwd=vault, home=tmp_path).json}
    assert found == {path for path in before if path.endswith(".md")}


def test_init_makes_a_store_once(tmp_path: Path) -> None:
    """A second `init` changes nothing; a store inside a store is refused; a vault must exist."""
    made = run_ok("init", "s", "--json", cwd=tmp_path, home=tmp_path).json
    assert (made["added"], made["repository"]) == ([".gitattributes", ".gitignore", ".ok/config.yml"], True)
    assert (tmp_path / "s" / ".git").is_dir()
    again = run_ok("init", "s", "--json", cwd=tmp_path, home=tmp_path).json
    assert (again["added"], again["done"]) == ([], "unchanged")
    assert run_ok("init", "s/inner", cwd=tmp_path, home=tmp_path).code == 3
    assert run_ok("init", "nowhere", "--from-vault", cwd=tmp_path, home=tmp_path).code == 1
    assert run_ok("init", "other", "--dry-run", cwd=tmp_path, home=tmp_path).code == 0
    assert not (tmp_path / "other").exists()


def test_without_git_a_store_is_still_made(tmp_path: Path) -> None:
    """Where git is missing, init says so, everything else works, and doctor names it."""
    made = run_ok("init", "s", cwd=tmp_path, home=tmp_path, PATH=str(tmp_path))
    assert (made.code, "no git repository" in made.out) == (0, True)
    assert run_ok("put", "hello world", cwd=tmp_path / "s", home=tmp_path, PATH=str(tmp_path)).code == 0
    found = run_ok("doctor", "--json", cwd=tmp_path / "s", home=tmp_path, PATH=str(tmp_path))
    assert "missing-tool" in [row["name"] for row in found.json]


def test_put_writes_memories_and_notes(notes: Notes, ok: Ok) -> None:
    """TEXT is a memory, the same words the same one; `--id` a note, whose frontmatter outlives a new text."""
    first = ok("put", "Fog hides a light", "--tags", "fog,mood=calm", "--json").json
    again = ok("mem", "add", "Fog hides a light", "--tags", "sea", "--json").json
    assert (first["done"], again["done"], again["id"]) == ("created", "updated", first["id"])
    note = ok("get", first["id"], "--json").json
    assert (note["tags"], note["properties"]["mood"], note["type"], note["kind"]) == (["fog", "sea"], "calm", "memory", "memory")
    assert ok("put", "-", "--id", "a/b", "--title", "T", stdin="one\n").out == "a/b\n"
    assert ok("put", "two", "--id", "a/b", "--json").json["done"] == "updated"
    assert ok("put", "two", "--id", "a/b", "--json").json["done"] == "unchanged"
    assert notes.read("a/b.md").partition("---\n")[2].endswith("---\ntwo\n")
    assert "title: T" in notes.read("a/b.md")


def test_put_takes_files(notes: Notes, ok: Ok, tmp_path: Path) -> None:
    """A file of the store is indexed where it lies; another becomes a source."""
    notes.write("here.md", "Here.\n")
    (tmp_path / "there.txt").write_text("There was a lighthouse.\n", encoding="utf-8")
    assert ok("put", "here.md", "--json").json["done"] == "indexed"
    assert json.loads(ok("put", str(tmp_path / "there.txt"), "--json").out)["outcome"] == "added"
    assert [row["path"] for row in ok("list", "--sort", "path", "--json").json] == ["here.md", "store/normalized/there.txt.ok.md"]


def test_a_batch_is_answered_line_by_line(notes: Notes, ok: Ok) -> None:
    """Good lines are written, bad ones answered with their error, in order; exit 1 if there was one."""
    lines = [
        '{"text": "one", "tags": ["t"], "keys": ["k"], "props": {"rating": 5}}',
        '{"text": ""}',
        "no json",
        '{"text": "two", "id": "b/two"}',
        '{"text": "x", "colour": "red"}',
        '{"text": "one"}',
    ]
    ran = ok("put", "--jsonl", "-", stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    assert [answer.get("done", "error") for answer in answers] == ["created", "error", "error", "created", "error", "unchanged"]
    assert answers[5]["id"] == answers[0]["id"]
    assert "rating: 5" in notes.read(answers[0]["path"])


def test_dry_runs_change_nothing(lights: Notes, ok: Ok, tmp_path: Path) -> None:
    """Each write with `--dry-run` says what it would do, and does nothing."""
    (tmp_path / "new.txt").write_text("New words.\n", encoding="utf-8")
    before = hashes(lights.root)
    for arguments in (
        ["put", "new text"],
        ["put", "new text", "--id", "new"],
        ["tag", "Eddystone", "x=y"],
        ["mem", "update", "m-20260504-7k3x9q", "--text", "new"],
        ["mem", "delete", "m-20260504-7k3x9q"],
        ["store", "ingest", str(tmp_path / "new.txt")],
        ["store", "remove", "light-range.pdf"],
        ["cite", "make", "Eddystone", "--lines", "20-21"],
        ["config", "set", "search.limit", "3"],
    ):
        assert ok(*arguments, "--dry-run").code == 0, arguments
    assert hashes(lights.root) == before


def test_tag_touches_its_own_lines_only(notes: Notes, ok: Ok) -> None:
    """Comments, order, quotes, CRLF and BOM survive a change of one property."""
    text = (
        "\ufeff---\r\n# mine\r\ntitle: 'It''s'   # quoted\r\nstatus: \"draft\" # why\r\ntags:\r\n  - a\r\n  - b # note\r\n---\r\nBody\r\n"
    )
    notes.write("n.md", text)
    assert ok("tag", "n", "status=done", "c", "-a", "rating=5").code == 0
    expected = (
        text.replace('"draft"', '"done"').replace("  - a\r\n", "").replace("  - b # note\r\n", "  - b # note\r\n  - c\r\nrating: 5\r\n")
    )
    assert notes.read("n.md") == expected
    assert ok("tag", "n", "rating=", "--remove", "status").code == 0
    assert ok("tag", "n", "c").err == "ok: unchanged\n"


def test_edit_refuses_to_overwrite(notes: Notes, ok: Ok) -> None:
    """An editor's text is saved if the file is the one that was read, else kept aside and named."""
    notes.write("n.md", "one\n")
    notes.write("../append.sh", '#!/bin/sh\necho two >> "$1"\n').chmod(0o755)
    notes.write("../meddle.sh", f'#!/bin/sh\necho mine >> "$1"\necho theirs > "{notes.root}/n.md"\n').chmod(0o755)
    home = notes.root.parent
    assert ok("edit", "n", EDITOR=f"{home}/append.sh").code == 0
    assert notes.read("n.md") == "one\ntwo\n"
    ran = ok("edit", "n", EDITOR=f"{home}/meddle.sh")
    assert (ran.code, notes.read("n.md")) == (3, "theirs\n")
    kept = Path(ran.err.rpartition("Your text is in ")[2].strip().rstrip("."))
    assert kept.read_text(encoding="utf-8") == "one\ntwo\nmine\n"
    shutil.rmtree(kept.parent)
    assert ok("edit", "n").code == 6
    assert ok("edit", "n", EDITOR="false").code == 6


def test_memories_are_listed_updated_and_deleted(lights: Notes, ok: Ok) -> None:
    """`mem update` changes text and properties; `mem delete` moves the file to the trash."""
    assert len(ok("mem", "list", "--json").json) == 2
    assert ok("mem", "search", "sun valve", "--json").json[0]["note"] == "m-20260504-d4nwvb"
    assert ok("mem", "update", "m-20260504-7k3x9q", "--text", "Updated insight", "--tags", "new,tags").code == 0
    note = ok("get", "m-20260504-7k3x9q", "--json").json
    assert (note["body"], note["tags"]) == ("Updated insight\n", ["new", "tags"])
    assert ok("mem", "delete", "m-20260504-7k3x9q").code == 0
    assert [row["id"] for row in ok("mem", "list", "--json").json] == ["m-20260504-d4nwvb"]
    assert (lights.root / ".trash" / note["path"]).is_file()


def test_sources_are_listed_and_removed(lights: Notes, ok: Ok) -> None:
    """A source is kept byte for byte, its text beside it; removing moves both away."""
    rows = ok("store", "list", "--json").json
    assert [row["path"] for row in rows] == [
        "store/normalized/inbox/keepers-log.html.ok.md",
        "store/normalized/inbox/light-range.pdf.ok.md",
    ]
    for row in rows:
        original = (lights.root / row["original"]).read_bytes()
        assert original == (DEMO / "inbox" / Path(row["original"]).name).read_bytes()
        assert row["source"]["sha256"] == hashlib.sha256(original).hexdigest()
    hit = ok("store", "search", "nominal range", "--json").json[0]
    assert (hit["type"], hit["trust"], hit["loc"]["page"]) == ("doc", "external", 2)
    assert ok("store", "remove", rows[1]["id"]).code == 0
    assert [row["path"] for row in ok("store", "list", "--json").json] == [rows[0]["path"]]
    assert not (lights.root / rows[1]["original"]).exists()


def test_a_cite_follows_its_words(lights: Notes, ok: Ok) -> None:
    """exact, moved, changed, lost: verdicts and exit codes as the file is edited."""
    path = lights.root / "optics" / "Fresnel lens.md"
    text = path.read_text(encoding="utf-8")
    cite = ok("cite", "make", "Fresnel lens", "--quote", QUOTE, "--json").json
    assert (cite["type"], cite["quote"], cite["retention"]) == ("note", QUOTE, "standard")

    def verdict() -> tuple[int, str]:
        ran = ok("cite", "verify", cite["uri"], "--json")
        return ran.code, ran.json["verdict"]

    assert verdict() == (0, "exact")
    path.write_text(text.replace("\n# ", "\nA line above.\n\n# ", 1), encoding="utf-8")
    assert verdict() == (0, "moved")
    path.write_text(text.replace(QUOTE, QUOTE.replace("merely carries it", "only passes it on")), encoding="utf-8")
    assert verdict() == (3, "changed")
    path.write_text(text.replace(QUOTE, ""), encoding="utf-8")
    assert verdict() == (4, "lost")
    path.write_text(text, encoding="utf-8")
    path.rename(lights.root / "Renamed lens.md")
    ran = ok("cite", "verify", "--all", "--json")
    assert (ran.code, ran.json[0]["path"]) == (0, "Renamed lens.md")
    opened = ok("cite", "open", cite["id"])
    assert QUOTE in opened.out
    assert opened.code == 0


def test_verify_writes_only_when_told(lights: Notes, ok: Ok) -> None:
    """`--record` keeps the verdict, `--fix` lets the cite point where its words stand now."""
    cite = ok("cite", "make", "Fresnel lens", "--quote", QUOTE, "--json").json
    file = lights.root / "citations" / f"{cite['id']}.json"
    before = file.read_bytes()
    path = lights.root / "optics" / "Fresnel lens.md"
    path.write_text(path.read_text(encoding="utf-8").replace("\n# ", "\nA line above.\n\n# ", 1), encoding="utf-8")
    ok("cite", "verify", "--all")
    ok("cite", "open", cite["id"])
    ok("cite", "list", "--status", "moved")
    assert file.read_bytes() == before
    ok("cite", "verify", "--all", "--record")
    ok("cite", "verify", "--all", "--fix")
    fixed = json.loads(file.read_text(encoding="utf-8"))
    assert [entry["verdict"] for entry in fixed["verified"]] == ["moved", "moved"]
    assert fixed["verified"][1]["was"]["loc"] == cite["loc"]
    assert ok("cite", "verify", cite["id"], "--json").json["verdict"] == "exact"


def test_config_keeps_its_comments(notes: Notes, ok: Ok) -> None:
    """A setting is changed in place; what is unknown or mistyped is named; the environment wins over the file."""
    assert ok("config", "set", "search.limit", "3").code == 0
    assert ok("config", "set", "tags.default", "inbox, new").code == 0
    text = notes.read(".ok/config.yml")
    assert text.startswith("# The store's settings")
    assert ok("config", "get", "tags.default").out == "inbox, new\n"
    assert ok("config", "get", "search.limit", OK_SEARCH_LIMIT="7").out == "7\n"
    assert {row["name"]: row["origin"] for row in ok("config", "list", "--json").json}["search.limit"].endswith(".ok/config.yml")
    notes.write(".ok/config.yml", text + "serach.limit: 4\n")
    ran = ok("status")
    assert (ran.code, "unknown setting “serach.limit”. Did you mean “search.limit”?" in ran.err) == (2, True)
    notes.write(".ok/config.yml", "search:\n  limit: 5 # nested\n  per_document: many\n")
    assert "search.per_document is “many”" in ok("status").err


def test_the_demo_runs(tmp_path: Path) -> None:
    """`ok demo` ends well, in a folder of its own; an occupied one is refused."""
    ran = run_ok("demo", "d", "--json", cwd=tmp_path, home=tmp_path)
    told = ran.json
    assert (ran.code, told["verdict"], told["equal"]) == (0, "moved", True)
    assert told["lines"]["after"][0] == told["lines"]["before"][0] + 2
    assert run_ok("demo", "d", cwd=tmp_path, home=tmp_path).code == 3


def test_every_command_takes_json_and_explains_itself() -> None:
    """Each command has a sentence of help and prints JSON."""
    for instance in [app, *(group.typer_instance for group in app.registered_groups)]:
        assert instance is not None
        for command in instance.registered_commands:
            assert command.callback is not None
            assert command.callback.__doc__, command.callback.__name__
            assert "json" in inspect.signature(command.callback).parameters, command.callback.__name__


def test_a_template_must_exist(tmp_path: Path) -> None:
    """An unknown template is named; a path is none."""
    for name in ("nope", "../demo"):
        assert run_ok("init", "x", "--template", name, cwd=tmp_path, home=tmp_path).code == 1
    assert initial.template("default").is_dir()


@pytest.mark.parametrize("content", [b"a\x00" * 40, bytes(range(256)) * 50, b"caf\xe9\n", "\ufeffhi there\n".encode("utf-16-le")])
def test_edit_never_rewrites_what_it_cannot_read(notes: Notes, ok: Ok, content: bytes) -> None:
    """A file that is no clean UTF-8 is not handed to an editor, since saving would lose bytes."""
    notes.write("odd.md", content)
    assert ok("edit", "odd", EDITOR="true").code == 3
    assert (notes.root / "odd.md").read_bytes() == content


def test_edit_may_mend_broken_yaml(notes: Notes, ok: Ok) -> None:
    """A note whose YAML is broken is mended in an editor; one that was not changed is not written."""
    notes.write("n.md", "---\na: b: c\n---\nbody\n")
    stamp = notes.knowledge.store.stamp("n.md")
    assert ok("edit", "n", EDITOR="true").err == "ok: unchanged\n"
    assert notes.knowledge.store.stamp("n.md") == stamp
    assert ok("edit", "n", EDITOR="sed -i s/b:.c/b/").code == 0
    assert notes.read("n.md") == "---\na: b\n---\nbody\n"


def test_a_store_is_not_fed_to_itself(lights: Notes, ok: Ok) -> None:
    """A folder that holds the store, or one of okl's own in it, is no source."""
    for source in (".", "..", "store", "store/normalized", ".ok"):
        ran = ok("store", "ingest", source)
        assert (ran.code, "ok: " in ran.err) == (2, True), source
    assert ok("put", ".").code == 2


def test_a_batch_survives_half_characters(notes: Notes, ok: Ok) -> None:
    """A lone surrogate is an error of its line."""
    ran = ok("put", "--jsonl", "-", stdin='{"text":"one","id":"k1"}\n{"text":"u \\ud800 s"}\n{"text":"three","id":"k3"}\n')
    assert [json.loads(line).get("done", "error") for line in ran.out.splitlines()] == ["created", "error", "created"]


def test_signs_alone_find_nothing(lights: Notes, ok: Ok) -> None:
    """A query without a word in it is no wish for everything."""
    for query in ("!!! ???", "*", "\\", "🎉🎉"):
        assert ok("search", query).code == 1
    assert ok("search", b"\xff\xfe".decode("utf-8", "surrogateescape")).code == 2


def test_what_cannot_be_is_a_usage_error(lights: Notes, ok: Ok) -> None:
    """Dates, kinds, budgets and numbers out of range are told, not obeyed and not a bug."""
    for arguments in (
        ["search", "x", "--since", "P99999999D"],
        ["search", "x", "--since", "P999999999999Y"],
        ["search", "x", "--kind", "moon"],
        ["search", "x", "--budget", "-1"],
        ["search", "x", "--half-life", "nan"],
        ["search", "x", "--min-score", "inf"],
        ["put", "x y", "--ttl", "99999999999d"],
        ["config", "set", "languages", "xx"],
    ):
        assert ok(*arguments).code == 2, arguments
    assert ok("put", "no/such/note.md").code == 1
    notes = ok("search", "light", "--min-score", "0.9", "--json").json
    assert all(hit["score"] >= 0.9 for hit in notes)


def test_an_unknown_or_broken_cite_counts(lights: Notes, ok: Ok) -> None:
    """`verify --all` names a cite file that cannot be read, and does not end well."""
    lights.write("citations/c-000000000000.json", "{")
    ran = ok("cite", "verify", "--all", "--json")
    assert (ran.code, [row["verdict"] for row in ran.json]) == (1, ["unknown"])


def test_a_lost_quote_says_where_else_it_stands(lights: Notes, ok: Ok) -> None:
    """The document is gone, but the words stand in another: lost, with the place as information."""
    cite = ok("cite", "make", "Fresnel lens", "--quote", QUOTE, "--json").json
    (lights.root / "optics" / "Fresnel lens.md").unlink()
    lights.write("copy.md", f"# Copied\n\n{QUOTE}\n")
    ran = ok("cite", "verify", cite["id"], "--json")
    assert (ran.code, ran.json["elsewhere"]) == (4, ["copy.md"])


def test_ids_that_look_like_options_are_safe_in_pipes(notes: Notes, ok: Ok) -> None:
    """A handle never begins with a dash."""
    notes.write("-d.md", "whale\n")
    handle = ok("search", "whale", "--json").json[0]["id"]
    assert handle == "%2Dd#char0-5"
    assert ok("cite", "make", handle).code == 0


@pytest.mark.parametrize(
    ("target", "quote"),
    [
        (
            "optics/Fresnel lens.md#^keep-the-curve",
            "Only the surfaces of a lens bend light; the glass between them merely carries it. ^keep-the-curve",
        ),
        ("places/Eddystone.md:L1-1", None),
        ("Fresnel lens#Nowhere", None),
        ("ok://note/people/John%20Smeaton#char=1-15", "# John Smeaton"),
        ("Range of a light#In one line", None),
    ],
)
def test_targets(lights: Notes, ok: Ok, target: str, quote: str | None) -> None:
    """A block, a section, lines, a handle or an address name a passage; what is not there is said so."""
    ran = ok("cite", "make", target, "--json")
    if quote is not None:
        assert ran.json["quote"] == quote
    elif "In one line" in target:
        assert ran.json["quote"].startswith("## In one line")
        assert "## Geographic range" not in ran.json["quote"]
    else:
        assert ran.code in (1, 2)


def test_a_source_that_changes_keeps_its_old_bytes_for_their_other_name(notes: Notes, ok: Ok, tmp_path: Path) -> None:
    """Two files with the same bytes are one source, until one of them changes; then both are kept."""
    source = tmp_path / "src"
    source.mkdir()
    for name in ("x.txt", "y.txt"):
        (source / name).write_text("same badger words\n", encoding="utf-8")
    assert ok("store", "ingest", str(source)).code == 0
    (source / "x.txt").write_text("other words\n", encoding="utf-8")
    first = [json.loads(line)["outcome"] for line in ok("store", "ingest", str(source), "--json").out.splitlines()]
    assert first == ["updated", "unchanged"]
    hit = ok("search", "badger", "--json").json[0]
    assert (hit["source"]["url"], "badger" in hit["quote"]) == ((source / "y.txt").as_uri(), True)
    originals = [(notes.root / row["original"]).read_bytes() for row in ok("store", "list", "--json").json]
    assert sorted(originals) == [b"other words\n", b"same badger words\n"]
    again = [json.loads(line)["outcome"] for line in ok("store", "ingest", str(source), "--json").out.splitlines()]
    assert again == ["unchanged", "unchanged"]
    (source / "x.txt").write_text("third words\n", encoding="utf-8")
    assert json.loads(ok("store", "ingest", str(source / "x.txt"), "--json").out)["path"] == "store/normalized/src/x.txt.ok.md"


def test_sources_of_any_name_are_found(notes: Notes, ok: Ok, tmp_path: Path) -> None:
    """Names with a dot at their beginning, or that are no text, get one under which the store looks."""
    folder = tmp_path / ".dots"
    folder.mkdir()
    (folder / "a.txt").write_text("first badger\n", encoding="utf-8")
    (tmp_path / ".hid.txt").write_text("second badger\n", encoding="utf-8")
    Path(os.fsdecode(bytes(folder) + b"/bad\xff.txt")).write_text("third badger\n", encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    assert ok("store", "ingest", str(folder), str(tmp_path / ".hid.txt")).code == 0
    assert len(ok("search", "badger", "--json").json) == 3
    assert "no-file" not in ok("doctor").out


def test_pipes_are_never_opened(notes: Notes, ok: Ok) -> None:
    """A named pipe in any place does not hang a command."""
    notes.write("a.md", "alpha\n")
    (notes.root / "citations").mkdir()
    (notes.root / ".gitignore").unlink()
    for path in ("x.md", ".gitignore", "citations/c-000000000000.json"):
        os.mkfifo(notes.root / path)
    assert ok("search", "alpha").code == 0
    assert ok("put", "text", "--id", "x").code == 6
    assert ok("cite", "verify", "--all").code == 1
    assert ok("cite", "list").code == 1
    assert "broken-cite" in ok("doctor").out


def test_a_hit_is_on_its_own_page(notes: Notes) -> None:
    """A passage never spans two pages, so its page is the right one."""
    pages = [f"Line one of page {number}.\nzebra{number} stands here.\n\n" for number in range(1, 6)]
    starts = [sum(map(len, pages[:number])) for number in range(5)]
    table = ", ".join(f"[{number + 1}, {start}]" for number, start in enumerate(starts))
    notes.write("store/normalized/p.pdf.ok.md", f"---\ntype: doc\npages: [{table}]\n---\n{''.join(pages)}")
    for number in (1, 3, 5):
        assert notes.knowledge.search(f"zebra{number}")["results"][0]["loc"]["page"] == number


def test_input_that_is_no_text_is_refused(notes: Notes, ok: Ok) -> None:
    """Bytes that are not UTF-8 are never replaced in silence."""
    assert ok("put", "-", stdin=b"caf\xe9").code == 2
    assert ok("put", "--jsonl", "-", stdin=b'{"text":"caf\xe9"}\n').code == 2
    assert ok("put", "--jsonl", "nofile").code == 1
    assert ok("put", b"arg \xff".decode("utf-8", "surrogateescape")).code == 2
    assert ok("list").code == 1


@pytest.mark.parametrize(
    ("before", "change", "tags"),
    [
        ("tags: a, b # why", "-a", ["b"]),
        ("tags: a, b # why", "zz", ["a", "b", "zz"]),
        ("tag: a", "zz", ["a", "zz"]),
        ("tag: a", "-a", []),
        ("Tags: [a]", "zz", ["a", "zz"]),
        ('tags: ["#a", b]', "-a", ["b"]),
        ("tags:", "zz", ["zz"]),
        ("tags: [1, true, a]", "-a", ["1x", "true"]),
    ],
)
def test_tags_in_any_writing(notes: Notes, ok: Ok, before: str, change: str, tags: list[str]) -> None:
    """Tags as a list, as words, under `tag` or `Tags`: none is lost, comments stay."""
    notes.write("n.md", f"---\n{before}\nother: 1 # keep\n---\nBody\n")
    assert ok("tag", "n", "--", change).code == 0
    assert ok("get", "n", "--json").json["tags"] == [tag for tag in tags if tag != "1x"]
    assert "other: 1 # keep\n" in notes.read("n.md")
    assert ("# why" in before) == ("# why" in notes.read("n.md"))


def test_control_characters_do_not_steer_the_terminal(notes: Notes, ok: Ok) -> None:
    """What notes bring along is shown as signs."""
    notes.write("n.md", '---\ntitle: "t\\e[2J"\n---\nwhale \x1b]0;pwn\x07\n')
    for arguments in (["list"], ["search", "whale"], ["doctor"]):
        assert "\x1b" not in ok(*arguments).out


def test_ok_alone_shows_its_help(ok: Ok) -> None:
    """In lines, as a newcomer needs it."""
    for words in ([], ["mem"], ["cite"]):
        ran = ok(*words)
        assert (ran.code, len(ran.err.splitlines()) > 8) == (2, True)


def test_a_lost_original_comes_back(notes: Notes, ok: Ok, tmp_path: Path) -> None:
    """Ingested again, a source whose original is gone gets it back; what its doc says of other names stays."""
    for name in ("x.txt", "y.txt"):
        (tmp_path / name).write_text("same words\n", encoding="utf-8")
        assert ok("store", "ingest", str(tmp_path / name)).code == 0
    before = notes.read("store/normalized/x.txt.ok.md")
    (notes.root / "store/sources/x.txt").unlink()
    assert json.loads(ok("store", "ingest", str(tmp_path / "x.txt"), "--json").out)["outcome"] == "updated"
    assert (notes.read("store/sources/x.txt"), notes.read("store/normalized/x.txt.ok.md")) == ("same words\n", before)
    assert len(list((notes.root / "store/normalized").iterdir())) == 1
