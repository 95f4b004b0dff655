"""Servers of one engine to look at: alone, with a replica, and a node of a cluster that lacks some slots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from pyadeq.embedded import EmbeddedServer
from tests.conftest import start_cluster_node
from tests.integration.servers import replica_of, start
from tests.waiting import wait_until

OWN_SLOTS = 8191  # the last slot of the cluster node: bar is in slot 5061, foo in slot 12182
SLOW, USUAL = 50, 5000  # milliseconds until a script is one that has been running for too long


class Lab:
    """Starts what is asked for, and ends it with the context."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def server(self) -> EmbeddedServer:
        return self._stack.enter_context(start(self._binary, {}))

    @cached_property
    def alone(self) -> Any:
        return self.client(self.server)

    @cached_property
    def replica(self) -> Any:
        return self.client(self._stack.enter_context(replica_of(self._binary, self.server)))

    @cached_property
    def node(self) -> Any:
        """Half of a cluster: it serves the slots of bar and baz, and nobody serves that of foo."""
        client = self.client(self._stack.enter_context(start_cluster_node(self._binary)))
        client.config_set("cluster-require-full-coverage", "no")
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, OWN_SLOTS)
        wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        return client

    def client(self, server: EmbeddedServer) -> Any:
        return self._stack.enter_context(redis.Redis.from_url(server.url, decode_responses=True))

    @contextmanager
    def user(self, *rights: str) -> Iterator[Any]:
        """A user of the single server who may do so much and nothing else."""
        self.alone.execute_command("ACL", "SETUSER", "guest", "reset", "on", ">guest", *rights)
        with redis.Redis.from_url(self.server.url, username="guest", password="guest", decode_responses=True) as client:
            yield client
        self.alone.execute_command("ACL", "DELUSER", "guest")

    @contextmanager
    def full(self) -> Iterator[None]:
        """The single server's memory is full."""
        self.alone.config_set("maxmemory", 1)
        yield
        self.alone.config_set("maxmemory", 0)

    @contextmanager
    def hung(self) -> Iterator[list[str]]:
        """A script of the single server does not end until it is killed; then, what its caller is told."""
        told: list[str] = []
        self.alone.config_set("busy-reply-threshold", SLOW)
        caller = self.client(self.server)
        thread = threading.Thread(target=lambda: told.append(said(lambda: caller.eval("while true do end", 0))))
        thread.start()
        try:
            wait_until(lambda: "busy" in said(self.alone.ping))
            yield told
        finally:
            said(self.alone.script_kill)
            thread.join()
            self.alone.config_set("busy-reply-threshold", USUAL)


def said(call: Callable[[], object]) -> str:
    """What a server answers, errors too; redis-py cuts the codes of most off, so all are."""
    try:
        return str(call())
    except redis.ResponseError as error:
        return str(error).removeprefix("BUSY ")
