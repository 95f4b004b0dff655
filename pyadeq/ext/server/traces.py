"""The trace of a request: its headers traceparent and tracestate, as W3C has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from pyadeq import traced
from pyadeq.asyncio import Adeq

MOST_STATE: Final = 512
"""Characters of a tracestate. A longer one is left out."""
_PARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def in_trace_of(adeq: Adeq, headers: Mapping[str, str]) -> AbstractContextManager[object]:
    """Make the calls in a with block part of the trace of a request. A traceparent that is not valid is ignored."""
    parent = headers.get("traceparent", "").strip()
    if not _PARENT.fullmatch(parent):
        return nullcontext()
    if adeq.tracing is None:
        return traced(parent)
    try:
        from opentelemetry import trace

        from pyadeq.ext.connect.otel.carrying import inside
    except ModuleNotFoundError:  # a `trace` of somebody's own
        return nullcontext()
    if trace.get_current_span().get_span_context().is_valid:  # the application is instrumented
        return nullcontext()
    state = headers.get("tracestate", "")
    return inside({"traceparent": parent} | ({"tracestate": state} if len(state) <= MOST_STATE else {}))
