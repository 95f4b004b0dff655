"""Check that the conformance vectors show all that the manifest declares; lint.py runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = "conformance"
STORIES = "stories"  # below it
RECORD = "record it: ADEQ_UPDATE_CONFORMANCE=1 make test-slow ARGS=tests/embedding"

# What a script answers only if another noun is in its slot: vectors have one noun.
OF_TWO_NOUNS = {"change.begin.v1": ["not_locked"], "change.heartbeat.v1": ["lock_lost"]}
OF_VERY_MANY = {"change.respond.v1": ["item.later"]}
"""What only a base shows that is too large for a vector."""

Entry = dict[str, Any]  # of a script in the manifest
Vector = dict[str, Any]


def check(root: Path) -> list[str]:
    """Every finding as `<file>: <what>`, in the order of the manifest. A tree without one has nothing to show."""
    if not (root / "manifest.json").is_file():
        return []
    scripts: list[Entry] = json.loads((root / "manifest.json").read_bytes())["scripts"]
    found = [text for script in scripts for text in _check_script(root, script)]
    known = {path_of(script["id"]) for script in scripts}
    known.add(f"{FOLDER}/{STORIES}")
    strange = {f"{FOLDER}/{path.name}" for path in (root / FOLDER).glob("*")} - known
    found += [f"{path}: there is no such script in the manifest: delete it" for path in sorted(strange)]
    return found + list(_check_stories(root, {script["id"]: script for script in scripts}))


def _check_stories(root: Path, scripts: dict[str, Entry]) -> Iterator[str]:
    """Each answer in a story is one that the manifest declares, and each kind of replay is shown in one."""
    again: set[str] = set()
    for path in sorted((root / FOLDER / STORIES).glob("*")):
        name = f"{FOLDER}/{STORIES}/{path.name}"
        try:
            story = json.loads(path.read_bytes())
            if path.name != f"{story['noun']}.{story['story']}.json":
                yield f"{name}: it is {story['noun']}.{story['story']}: {RECORD}"
            sent: list[Any] = []
            for step in story["steps"]:
                script = scripts[step["script"]]
                shows(script, step)
                own = [
                    step["script"],
                    {k: v for k, v in step["call"]["args"].items() if k != "now_ms"},
                    step["call"]["groups"],
                ]
                if own in sent:
                    again.add(script["replay"])
                sent.append(own)
        except (LookupError, TypeError, ValueError) as error:
            yield f"{name}: it is not what the manifest declares ({type(error).__name__}: {error}): {RECORD}"
    for kind in sorted({script["replay"] for script in scripts.values()} & {"rid", "slot", "token"} - again):
        yield f"{FOLDER}/{STORIES}: no story sends a call again whose replay is by {kind}"


def path_of(script_id: str) -> str:
    return f"{FOLDER}/{script_id}.json"


def declared(script: Entry) -> list[str]:
    """All that vectors may show: statuses of the call, `<shape>.<status>` of entries, and error codes."""
    tops = [one["status"] for one in script["returns"]]
    entries = [f"{shape}.{one['status']}" for shape, statuses in script["shapes"].items() for one in statuses]
    return [*tops, *entries, *script["errors"]]


def wanted(script: Entry) -> list[str]:
    """What is declared, and fits into a vector."""
    return [one for one in declared(script) if one not in OF_VERY_MANY.get(script["id"], ())]


def shows(script: Entry, vector: Vector) -> list[str]:
    """What a vector shows, in the order of the manifest."""
    if "error" in vector:
        return [vector["error"].split(" ", 1)[0]]
    order = declared(script)
    return sorted(set(_statuses(script, script["returns"], "", vector["answer"])), key=order.index)


def _statuses(script: Entry, allowed: list[Entry], prefix: str, answer: list[Any]) -> Iterator[str]:
    yield f"{prefix}{answer[0]}"
    (status,) = (one for one in allowed if one["status"] == answer[0])
    for field, value in zip(status["fields"], answer[1:], strict=True):
        if "of" in field:
            for entry in value:
                yield from _statuses(script, script["shapes"][field["of"]], f"{field['of']}.", entry)


def _check_script(root: Path, script: Entry) -> Iterator[str]:
    path = path_of(script["id"])
    if not (root / path).is_file():
        yield f"{path}: there are no vectors of {script['id']}: {RECORD}"
        return
    shown: set[str] = set()
    try:
        content = json.loads((root / path).read_bytes())
        if content["script"] != script["id"]:
            yield f"{path}: it is of {content['script']}: {RECORD}"
        for vector in content["vectors"]:
            if vector["shows"] != (own := shows(script, vector)):
                yield f"{path}: '{vector['name']}' shows {own}, not {vector['shows']}: {RECORD}"
            shown.update(own)
    except (LookupError, TypeError, ValueError) as error:
        yield f"{path}: it is not what the manifest declares ({type(error).__name__}: {error}): {RECORD}"
        return
    shown.update(OF_TWO_NOUNS.get(script["id"], ()))
    for missing in [one for one in wanted(script) if one not in shown]:
        yield f"{path}: no vector of {script['id']} shows {missing}; if a scenario in tests/nouns does, {RECORD}"
