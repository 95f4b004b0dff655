"""What webhooks and posts share: from events to HTTP requests to addresses that others have chosen.

| file            | subject                                        |
| --------------- | ---------------------------------------------- |
| `addresses.py`  | where requests may go                          |
| `sending.py`    | one POST to a checked address; needs h11       |
| `delivery.py`   | from messages in a queue to POSTs; needs h11   |
| `follower.py`   | from events to messages in a queue             |
| `service.py`    | a worker and a follower in one process         |
| `stored.py`     | what is stored about endpoints                 |
| `streams.py`    | where events and tasks are                     |
| `stamps.py`     | which tasks a service has made itself          |
| `patterns.py`   | ids, wanted streams, names of the queues       |
| `times.py`      | the time of the server                         |
| `references.py` | texts that are read where a reference leads    |
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from pyadeq.errors import ConfigError


def with_h11(package: str, **modules: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package. It imports what needs h11 when it is used.

    Endpoints are managed without it. modules: of the names that need it.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            service = package.rpartition(".")[2]
            raise ConfigError(f"{service}: {error.name} is missing; pip install 'pyadeq[webhooks]'") from error

    return find
