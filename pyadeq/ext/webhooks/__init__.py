"""Webhooks: signed messages about events, to the URLs of others. Sending needs the extra `webhooks`.

| file           | subject                                                         |
| -------------- | --------------------------------------------------------------- |
| `signing.py`   | signatures and secrets                                          |
| `endpoints.py` | who gets which events                                           |
| `messages.py`  | ids and bodies                                                  |
| `forwarder.py` | from events to messages in a queue                              |
| `delivery.py`  | from that queue to the receivers                                |
| `service.py`   | both in one process                                             |
| `_async`       | what operators do; `_sync` is generated from it                 |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.webhooks._async.webhooks import Webhooks as AsyncWebhooks
from pyadeq.ext.webhooks._sync.webhooks import Known, Webhooks
from pyadeq.ext.webhooks.endpoints import Endpoint
from pyadeq.ext.webhooks.forwarder import Forwarder
from pyadeq.ext.webhooks.signing import BadSignature, new_secret, sign, verify

if TYPE_CHECKING:
    from pyadeq.ext.webhooks.delivery import Deliverer
    from pyadeq.ext.webhooks.service import serve

__all__ = [
    "Allowed",
    "AsyncWebhooks",
    "BadSignature",
    "Deliverer",
    "Endpoint",
    "Forwarder",
    "Known",
    "RefusedTarget",
    "Webhooks",
    "new_secret",
    "serve",
    "sign",
    "verify",
]
_WITH_H11 = {"Deliverer": "delivery", "serve": "service"}


def __getattr__(name: str) -> Any:
    """Import what needs h11 when it is used: endpoints are managed without it."""
    if name not in _WITH_H11:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_WITH_H11[name]}"), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"webhooks: {error.name} is missing; pip install 'pyadeq[webhooks]'") from error
