"""Posts to chat services about dead tasks and waiting approvals. Sending needs the extra `webhooks`.

| file           | subject                                                     |
| -------------- | ----------------------------------------------------------- |
| `endpoints.py` | where posts go, and what they are about                     |
| `groups.py`    | first posts and rounds of digests, and their bounds         |
| `happened.py`  | what has happened, from events and from what is stored      |
| `forwarder.py` | from events to posts in a queue                             |
| `content.py`   | what a post says                                            |
| `services.py`  | how Zulip, ntfy and Slack want it                           |
| `codes.py`     | one-use codes in links                                      |
| `delivery.py`  | from that queue to the services                             |
| `service.py`   | forwarder and delivery in one process                       |
| `posts.py`     | what operators do                                           |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.posts.endpoints import Endpoint
from pyadeq.ext.posts.forwarder import Forwarder
from pyadeq.ext.posts.posts import Posts

if TYPE_CHECKING:
    from pyadeq.ext.posts.delivery import Poster
    from pyadeq.ext.posts.service import serve

__all__ = ["Allowed", "Endpoint", "Forwarder", "Poster", "Posts", "RefusedTarget", "serve"]
_WITH_H11 = {"Poster": "delivery", "serve": "service"}


def __getattr__(name: str) -> Any:
    """Import what needs h11 when it is used: endpoints are managed without it."""
    if name not in _WITH_H11:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_WITH_H11[name]}"), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"posts: {error.name} is missing; pip install 'pyadeq[webhooks]'") from error
