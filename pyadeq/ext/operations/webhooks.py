"""Webhooks: endpoints, and the messages that they got."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.rights import WEBHOOKS
from pyadeq.ext.operations.row import Operation


def _at(at: str, name: str) -> Operation:
    return Operation(at, needs=WEBHOOKS, name=f"webhooks_{name}")


OPERATIONS: Final = (
    _at("GET /webhooks", "list"),
    _at("GET /webhooks/{endpoint}", "get"),
    _at("PUT /webhooks/{endpoint}", "put"),
    _at("DELETE /webhooks/{endpoint}", "remove"),
    _at("POST /webhooks/{endpoint}:enable", "enable"),
    _at("POST /webhooks/{endpoint}:disable", "disable"),
    _at("POST /webhooks/{endpoint}:rotate", "rotate"),
    _at("POST /webhooks/{endpoint}:test", "test"),
    _at("POST /webhooks/{endpoint}:replay", "replay"),
    _at("GET /webhooks/{endpoint}/messages", "messages"),
    _at("POST /webhooks/{endpoint}/messages/{message}:replay", "messages_replay"),
)
