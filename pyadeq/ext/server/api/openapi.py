"""Writes docs/reference/openapi.json: `python -m pyadeq.ext.server.api.openapi`. With --check, compares it.

Two releases of FastAPI may describe the same application in other words. So only what a client depends on is compared:
paths, operation ids, parameters, the fields of bodies, the statuses of answers, and who may do what. An operation that
does not say who may do it fails.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from pyadeq.ext.server.api.routes import COLUMNS
from pyadeq.ext.server.application import described

FILE: Final = Path(__file__).parents[4] / "docs/reference/openapi.json"


def document() -> dict[str, Any]:
    """The description of the service as OpenAPI 3.1."""
    return described().openapi()


def operations(of: dict[str, Any]) -> dict[str, Any]:
    """What clients depend on, by `METHOD /path`."""
    return {
        f"{method.upper()} {path}": {
            "id": operation["operationId"],
            "parameters": sorted(
                [one["in"], one["name"], one.get("required", False)] for one in operation.get("parameters", ())
            ),
            "who may": operation[COLUMNS],
            "body": _fields(of, operation.get("requestBody", {})),
            "answers": {status: _fields(of, answer) for status, answer in operation["responses"].items()},
        }
        for path, methods in of["paths"].items()
        for method, operation in methods.items()
    }


def _fields(of: dict[str, Any], part: dict[str, Any]) -> list[str]:
    """The names of the fields of a body."""
    found: set[str] = set()
    open_ = [content.get("schema", {}) for content in part.get("content", {}).values()]
    while open_:
        schema = open_.pop()
        found |= schema.get("properties", {}).keys()
        open_ += [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
        if reference := schema.get("$ref"):
            open_.append(of["components"]["schemas"][reference.rpartition("/")[2]])
    return sorted(found)


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    made = document()
    if "--check" not in arguments:
        FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    stored, current = (operations(one) for one in (json.loads(FILE.read_text(encoding="utf-8")), made))
    other = sorted(name for name in stored.keys() | current.keys() if stored.get(name) != current.get(name))
    if other:
        print(f"{FILE.name} is not current: run `make gen`. It differs in {', '.join(other[:10])}", file=sys.stderr)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
