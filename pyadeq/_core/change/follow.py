"""Tasks that follow steps of changes: which steps, and the payload of a task, byte for byte as the script writes it."""

from __future__ import annotations

from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.base import encode

FOLLOWED = frozenset({"approved", "rejected", "changes_requested", "completed", "failed", "cancelled"})
"""The steps that a policy may name a task for."""


def follow_payload(domain: str, one: Result) -> bytes:
    """The payload of an entry of the outbox: words without secrets. The handler reads the rest."""
    fields = {
        "digest": one.digest,
        "domain": domain,
        "event": one.event,
        "id": one.id,
        "rev": one.rev,
        "seq": one.seq,
    }
    return encode(fields)
