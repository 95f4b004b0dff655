"""Traces of tasks with OpenTelemetry. Needs the extra `otel`."""

from __future__ import annotations

from pyadeq.errors import ConfigError

try:
    import opentelemetry.trace  # noqa: F401  (only whether it is there)
except ModuleNotFoundError as error:
    raise ConfigError("traces need the extra `otel`: pip install 'pyadeq[otel]'") from error

from pyadeq.ext.connect.otel.traces import Traces

__all__ = ["Traces"]
