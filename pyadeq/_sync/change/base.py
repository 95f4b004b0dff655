# Generated from pyadeq/_async/change/base.py by pyadeq/_unasync.py; do not edit.
"""The base of all parts of a change domain: its settings, as far as clients need them, and the nouns that they name."""

from __future__ import annotations

from time import monotonic
from typing import Any

from pyadeq._sync.kernel.noun import Noun
from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.change.people import in_one_form
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.errors import ClientClosed, ConfigError
from pyadeq.keys import base_of, shown

MOST_OF_NAME = 64
MOST_CHANGES = 100
"""Changes that one call may name, or that one page has, at most."""
REMEMBERED = 60.0
"""Seconds for which a client remembers the settings of a domain."""


def closed() -> ClientClosed:
    """Return the error for a run that is begun after the client was closed."""
    return ClientClosed("this client is closed: it applies no changes; make another")


class ChangesBase(Noun):
    """A change domain with a name, on one server."""

    noun = "change"

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        if len(name) > MOST_OF_NAME:
            raise ConfigError(f"domain: {shown(name)} is not accepted; allowed: at most {MOST_OF_NAME} characters")
        super().__init__(runner, name, base)
        self._known: tuple[float, dict[str, Any]] | None = None

    def _call(self, verb: str, /, **arguments: Any) -> Result:
        return super()._call(verb, **in_one_form(arguments))

    def configure(self, *, clock: str | None = None, **settings: Any) -> dict[str, Any]:
        """Change settings and return all of them. Settings that are not given stay unchanged. Times are in seconds.

        Creates the domain if it does not exist. With clock="test", its time is that of the client's `clock`.

        The value `none` unsets follow_queue and lock_domain. Other clients use new values of both after a minute at
        most.
        """
        found = super().configure(clock=clock, **settings)
        self._known = monotonic(), found
        return found

    def _settings(self) -> dict[str, Any]:
        """Return the settings, as they were a minute ago at most."""
        if self._known is None or monotonic() >= self._known[0] + REMEMBERED:
            found: dict[str, Any] = (self._call("stats")).settings
            self._known = monotonic(), found
        return self._known[1]

    def _named(self, setting: str) -> str | None:
        """Return the queue or the lock domain that a setting names, if it names one."""
        name = (self._settings()).get(setting)
        return None if name in (None, "none") else str(name)

    def _bases(self, noun: str, setting: str) -> dict[str, str]:
        """Return the argument of a call that names the base of a noun in the same slot."""
        slot = self._runner.slot
        name = self._named(setting) if slot else None
        return {noun: base_of(noun, name, self._runner.prefix, slot)} if name else {}
