"""What a task carries of a trace: the traceparent, the tracestate, and baggage whose names are allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry import baggage, context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

MOST_STATE, MOST_BAGGAGE = 512, 1024  # characters
PARENT, STATE, BAGGAGE = "traceparent", "tracestate", "baggage"

_w3c = TraceContextTextMapPropagator()
_bags = W3CBaggagePropagator()


def carrier_of(current: Context | None, names: Sequence[str]) -> dict[str, str]:
    """Return what to carry of a context: nothing without a valid span. names: of baggage that may be carried.

    A tracestate or baggage that is too long is left out as a whole.
    """
    found: dict[str, str] = {}
    _w3c.inject(found, current)
    if len(found.get(STATE, "")) > MOST_STATE:
        del found[STATE]
    allowed = _allowed(current, names)
    if allowed is not None:
        _bags.inject(found, allowed)
        if len(found.get(BAGGAGE, "")) > MOST_BAGGAGE:
            del found[BAGGAGE]
    return found


def context_of(carrier: Mapping[str, str], names: Sequence[str] | None) -> tuple[trace.SpanContext, Context]:
    """Return the span that was carried, which may be invalid, and a new context with the baggage that is allowed.

    names: None: all baggage.
    """
    texts = {name: text for name, text in carrier.items() if isinstance(text, str)}
    span = trace.get_current_span(_w3c.extract(texts, Context())).get_span_context()
    bag = _bags.extract(texts, Context()) if len(texts.get(BAGGAGE, "")) <= MOST_BAGGAGE else Context()
    if names is not None:
        bag = _allowed(bag, names) or Context()
    return span, bag


@contextmanager
def inside(carrier: Mapping[str, str]) -> Iterator[None]:
    """Continue a span in another process."""
    span, bag = context_of(carrier, None)
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span), bag))
    try:
        yield
    finally:
        context.detach(token)


def _allowed(current: Context | None, names: Sequence[str]) -> Context | None:
    bag: Context | None = None
    for name in names:
        if (value := baggage.get_baggage(name, current)) is not None:
            bag = baggage.set_baggage(name, value, bag if bag is not None else Context())
    return bag
