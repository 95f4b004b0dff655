"""A server on which vectors are recorded and replayed, one after the other, each on a base that holds nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import redis

from pyadeq._core.kernel.call import Reply
from pyadeq._core.kernel.manifest import Script, library
from tests.embedding.states import State, read, restore
from tests.embedding.vectors import BASES, base_of
from tests.nouns.benches import BENCHES
from tests.nouns.script_bench import Bench, keys_of
from tests.nouns.watched import WatchedClient


class Stage:
    """Its server is nobody else's: all that it holds is deleted each time, and its memory may be full for a call."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.watched = WatchedClient(client)
        self.server = self.watched.server
        self.server.all([("SCRIPT", "LOAD", library()[script_id].text) for script_id in library()])

    def clear(self) -> None:
        self._fill(False)
        self.server("FLUSHALL")

    def bench(self, noun: str) -> Bench:
        """One of a noun, empty and with a test clock."""
        self.clear()
        return BENCHES[noun](self.client, self.watched, BASES[noun])

    def is_full(self) -> bool:
        _, most = self.server("CONFIG", "GET", "maxmemory")
        return int(most) > 0

    def hold(self, bench: Bench) -> State:
        """What a bench holds."""
        return read(self.server, bench.base)

    def perform(
        self, script: Script, before: State, argv: Sequence[bytes], *, full: bool = False
    ) -> tuple[Reply | str, State]:
        """The answer to a call, or the words of its error, and the state that follows."""
        base = base_of(script)
        self.clear()
        restore(self.server, base, before)
        self._fill(full)
        try:
            reply = self.send(script, argv)
        finally:
            self._fill(False)
        return reply, read(self.server, base)

    def send(self, script: Script, argv: Sequence[bytes]) -> Reply | str:
        """The answer to a call, or the words of its error."""
        keys = keys_of(script, base_of(script))
        verb = "EVALSHA_RO" if script.read_only else "EVALSHA"
        try:
            return list(self.server(verb, script.sha1, len(keys), *keys, *argv))
        except redis.ResponseError as error:
            return str(error)

    @contextmanager
    def listening(self, channels: Sequence[str]) -> Iterator[Callable[[], list[tuple[str, str]]]]:
        """What was published on these channels since the last call of what it yields."""
        with self.client.pubsub() as listener:  # type: ignore[no-untyped-call]
            for channel in channels:
                listener.ssubscribe(channel)

            def heard() -> list[tuple[str, str]]:
                found = []
                while channels and (message := listener.get_sharded_message(timeout=0.1)):
                    if message["type"] == "smessage":
                        found.append((message["channel"].decode(), message["data"].decode()))
                return found

            heard()
            yield heard

    def _fill(self, full: bool) -> None:
        self.server.all(
            [("CONFIG", "SET", "maxmemory-policy", "noeviction"), ("CONFIG", "SET", "maxmemory", int(full))]
        )
