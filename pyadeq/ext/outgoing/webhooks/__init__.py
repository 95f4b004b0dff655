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

from typing import TYPE_CHECKING

from pyadeq.ext.outgoing import with_h11
from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.outgoing.webhooks._async.webhooks import Webhooks as AsyncWebhooks
from pyadeq.ext.outgoing.webhooks._sync.webhooks import Known, Webhooks
from pyadeq.ext.outgoing.webhooks.endpoints import Endpoint
from pyadeq.ext.outgoing.webhooks.forwarder import Forwarder
from pyadeq.ext.outgoing.webhooks.signing import BadSignature, new_secret, sign, verify

if TYPE_CHECKING:
    from pyadeq.ext.outgoing.webhooks.delivery import Deliverer
    from pyadeq.ext.outgoing.webhooks.service import serve

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
__getattr__ = with_h11(__name__, Deliverer="delivery", serve="service")
