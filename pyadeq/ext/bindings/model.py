"""What the templates are given: the manifest by noun, each thing with a name that nothing else of its noun has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pyadeq import __version__, library
from pyadeq.errors import ConfigError

# A rid of these is more than the name of a call: who makes it asks by it, and gives back by it.
CALLERS_RID = ("lock.acquire.v1", "lock.acquire_many.v1", "lock.downgrade.v1")


def model() -> dict[str, Any]:
    """The variables of a template. A scalar `rid` that a client makes where it is left out has the type `rid`."""
    scripts = library()
    manifest = scripts.manifest
    entries = [_script(one, scripts[one["id"]].text) for one in manifest["scripts"]]
    return {
        "version": __version__,
        "bases": [f"{word}_base" for word in (*manifest["nouns"], "partition", "rate_partition", "session_partition")],
        "contract": manifest["contract"],
        "layout": manifest["nouns"]["queue"]["layout"],
        "limits": manifest["limits"],
        "types": manifest["types"],
        "errors": {code: error["doc"] for code, error in manifest["errors"].items()},
        "passing": passing(manifest["server_errors"]),
        "nouns": [
            _noun(facts, [one for one in entries if one["noun"] == facts["word"]])
            for facts in manifest["nouns"].values()
        ],
    }


def passing(server_errors: list[dict[str, Any]]) -> list[str]:
    """The codes of errors that end by themselves within seconds."""
    return sorted(one["code"] for one in server_errors if one["retry"] in ("soon", "load"))


def camel(name: str) -> str:
    """`now_ms` is `nowMs`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def pascal(name: str) -> str:
    """`now_ms` is `NowMs`."""
    return "".join(map(str.capitalize, name.lower().split("_")))


def _script(entry: dict[str, Any], text: str) -> dict[str, Any]:
    args = [dict(one) for one in entry["args"]]
    for one in args:
        if one["name"] == "rid" and entry["id"] not in CALLERS_RID:
            one["type"] = "rid"
    return {"uses": [], **entry, "args": args, "text": text, "path": f"lua/{entry['id']}.lua"}


def _noun(facts: dict[str, Any], scripts: list[dict[str, Any]]) -> dict[str, Any]:
    name = facts["word"]
    for script in scripts:
        _check_fields(script)
    check_names("types", name, [word for script in scripts for word in _types(script)])
    return {
        "name": name,
        "scripts": scripts,
        "keys": _keys(name, scripts),
        "enums": enums(name, scripts),
        "watches": "<noun>" in facts["bases"]["usual"],  # it has no base of its own, but that of another noun
        **{fact: facts[fact] for fact in ("title", "method", "field", "bases")},
    }


def _keys(noun: str, scripts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = [key for script in scripts for key in script["data"] if "noun" not in key]
    found = {(key["name"], key["template"]): key for key in keys}
    check_names("keys", noun, [name for name, _ in found])
    return sorted(found.values(), key=lambda key: str(key["name"]))


def _arguments(script: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a script's call, then the fields and pairs of its items."""
    yield from script["args"]
    for group in script["groups"]:
        yield from (*group["fields"], *group["pairs"])


def _types(script: dict[str, Any]) -> Iterator[str]:
    """The names of types that the templates make of a script, without a suffix of theirs."""
    verb = pascal(script["verb"])
    yield verb
    yield from (verb + pascal(group["name"]) for group in script["groups"])
    yield from (verb + pascal(one["status"]) for one in script["returns"])
    for shape, statuses in script["shapes"].items():
        yield from (f"{verb}{pascal(shape)}{pascal(one['status'])}" for one in statuses)


def _check_fields(script: dict[str, Any]) -> None:
    check_names("arguments", script["id"], [one["name"] for one in (*script["args"], *script["groups"])])
    for group in script["groups"]:
        check_names("fields", script["id"], [one["name"] for one in (*group["fields"], *group["pairs"])])
    for one in (*script["returns"], *(status for shape in script["shapes"].values() for status in shape)):
        check_names("fields", script["id"], ["status", *(field["name"] for field in one["fields"])])


def enums(noun: str, scripts: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The words of each enum: arguments of one name are one type."""
    found: dict[str, list[str]] = {}
    for script in scripts:
        for one in _arguments(script):
            if one["type"] == "enum" and found.setdefault(one["name"], one["values"]) != one["values"]:
                raise ConfigError(f"manifest: {noun} has two enums that are both {one['name']}; rename one")
    return dict(sorted(found.items()))


def check_names(what: str, where: str, names: list[str]) -> None:
    """Names must differ however a language writes them, and come back from it as they were."""
    twice = [name for name, number in Counter(map(pascal, names)).items() if number > 1]
    if twice:
        raise ConfigError(f"manifest: {where} has two {what} that are both {twice[0]} in some language; rename one")
    odd = [name for name in names if what != "types" and not re.fullmatch(r"[a-z][a-z]*(_[a-z]+)*", name)]
    if odd:
        raise ConfigError(f"manifest: {where} has {what} named {odd[0]!r}; allowed: words of a-z joined by _")
