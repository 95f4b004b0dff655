"""The contract of the scripts of the last release: `released.json`. lint.py fails if a script breaks it.

    python lua/tools/released.py     # at a release: write the file from manifest.json

"Versions" in ../README.md says what may change within a version of a script, and what needs a new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = "released.json"
OPTIONS = "options of"
Json = Mapping[str, Any]


def promises(manifest: Json) -> dict[str, dict[str, list[str]]]:
    """Of each script by id: what it takes, what a group of items has, and what it answers. One line each."""
    return {script["id"]: dict(_of(script)) for script in manifest["scripts"]}


def broken(before: Json, now: Json) -> Iterator[str]:
    """What these scripts do not promise any more, each as a finding."""
    for script_id, lists in before.items():
        if script_id not in now:
            yield f"{script_id}: is gone; a version stays for one minor release"
            continue
        for what, lines in lists.items():
            found = now[script_id].get(what, [])
            if what.startswith(OPTIONS):  # names may be added
                found = [line for line in found if line in lines]
            if lines != found:
                changed = sorted(set(lines) ^ set(found)) or ["the order"]
                yield f"{script_id}: {what} differ from the last release: {'; '.join(changed)}: write a new version"


def broken_promises(root: Path) -> list[str]:
    """What the scripts below a folder do not promise any more, each as a finding; none if nothing was released."""
    if not (root / FILE).is_file():
        return []
    before, now = (json.loads((root / name).read_text()) for name in (FILE, "manifest.json"))
    return [f"{FILE}: {one}" for one in broken(before, promises(now))]


def _of(script: Json) -> Iterator[tuple[str, list[str]]]:
    yield "arguments", [_argument(one) for one in script["args"]]
    for group in script["groups"]:
        yield f"{OPTIONS} {group['name']}", [_argument(one) for one in group["pairs"]]
        yield f"fields of {group['name']}", [_argument(one) for one in group["fields"]]
    yield "groups", [group["name"] for group in script["groups"]]
    yield "answers", [_answer(one) for one in script["returns"]]
    for name, shape in script.get("shapes", {}).items():
        yield f"answers of {name}", [_answer(one) for one in shape]


def _argument(one: Json) -> str:
    default = f" ?={one['default']}" if "default" in one else ""
    return f"{one['name']} {one['type']}{default}"


def _answer(one: Json) -> str:
    fields: Sequence[Json] = one["fields"]
    return " ".join([one["status"], *(f"{field['name']}:{field['type']}" for field in fields)])


if __name__ == "__main__":
    ROOT = Path(__file__).parents[1]
    made = promises(json.loads((ROOT / "manifest.json").read_text()))
    (ROOT / FILE).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
