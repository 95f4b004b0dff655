"""The schema of a kind, as it is stored and as it is read. Any program with the role of a worker may have stored it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyadeq.models.base import shown_json

LARGEST = 16_384
"""Bytes of the stored JSON. Of a larger one, only the description is stored."""
LONGEST = 1000
"""Characters of a description, at most."""
VALUES = ("default", "const", "enum", "example", "examples")


def stored(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item of a call for what `TaskFunction.schema` returns."""
    said = {"description": str(schema.get("description") or "")[:LONGEST]}
    whole = said | {name: without_secrets(schema[name]) for name in ("arguments", "result") if name in schema}
    text = _dumped(whole)
    return {
        "id": schema["kind"],
        "version": schema.get("version", 1),
        "schema": text if len(text.encode()) <= LARGEST else _dumped(said),
    }


def read(id: str, kind: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stored kind says, without anything that is not of the right type."""
    said = shown_json(kind["schema"])
    said = said if isinstance(said, dict) else {}
    description, arguments, result = said.get("description"), said.get("arguments"), said.get("result")
    return {
        "kind": id,
        "version": kind["version"],
        "description": description[:LONGEST] if isinstance(description, str) else "",
        "arguments": without_secrets(arguments) if isinstance(arguments, dict) else None,
        "result": without_secrets(result) if isinstance(result, dict) else None,
        "expires": kind["expires"],
    }


def without_secrets(schema: Any, secret: bool = False) -> Any:
    """Return a JSON schema without values of secret fields: `writeOnly` or of the format `password`, as SecretStr."""
    if isinstance(schema, list):
        return [without_secrets(one, secret) for one in schema]
    if not isinstance(schema, dict):
        return schema
    secret = secret or schema.get("writeOnly") is True or schema.get("format") == "password"
    return {name: without_secrets(value, secret) for name, value in schema.items() if not (secret and name in VALUES)}


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
