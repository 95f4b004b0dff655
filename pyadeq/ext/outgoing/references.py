"""References to secrets: `env:NAME` or `file:/path`. The server has the reference, and never the secret."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from pyadeq.errors import ConfigError
from pyadeq.keys import shown

LARGEST_FILE: Final = 1000
_REFERENCE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,99}|file:/[^\x00-\x1f]{1,999}")


def check_reference(field: str, reference: str) -> str:
    """Return it if it says where a secret is. It is not shown in the error: it may be the secret itself."""
    if not _REFERENCE.fullmatch(reference):
        raise ConfigError(f"{field}: this is not accepted; allowed: env:NAME or file:/path, where the secret is")
    return reference


def read_reference(field: str, reference: str) -> str:
    """Return the text that is in the environment or in a file of this machine. Raises ConfigError."""
    source, _, where = check_reference(field, reference).partition(":")
    if source == "env":
        text = os.environ.get(where)
        if text is None:
            raise ConfigError(f"{field}: {shown(reference)}: this process has no such variable")
    else:
        try:
            with Path(where).open("rb") as file:
                text = file.read(LARGEST_FILE).decode(errors="replace")
        except OSError as error:
            raise ConfigError(f"{field}: {shown(reference)}: {error.strerror}") from None
    return text.strip()
