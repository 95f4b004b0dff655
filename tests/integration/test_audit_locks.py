"""The audit of lock domains finds what it is there for."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.lock.calls import LockCalls
from pyadeq.keys import lock_base
from tests.audit import audit, audit_server

Damage = tuple[str, ...]


class Domain:
    """Holders and waiters of all kinds, and one request that has ended."""

    def __init__(self, client: redis.Redis, name: str) -> None:
        self.client, self.base = client, lock_base(name)
        self.calls = LockCalls(self.base)
        self.run(self.calls.set_capacity("p", 3))
        self.acquire("rid-a", "x", "a")
        self.acquire("rid-b", "x", "b", wait=60)
        self.acquire("rid-c", "s", "c", mode="shared")
        self.acquire("rid-d", "s", "d", mode="shared")
        self.acquire("rid-e", "p", "e", mode="permit", permits=2)
        self.acquire("rid-f", "s", "f", wait=60)
        self.run(self.calls.cancel(["rid-z"]))

    def run(self, call: Call[Any]) -> Any:
        client: Any = self.client
        return call.decode(client.eval(call.script.text, len(call.keys), *call.keys, *call.args))

    def acquire(self, rid: str, resource: str, owner: str, **fields: Any) -> None:
        seconds, micros = self.client.time()
        call = self.calls.acquire(rid, resource, owner, issued_ms=seconds * 1000 + micros // 1000, **fields)
        assert self.run(call).status == ("queued" if "wait" in fields else "granted")

    def edit(self, rid: str, old: str, new: str) -> None:
        """Change a record."""
        key: Any = f"{self.base}:requests"
        record: Any = self.client.hget(key, rid)
        changed = re.sub(old, new, record.decode())
        assert changed != record.decode()
        self.client.hset(key, rid, changed)

    def problems(self) -> list[str]:
        return audit(self.client, self.base)


@pytest.fixture
def domain(client: redis.Redis, base_name: str) -> Domain:
    return Domain(client, base_name)


def test_a_sound_domain_passes(domain: Domain) -> None:
    assert domain.problems() == []
    domain.run(domain.calls.release(["rid-a", "rid-c", "rid-d", "rid-e"]))
    assert domain.problems() == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (("SET", "unheard:of", "1"), "unheard:of: unknown"),
        (("EXPIRE", "graph", "60"), "graph goes by itself"),
        (("HSET", "requests", "rid-a", "held"), "request rid-a is no record"),
        (("HSET", "requests", "rid-z", "ended somehow"), "request rid-z is no record"),
        (("ZREM", "graph", "r x h x a rid-a"), "graph lacks 'r x h x a rid-a'"),
        (("ZREM", "graph", "o c h s s rid-c"), "graph lacks 'o c h s s rid-c'"),
        (("ZREM", "graph", "a e rid-e"), "graph lacks 'a e rid-e'"),
        (("ZADD", "graph", "0", "a ghost rid-a"), "graph has 'a ghost rid-a', which no request says"),
        (("ZADD", "graph", "1", "a a rid-a"), "graph has 'a a rid-a' at 1"),
        (("ZREM", "deadlines", "rid-b"), "deadlines lacks rid-b, which waits"),
        (("ZADD", "deadlines", "1", "ghost"), "deadlines has ghost, which is not live"),
        (("ZADD", "deadlines", "1", "rid-z"), "deadlines has rid-z, which is not live"),
        (("ZREM", "deadlines", "rid-z"), "deadlines lacks rid-z, which has ended"),
        (("ZADD", "deadlines", "-1", "rid-a"), "deadlines has rid-a, as if it had ended"),
        (("ZADD", "deadlines", "1", "rid-b"), "the first deadline 1"),
        (("ZADD", "unchecked", "1", "rid-a"), "unchecked has rid-a, which does not wait"),
        (("HSET", "capacity", "p", "3 active 0 0 1"), "capacity of p has 1 in use, 2 permits are held"),
        (("HDEL", "capacity", "p"), "capacity of p has 0 in use, 2 permits are held"),
        (("HSET", "capacity", "p", "3 gone 0 0 2"), "capacity of p is gone"),
        (("HDEL", "requests", "rid-a"), "request rid-b waits for ['x'], which it could have"),
    ],
)
def test_damage_is_found(domain: Domain, damaged: Callable[[str], None], damage: Damage, words: str) -> None:
    damaged(domain.base)
    command, name, *rest = damage
    client: Any = domain.client
    client.execute_command(command, f"{domain.base}:{name}", *rest)
    assert any(words in problem for problem in domain.problems()), domain.problems()


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({"#waiting": ("2", "1")}, "waiting is 1, 2 wait"),
        ({"#fence": (r"\d+", "1")}, "has the fence"),
        ({"rid-a": (" - ", " 00000000000001000000000001 ")}, "request rid-a held, but its order is 0000"),
        ({"rid-b": (r" \d{26} ", " - ")}, "request rid-b waits, but its order is -"),
        ({"rid-a": (r"/\d+=", "/0=")}, "request rid-a held x without a fence"),
        ({"rid-b": ("/0=", "/7=")}, "request rid-b waits, but has the fence 7 of x"),
        ({"rid-a": (r"/(\d+)=", r"/9\1=")}, "request rid-a has the fence 9"),
        ({"rid-c": (r"/\d+=", "/5="), "rid-d": (r"/\d+=", "/5=")}, "the fence 5 of s is that of ['c', 'd']"),
        ({"rid-a": ("x/", "x+/")}, "request rid-a held, but leans on another hold of x"),
        ({"rid-c": ("s/", "x/"), "rid-d": ("s/", "x/")}, "s is held exclusively under the fences"),
        ({"rid-c": ("s/", "x/")}, "s is held by [('c', 'x'), ('d', 's')]"),
        ({"rid-e": ("=p", "=s")}, "s is held by [('c', 's'), ('d', 's'), ('e', 'p2')]"),
        ({"rid-f": ("waits f", "waits b")}, "b waits by ['rid-b', 'rid-f']"),
    ],
)
def test_a_damaged_record_is_found(
    domain: Domain, damaged: Callable[[str], None], edits: dict[str, tuple[str, str]], words: str
) -> None:
    damaged(domain.base)
    for rid, (old, new) in edits.items():
        domain.edit(rid, old, new)
    assert any(words in problem for problem in domain.problems()), domain.problems()


def test_domains_of_a_server_are_found(domain: Domain, damaged: Callable[[str], None]) -> None:
    damaged(domain.base)
    domain.client.set(f"{domain.base}:more", 1)
    assert f"{domain.base}: more: unknown" in audit_server(domain.client)
    assert not any(domain.base in problem for problem in audit_server(domain.client, [domain.base]))
