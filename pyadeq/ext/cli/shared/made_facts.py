"""What the commands that are made from the table of operations are: `commands.json`, which imports nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "operations" / "commands.json"
Facts = Mapping[str, Any]


@cache
def made() -> Mapping[str, Mapping[str, Facts]]:
    """Return the facts of all generated commands, by noun and verb."""
    found: dict[str, dict[str, Facts]] = json.loads(FILE.read_text())
    return found
