"""`ok demo`: a tour on a store of its own."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from okl import initial
from okl.cli.hits import print_hits
from okl.cli.terminal import Json, print_json, session
from okl.client import Client
from okl.errors import CheckFailed, Conflict

QUESTION = "geographic range"
QUOTE = "Only the surfaces of a lens bend light; the glass between them merely carries it."
NOTE = "optics/Fresnel lens.md"
ABOVE = "A bare lamp wastes"
ADDED = "This line was added above the quote a moment ago.\n\n"


def demo(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A new folder; else a temporary one.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Make a small store, ingest, search, cite, edit, verify: a tour in a few seconds."""
    started = time.perf_counter()
    steps = _Steps(folder or Path(tempfile.mkdtemp(prefix="ok-demo-")) / "lighthouses", quiet=json)
    result = steps.run()
    if json:
        print_json({**result, "seconds": round(time.perf_counter() - started, 2)})
        return
    store = result["store"]
    print(f"\nDone in {time.perf_counter() - started:.1f} s. The store is yours to play with:\n")
    print(f'  cd "{store}"')
    print('  ok search "why is a lighthouse lens made of rings"')
    print("  ok get Eddystone")
    print('  ok mem add "Fog hides a light long before the horizon does" --tags fog,range')
    print("  ok cite verify --all")
    print("  ok init ~/notes            # your own store; --from-vault for notes you have")


class _Steps:
    """The tour, step by step, each printed as the command that does the same."""

    def __init__(self, folder: Path, quiet: bool) -> None:
        self._folder = folder
        self._quiet = quiet

    def run(self) -> dict[str, Any]:
        if self._folder.exists() and any(self._folder.iterdir()):
            raise Conflict(f"{self._folder} is not empty; give a new folder.")
        self._show(f"ok init {self._folder} --template demo")
        made = initial.init(self._folder, "demo")
        self._say(f"{len(made['added'])} files, {'a git repository' if made['repository'] else 'no git repository: git is not installed'}")
        session.store = made["store"]
        client = session.client()
        ingested = self._ingest(client)
        found = self._search(client)
        cite = self._cite(client)
        verdict = self._edit_and_verify(client, cite)
        check = self._check(client)
        return {
            "store": made["store"],
            "ingested": ingested,
            "hits": [hit["id"] for hit in found["results"]],
            "cite": cite["uri"],
            "verdict": verdict["verdict"],
            "lines": {"before": cite["loc"]["lines"], "after": verdict["loc"]["lines"]},
            "digest": check["digest"],
            "equal": check["equal"],
        }

    def _ingest(self, client: Client) -> list[dict[str, Any]]:
        self._show("ok store ingest inbox")
        outcomes: list[dict[str, Any]] = client.call("store_ingest", sources=[str(self._folder / "inbox")])
        for outcome in outcomes:
            self._say(f"{outcome['outcome']}  {outcome['path']}")
            if outcome["outcome"] == "failed":
                raise CheckFailed(f"{outcome['url']} could not be ingested: {outcome['reason']}.")
        return outcomes

    def _search(self, client: Client) -> dict[str, Any]:
        self._show(f'ok search "{QUESTION}"')
        found: dict[str, Any] = client.call("search", query=QUESTION, limit=4)
        if not found["results"]:
            raise CheckFailed("The demo's search found nothing.")
        if not self._quiet:
            print_hits(found["results"])
        return found

    def _cite(self, client: Client) -> dict[str, Any]:
        self._show(f'ok cite make "{NOTE}" --quote "{QUOTE}"')
        cite: dict[str, Any] = client.call("cite_make", targets=[NOTE], quote=QUOTE, tags=["demo"])[0]
        self._say(f"{cite['uri']}  lines {cite['loc']['lines'][0]}-{cite['loc']['lines'][1]}")
        return cite

    def _edit_and_verify(self, client: Client, cite: dict[str, Any]) -> dict[str, Any]:
        self._show(f'… two lines are added to "{NOTE}" above the quote, as an editor would')
        path = self._folder / NOTE
        path.write_text(path.read_text(encoding="utf-8").replace(ABOVE, ADDED + ABOVE, 1), encoding="utf-8")
        self._show(f"ok cite verify {cite['id']}")
        verdict: dict[str, Any] = client.call("cite_verify", ids=[cite["id"]])[0]
        if verdict["verdict"] != "moved":
            raise CheckFailed(f"The demo's cite should have moved, but it is {verdict['verdict']}.")
        low, high = verdict["loc"]["lines"]
        self._say(f"{verdict['verdict']}: the words stand at lines {low}-{high} now")
        return verdict

    def _check(self, client: Client) -> dict[str, Any]:
        self._show("ok index --check")
        check: dict[str, Any] = client.call("index_check")
        if not check["equal"]:
            raise CheckFailed("The demo's index is not what its files give.")
        self._say(f"digest {check['digest'][:16]}…, equal to an index built anew from the files")
        return check

    def _show(self, command: str) -> None:
        if not self._quiet:
            print(f"\n$ {command}")

    def _say(self, line: str) -> None:
        if not self._quiet:
            print(line)
