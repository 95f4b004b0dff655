"""Models of configs: values of names, and their versions. Times are as in `models.base`."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyadeq.models.base import read_json


class ConfigValue(NamedTuple):
    """The value of a name.

    version: rises with each write of the namespace. Pass it as `expect` to change what you have seen, and nothing else.
    at: when it was set. actor, reason: who set it, and why, as the call said it.
    """

    name: str
    value: bytes
    version: int
    at: float
    actor: str
    reason: str

    def json(self) -> Any:
        """Read the value as JSON. None if it is empty; its text if it is not JSON."""
        return read_json(self.value)


class Annotation(NamedTuple):
    """A moment that charts show, such as a deployment. actor: who has made it, as the call said it."""

    at: float
    text: str
    actor: str


class ConfigVersion(NamedTuple):
    """An entry of the history of a name. value: None if the name was removed then. All else is as in ConfigValue."""

    version: int
    value: bytes | None
    at: float
    actor: str
    reason: str
