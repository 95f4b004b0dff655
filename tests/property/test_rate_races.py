"""Many processes on one rule, judged by the order of the server; and a holder that is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.nouncalls import NounCalls, script_of
from tests.property.change_driver import plain
from tests.waiting import DEADLINE

PROCESSES = 50
FORK: Any = multiprocessing.get_context("fork")  # 50 new interpreters would take a minute


class Namespace:
    """A rate namespace on the server's clock, and one connection to it."""

    def __init__(self, url: str, base: str) -> None:
        self.url, self.calls = url, NounCalls(base, noun="rate", new_rid=None)
        self.client: Any = redis.Redis.from_url(url)
        for id in library():
            if id.startswith("rate."):
                self.client.script_load(library()[id].text)

    def send(self, verb: str, **arguments: Any) -> Any:
        reply = self.client.execute_command(*self.calls.build(verb, **arguments).command())
        return plain(parse_reply(script_of("rate", verb), reply))

    def set_rule(self, **rule: Any) -> None:
        self.send("set_rules", rid=os.urandom(8).hex(), item=[{"name": "r", **rule}])

    def hit(self, **arguments: Any) -> Any:
        return self.send("hit", item=[("r", "all", None)], **arguments)


@pytest.fixture
def namespace(url: str, base_name: str) -> Iterator[Namespace]:
    namespace = Namespace(url, f"ade:{{rate:{base_name}}}")
    yield namespace
    namespace.client.close()


class Monitor:
    """The commands of scripts on keys of a namespace, in the order of the server."""

    def __init__(self, namespace: Namespace) -> None:
        self.client: Any = redis.Redis.from_url(namespace.url, socket_timeout=DEADLINE)
        pool: Any = self.client.connection_pool
        self.connection = pool.get_connection()
        self.connection.send_command("MONITOR")
        assert self.connection.read_response() in (b"OK", "OK")
        self.base = namespace.calls.base.encode()

    def until(self, word: str) -> list[list[bytes]]:
        """Those before a command with this word, which the caller sends."""
        found: list[list[bytes]] = []
        while word.encode() not in (line := self.connection.read_response(disable_decoding=True)):
            if b"lua]" in line and self.base in line:
                found.append([part.strip(b'"') for part in line.partition(b"] ")[2].split()])
        self.client.close()
        return found


def work(namespace: Namespace, tries: int, barrier: Any, allowed: Any) -> None:
    """What each process does: hits as fast as it can. Leases are given back."""
    own = Namespace(namespace.url, namespace.calls.base)
    barrier.wait(DEADLINE)
    for number in range(tries):
        rid = f"{os.getpid()}.{number}"
        if own.hit(rid=rid)[0] == "allowed":
            with allowed.get_lock():
                allowed.value += 1
            own.send("release", item=[("r", "all", rid)])


def all_at_once(namespace: Namespace, tries: int) -> tuple[int, list[list[bytes]]]:
    """How many hits were allowed by their answers, and the commands."""
    barrier, allowed, monitor = FORK.Barrier(PROCESSES), FORK.Value("i", 0), Monitor(namespace)
    processes = [FORK.Process(target=work, args=(namespace, tries, barrier, allowed)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(DEADLINE)
    assert {process.exitcode for process in processes} == {0}
    namespace.client.get("the-end")
    return allowed.value, monitor.until("the-end")


@pytest.mark.slow
def test_fifty_processes_get_exactly_the_burst(namespace: Namespace) -> None:
    namespace.set_rule(limit=1, period_ms=86_400_000, burst=31)
    allowed, commands = all_at_once(namespace, 3)
    stored = [int(one[2]) for one in commands if one[0] == b"SET" and b":g:" in one[1]]
    assert allowed == len(stored) == 31
    assert stored == sorted(set(stored))


@pytest.mark.slow
def test_fifty_processes_on_a_log_never_get_one_too_many_in_a_period(namespace: Namespace) -> None:
    limit, period_ms = 20, 50
    namespace.set_rule(algorithm="log", limit=limit, period_ms=period_ms)
    allowed, commands = all_at_once(namespace, 40)
    times = [int(one[2]) for one in commands if one[0] == b"LPUSH"]
    assert allowed == len(times) > limit
    assert times == sorted(times)
    ahead = [later - earlier for earlier, later in zip(times, times[limit:], strict=False)]
    assert min(ahead) > period_ms * 1000, "the hit that is `limit` later is in another period"


@pytest.mark.slow
def test_fifty_processes_never_hold_more_leases_than_there_are(namespace: Namespace) -> None:
    namespace.set_rule(algorithm="concurrency", limit=3, lease_ms=3_600_000)
    allowed, commands = all_at_once(namespace, 5)
    held: set[bytes] = set()
    most = 0
    for command in commands:
        if command[0] == b"ZADD":
            held.add(command[3])
        elif command[0] == b"ZREM":
            held.discard(command[2])
        most = max(most, len(held))
    assert most <= 3
    assert allowed == sum(command[0] == b"ZADD" for command in commands) > 0
    assert not held


def hold(namespace: Namespace, held: Any) -> None:
    own = Namespace(namespace.url, namespace.calls.base)
    assert own.hit(rid="lease")[0] == "allowed"
    held.set()
    signal.pause()


def test_the_lease_of_a_killed_holder_is_free_when_it_ends_and_not_before(namespace: Namespace) -> None:
    namespace.set_rule(algorithm="concurrency", limit=1, lease_ms=1000)
    held = FORK.Event()
    holder = FORK.Process(target=hold, args=(namespace, held))
    holder.start()
    assert held.wait(DEADLINE)
    until_ms = int(namespace.client.zscore(f"{namespace.calls.base}:c:r|all", "lease"))
    holder.kill()
    holder.join(DEADLINE)
    refused = 0
    while (answer := namespace.hit(rid=os.urandom(8).hex()))[0] == "refused":
        refused += 1
        assert answer[1]["now_ms"] + answer[1]["retry_ms"] == until_ms
        assert answer[1]["now_ms"] < until_ms
    assert answer[1]["now_ms"] >= until_ms
