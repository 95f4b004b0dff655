"""What the scripts of configs accept where they check more than the type, a usual value first."""

from __future__ import annotations

from typing import Final

FORMS: Final = {
    "set.remove": [b""],  # a value may be given, too
    "read.since": [b"0"],
    "read.cursor": [b""],
    "history.cursor": [b"7"],
}
