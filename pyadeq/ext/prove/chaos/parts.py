"""The nouns of a chaos run: each package beside this file is one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from pyadeq.ext.prove.chaos.part import Part

PARTS: Final[Mapping[str, Part]] = {
    one.name: import_module(f"{__package__}.{one.name}").PART
    for one in sorted(iter_modules([str(Path(__file__).parent)]), key=lambda one: one.name)
    if one.ispkg
}
"""The parts of a chaos run, by the word of the noun."""
