"""What clients in any language say to a server: each command on the wire, with its reply."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import hiredis

LISTENS = {b"SUBSCRIBE", b"SSUBSCRIBE", b"PSUBSCRIBE", b"MONITOR"}  # what follows is no reply


@dataclass(slots=True)
class Said:
    """A command and what came of it. Times by the monotonic clock; no end: the connection went before the reply."""

    words: list[bytes]
    began: float
    ended: float | None = None
    reply: Any = None


class Tap:
    """The watcher of a connection behind a Proxy. said: what all of them have heard."""

    def __init__(self, said: list[Said]) -> None:
        self._said = said
        self._waiting: deque[Said] = deque()  # replies come in the order of commands
        self._commands = hiredis.Reader()
        self._replies = hiredis.Reader()
        self._listens = False

    def asked(self, data: bytes) -> None:
        self._commands.feed(data)
        while not self._listens and (words := self._commands.gets()) is not False:
            self._listens = words[0].upper() in LISTENS
            self._waiting.append(Said(words, time.monotonic()))
            self._said.append(self._waiting[-1])

    def answered(self, data: bytes) -> None:
        self._replies.feed(data)
        while not self._listens and (reply := self._replies.gets()) is not False:
            if not isinstance(reply, hiredis.PushNotification):
                said = self._waiting.popleft()
                said.ended, said.reply = time.monotonic(), reply
