"""Log lines of long-running commands, on stderr: for people, or one JSON object a line. Never a payload."""

from __future__ import annotations

import json
import logging
import re
import sys
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import TaskContext
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import Format, iso

TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")

LogFormat = StrEnum("LogFormat", ["text", "json"])
"""How lines look."""


LogForm = Annotated[
    LogFormat | None, typer.Option("--log-format", help="How the log looks. [default: text; with -o json: json]")
]

LogLevel = StrEnum("LogLevel", ["debug", "info", "warning", "error"])
"""The lowest level that is logged."""


class Lines(logging.Formatter):
    """`<time> <level> <what happened> <name>=<value> …`, or JSON, with the task and the trace of the line.

    A record may have `fields`; `data`, which is only for JSON; and `trace`, a traceparent. Without a trace, it is that
    of the current span of OpenTelemetry, or of the task that runs.
    """

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._json = form == LogFormat.json

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line; tracebacks follow it, or are a field of it."""
        fields: dict[str, Any] = getattr(record, "fields", {})
        level, message = record.levelname.lower(), record.getMessage()
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self._json:
            about = {"time": iso(record.created), "level": level, "logger": record.name, "message": message}
            about |= {**_running(), **fields, **getattr(record, "data", {}), **_ids(record)}
            return json.dumps({**about, **({"traceback": trace} if trace else {})}, default=str)
        words = " ".join([message, *(f"{name}={value}" for name, value in fields.items())])
        return f"{iso(record.created)} {level:<7} {words}" + (f"\n{trace}" if trace else "")


def _running() -> dict[str, str]:
    with suppress(ConfigError):
        return {"task": TaskContext.current().id}
    return {}


def _ids(record: logging.LogRecord) -> dict[str, str]:
    """The ids of the trace and the span of a line, if it has any."""
    trace = getattr(record, "trace", None)
    if trace is None and (otel := sys.modules.get("opentelemetry.trace")):
        span = otel.get_current_span().get_span_context()
        if span.is_valid:
            return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
    if trace is None:
        with suppress(ConfigError, UnicodeDecodeError):
            trace = TaskContext.current().trace
    found = TRACEPARENT.fullmatch(trace) if isinstance(trace, str) else None
    return {"trace_id": found[1], "span_id": found[2]} if found else {}


def log_to_stderr(level: LogLevel, form: LogFormat) -> None:
    """Send the log of everything, from this level, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(form))
    logging.basicConfig(level=level.value.upper(), handlers=[handler], force=True)


def log_format(chosen: LogFormat | None, output: Format) -> LogFormat:
    """The form of the log: by default as the command's other output."""
    return chosen or (LogFormat.text if output == Format.table else LogFormat.json)
