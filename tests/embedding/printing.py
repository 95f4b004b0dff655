"""JSON with a line for each vector or step, so that a diff shows what has changed and nothing else."""

from __future__ import annotations

import json
from typing import Any


def printed(value: dict[str, Any]) -> str:
    """A text that ends a file: each field on a line, and of a list of objects each object."""
    return "{\n" + ",\n".join(f" {_short(name)}: {_field(one)}" for name, one in value.items()) + "\n}\n"


def _field(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(f"  {_short(one)}" for one in value) + "\n ]"
    return _short(value)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
