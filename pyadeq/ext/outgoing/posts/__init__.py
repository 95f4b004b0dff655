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

from typing import TYPE_CHECKING

from pyadeq.ext.outgoing import with_h11
from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.outgoing.posts.endpoints import Endpoint
from pyadeq.ext.outgoing.posts.forwarder import Forwarder
from pyadeq.ext.outgoing.posts.posts import Posts

if TYPE_CHECKING:
    from pyadeq.ext.outgoing.posts.delivery import Poster
    from pyadeq.ext.outgoing.posts.service import serve

__all__ = ["Allowed", "Endpoint", "Forwarder", "Poster", "Posts", "RefusedTarget", "serve"]
__getattr__ = with_h11(__name__, Poster="delivery", serve="service")
