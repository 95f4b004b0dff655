"""Texts as a terminal can show them, and the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyadeq.ext.shared.screen import Screen

# What a terminal would obey, and what changes the order in which text is shown: a reviewer would read something else.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NO_TERMINAL_WIDTH = 240  # columns of text: commands to copy are not cut in files and pipes


def safe(text: str) -> str:
    """Return a text that is safe to print: no control characters, and nothing that changes the order of letters.

    Halves of surrogate pairs cannot be encoded. They are escaped as in JSON.
    """
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text).encode(errors="backslashreplace").decode()


def stdout() -> Screen:
    """The terminal, or the file or pipe in its place."""
    from pyadeq.ext.shared.screen import Screen

    console = Screen()
    return console if console.is_terminal else Screen(width=NO_TERMINAL_WIDTH)


def stderr() -> Screen:
    """The terminal for what is not the answer."""
    from pyadeq.ext.shared.screen import Screen

    return Screen(stderr=True)
