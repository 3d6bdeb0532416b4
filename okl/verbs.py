"""The one list of what surfaces offer. Each verb is a row; its parameters and words are its action's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.errors import UsageError
from okl.index.generation import ModelChanged, VectorsBroken
from okl.index.state import StateBroken
from okl.index.text import TextBroken
from okl.knowledge import Knowledge


@dataclass(frozen=True)
class Verb:
    """A verb: its name as surfaces say it, and the method of Knowledge that does it."""

    name: str
    action: Callable[..., Any]

    @property
    def text(self) -> str:
        """What it does, in one sentence."""
        return inspect.getdoc(self.action) or ""

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Its parameters, typed."""
        return {name: p for name, p in inspect.signature(self.action).parameters.items() if name != "self"}


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("search", Knowledge.search),
        Verb("find", Knowledge.search),
        Verb("why", Knowledge.why),
        Verb("get", Knowledge.get),
        Verb("list", Knowledge.list),
        Verb("status", Knowledge.status),
        Verb("doctor", Knowledge.doctor),
        Verb("put", Knowledge.put),
        Verb("put_all", Knowledge.put_all),
        Verb("put_file", Knowledge.put_file),
        Verb("tag", Knowledge.tag),
        Verb("save", Knowledge.save),
        Verb("mem_add", Knowledge.mem_add),
        Verb("mem_update", Knowledge.mem_update),
        Verb("mem_delete", Knowledge.mem_delete),
        Verb("store_ingest", Knowledge.store_ingest),
        Verb("store_list", Knowledge.store_list),
        Verb("store_remove", Knowledge.store_remove),
        Verb("cite_make", Knowledge.cite_make),
        Verb("cite_verify", Knowledge.cite_verify),
        Verb("cite_open", Knowledge.cite_open),
        Verb("cite_list", Knowledge.cite_list),
        Verb("graph_cypher", Knowledge.graph_cypher),
        Verb("graph_stats", Knowledge.graph_stats),
        Verb("index", Knowledge.index),
        Verb("index_check", Knowledge.index_check),
        Verb("sync", Knowledge.sync),
        Verb("proof", Knowledge.proof),
        Verb("config_list", Knowledge.config_list),
        Verb("config_get", Knowledge.config_get),
        Verb("config_set", Knowledge.config_set),
    )
}


def call(knowledge: Knowledge, name: str, params: Mapping[str, Any]) -> Any:
    """Run the verb `name`. UsageError for an unknown verb or parameter, or one that is missing.

    An index that turns out to be damaged while it answers, or to be another model's, is replaced, and the verb runs again.
    """
    verb = VERBS.get(name)
    if verb is None:
        raise UsageError(f"There is no verb “{name}”.")
    unknown = [param for param in params if param not in verb.parameters]
    if unknown:
        raise UsageError(f"{name} takes no “{unknown[0]}”; it takes {', '.join(verb.parameters)}.")
    missing = [p.name for p in verb.parameters.values() if p.default is p.empty and p.name not in params]
    if missing:
        raise UsageError(f"{name} needs “{missing[0]}”.")
    try:
        return verb.action(knowledge, **params)
    except (StateBroken, TextBroken) as broken:
        knowledge.set_index_aside(str(broken))
    except VectorsBroken as broken:
        knowledge.mend_vectors(str(broken))
    except ModelChanged as changed:
        knowledge.say(f"{changed}; the index is built again")
        knowledge.build_anew()
    return verb.action(knowledge, **params)
