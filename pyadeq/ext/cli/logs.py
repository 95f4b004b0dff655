"""Log lines of long-running commands, on stderr: for people, or one JSON object a line. Never a payload."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from pyadeq.ext.cli.common import Format, iso


class Lines(logging.Formatter):
    """`<time> <level> <what happened> <name>=<value> …`, or the same as JSON."""

    def __init__(self, form: Format) -> None:
        super().__init__()
        self._json = form != Format.table

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line; tracebacks follow it, or are a field of it."""
        fields: dict[str, Any] = getattr(record, "fields", {})
        level, message = record.levelname.lower(), record.getMessage()
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self._json:
            about = {"time": iso(record.created), "level": level, "logger": record.name, "message": message}
            return json.dumps({**about, **fields, **({"traceback": trace} if trace else {})}, default=str)
        words = " ".join([message, *(f"{name}={value}" for name, value in fields.items())])
        return f"{iso(record.created)} {level:<7} {words}" + (f"\n{trace}" if trace else "")


def log_to_stderr(form: Format) -> None:
    """Send the log of everything, from level info, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(form))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
