"""The table of the paths of the service, from docs/reference/openapi.json."""

from __future__ import annotations

import json
from typing import Any

import sources

FILE = sources.ROOT / "docs/reference/openapi.json"
TITLES = {
    "queue": "Queues",
    "task": "Tasks",
    "lock": "Locks",
    "change": "Changes",
    "session": "Sessions",
    "rate": "Rates",
    "config": "Configs",
    "flag": "Flags",
    "events": "Events",
}
BY_USER = {"refused": "refused", "own": "own records", "all": "as others"}


def rest(_: str = "") -> str:
    """A chapter for each noun: the paths, what they do, and the fields of their bodies."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            row = f"| `{method.upper()} {path}` | {_cell(operation['summary'])} | {_given(document, operation)} |"
            by_tag.setdefault(operation["tags"][0], []).append(row)
    order = [*TITLES, *sorted(by_tag.keys() - TITLES.keys())]
    return "\n\n".join(_chapter(TITLES.get(tag, tag.capitalize()), by_tag[tag]) for tag in order if tag in by_tag)


def who_may(_: str = "") -> str:
    """A chapter for each noun: who may do what, as the columns of the operations say."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in json.loads(FILE.read_text(encoding="utf-8"))["paths"].items():
        for method, operation in methods.items():
            who = operation["x-who-may"]
            rights = " or ".join(f"`{right}`" for right in who["rights"]) + (
                f" and `{who['also']}`" if who["also"] else ""
            )
            acts = "the principal" if who["acts"] else ""
            if who["person"]:
                acts = "; ".join(filter(None, [acts, f"`{who['person']}` is the principal"]))
            feeds = "no" if who["feeds"] else ""
            row = f"| `{method.upper()} {path}` | {rights} | {BY_USER[who['by_user']]} | {acts} | {feeds} |"
            by_tag.setdefault(operation["tags"][0], []).append(row)
    order = [*TITLES, *sorted(by_tag.keys() - TITLES.keys())]
    head = "| Operation | Right | Token for one user | Who acts | In the queues of the service |"
    return "\n\n".join(
        "\n".join(
            [
                f"## {TITLES.get(tag, tag.capitalize())}",
                "",
                head,
                "| --- | --- | --- | --- | --- |",
                *sorted(by_tag[tag]),
            ]
        )
        for tag in order
        if tag in by_tag
    )


def _chapter(title: str, rows: list[str]) -> str:
    return "\n".join([f"## {title}", "", "| Path | What it does | Fields |", "| --- | --- | --- |", *sorted(rows)])


def _given(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """The parameters of the query, and the fields of the body; those that must be given in bold."""
    query = [
        (one["name"], one.get("required", False)) for one in operation.get("parameters", ()) if one["in"] == "query"
    ]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    schema = next((one for one in schema.get("anyOf", ()) if "$ref" in one), schema)
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    body = [(name, name in schema.get("required", ())) for name in schema.get("properties", {})]
    return " ".join(f"**`{name}`**" if needed else f"`{name}`" for name, needed in [*query, *body])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
