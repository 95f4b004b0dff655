# Generated from pyadeq/_async/kernel/noun.py by pyadeq/_unasync.py; do not edit.
"""The class of a noun that needs nothing special."""

from __future__ import annotations

from collections.abc import Iterator, Callable
from typing import Any, ClassVar

from pyadeq._sync.kernel.migration import migrate
from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.kernel.nouncalls import NounCalls, Result
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration


class Noun:
    """An object of a noun, such as a queue, with its name. `calls` builds calls for pipelines:
    `pipe.add(notes.calls.build("get", item=["a"]))`.

    A subclass has a method for each script, made of `_call` and `_pages`.
    """

    noun: ClassVar[str]
    """The word of the noun: the name of its folder in lua/."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        self.name = name
        self.base = base
        self._runner = runner
        self.calls = self._calls(base)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base!r}>"

    def _calls(self, base: str) -> NounCalls:
        runner = self._runner
        return NounCalls(base, runner.now_ms, runner.source, runner.trace, noun=self.noun, new_rid=new_ulid)

    def _call(self, verb: str, /, **arguments: Any) -> Result:
        return self._runner.send(self.calls.build(verb, **arguments))

    def _pages(self, verb: str, /, **filter: Any) -> Iterator[Any]:
        """The entries of a list, page by page."""
        cursor: str | None = None  # None is left out of the call: some cursor types do not accept an empty text
        while True:
            page = self._call(verb, cursor=cursor, **filter)
            for entry in page.items:
                yield entry
            cursor = page.cursor
            if not cursor:
                return

    def configure(self, *, clock: str | None = None, **settings: Any) -> dict[str, Any]:
        """Change settings and return all of them. Settings that are not given stay unchanged. Times are in seconds.

        Creates the object if it does not exist. With clock="test", its time is that of the client's `clock`.
        """
        answer = self._call("configure", clock=clock, settings=[settings] if settings else [])
        found: dict[str, Any] = answer.settings
        return found

    def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data to the layout of this release. Older releases are refused from then on.

        progress: called after each call with the number of entries converted so far.
        """
        return self._migrate(self.calls, progress)

    def _migrate(self, calls: NounCalls, progress: Callable[[int], object] | None) -> Migration:
        before = (self._runner.send(calls.migrate())).written
        return migrate(self._runner, self.noun, calls, before, progress)
