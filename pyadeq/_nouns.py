"""Generate pyadeq/_async/client/nouns.py from lua/manifest.json: the methods of a client that give out nouns.

python pyadeq/_nouns.py            write it
python pyadeq/_nouns.py --check    exit code 1 if it is not current
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "pyadeq/_async/client/nouns.py"
CLIENT = tuple(TARGET.with_name(file) for file in ("client.py", "source.py"))
"""The files of the client's other methods."""
HEAD = '''\
# Generated from lua/manifest.json by pyadeq/_nouns.py; do not edit.
"""The methods of a client that return its nouns: one for each noun, and one that lists their names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pyadeq._async.client.source import NounSource
from pyadeq._importing import IMPORTING
from pyadeq.models.base import Seconds

if TYPE_CHECKING:
{imports}


class Nouns(NounSource):
    """The methods of a client that give out nouns, by their names."""
'''
METHODS = '''
    def {method}(self, {parameter}: str) -> {kind}:
        """Return the {title} of this name, always the same object. The first write creates it."""
        with IMPORTING:
            from pyadeq._async.{word} import {kind}

        return self._noun("{word}", {kind}, {parameter})

    def {plural}(self, *, timeout: Seconds | None = None) -> AsyncIterator[str]:
        """Iterate over the names of the {titles} under the client's prefix and slot: each once, in any order.

        They come from a registry, if `adeq serve` or `adeq maintain` keeps it complete; see `names`. Otherwise this
        scans all keys, in a cluster those of every primary: about a second for a million keys.

        timeout: seconds for the scan; after them, WaitTimeout is raised if keys are left.
        """
        return self.names("{word}", timeout=timeout)
'''


def generate() -> str:
    """The text of the file. A noun whose package is missing is left out: it has no Python class."""
    facts = [noun for noun in _named() if (ROOT / _package(noun)).is_file()]
    imports = "\n".join(f"    from pyadeq._async.{one['word']} import {one['kind']}" for one in facts)
    return HEAD.replace("{imports}", imports) + "".join(METHODS.format(**one) for one in facts)


def missing() -> list[str]:
    """What the nouns without a Python class lack, one line each."""
    return [
        f"missing: {_package(one)} with a class {one['kind']}"
        for one in _named()
        if not (ROOT / _package(one)).is_file()
    ]


def collisions() -> list[str]:
    """Methods of nouns that have a name which the client has already, one line each: one of the two would hide the
    other.
    """
    taken = {name: f"pyadeq/_async/client/{path.name}" for path in CLIENT for name in _members(path)}
    found = []
    for one in _named():
        for key in ("method", "plural"):
            name, here = one[key], f"the noun {one['word']}"
            if name in taken:
                found.append(f"{here}: its method {name} is in {taken[name]} already; allowed: a name of its own")
            taken.setdefault(name, here)
    return found


def _members(path: Path) -> Iterator[str]:
    """The names of all methods and attributes that a file gives its class."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _named() -> list[dict[str, str]]:
    """The nouns with names of their own: not the one that uses the bases of the others."""
    nouns = sorted(_manifest()["nouns"].items())
    return [_facts(noun) for _, noun in nouns if "<noun>" not in noun.get("bases", {}).get("usual", "")]


def _manifest() -> Any:
    return json.loads((ROOT / "lua/manifest.json").read_text(encoding="utf-8"))


def _package(facts: dict[str, str]) -> str:
    return f"pyadeq/_async/{facts['word']}/__init__.py"


def _facts(noun: dict[str, Any]) -> dict[str, str]:
    method, title = noun["method"], noun["title"]
    titles = f"{title[:-1]}ies" if title.endswith("y") else f"{title}s"
    return {
        "word": noun["word"],
        "title": title,
        "method": method,
        "kind": "".join(part.capitalize() for part in method.split("_")),
        "parameter": "name" if noun["field"] == method else noun["field"],
        "titles": titles,
        "plural": titles.replace(" ", "_"),
    }


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python pyadeq/_nouns.py [--check]", file=sys.stderr)
        return 2
    if found := collisions():
        print("\n".join(found), file=sys.stderr)
        return 1
    text = generate()
    for line in missing():
        print(line)
    current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if arguments:
        if not current:
            print(f"{TARGET.relative_to(ROOT)} is not current: run `make gen`.", file=sys.stderr)
        return 0 if current else 1
    if not current:
        TARGET.write_text(text, encoding="utf-8")
        print(f"changed: {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
