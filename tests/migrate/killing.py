"""A process that kills itself at a step of what it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from redis import Redis

from pyadeq.errors import AdeqError
from pyadeq.ext.move.migrate import Migration, escrow, move
from tests.waiting import wait_until


def kill_at(step: str, nth: int) -> Callable[[str], None]:
    """Return what is called with the name of each step. step: "" for any. nth: which time it comes.

    The deletions of a cleanup are steps, too: `place dropped`, `places dropped` and `about dropped`.
    """
    left = nth

    def at(now: str) -> None:
        nonlocal left
        left -= step in ("", now)
        if step in ("", now) and not left:
            os.kill(os.getpid(), signal.SIGKILL)

    class Escrow(escrow.Escrow):
        def _call(self, script: str, keys: Any, *arguments: Any) -> Any:
            found = super()._call(script, keys, *arguments)
            if script == "drop":
                at({self._places: "places", self._about: "about"}.get(keys[0], "place") + " dropped")
            return found

    vars(move)["Escrow"] = Escrow
    return at


def clean_up(migration: Migration) -> None:
    """Clean up. It is refused while a producer enqueues a message, and then tried again."""

    def is_done() -> bool:
        try:
            migration.cleanup()
        except AdeqError as error:
            if "only in the escrow" not in str(error):
                raise
            return False
        return True

    wait_until(is_done)


def escrow_keys(client: Redis) -> list[Any]:
    """The keys of all escrows, but for the answers to producers, which expire."""
    return [key for key in client.scan_iter("adeq:migrate:*") if b":wrote:" not in key]
