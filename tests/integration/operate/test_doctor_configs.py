"""What the doctor says of config namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from pyadeq import Adeq
from pyadeq.access import acl_rules
from pyadeq.ext.operate.doctor import configs, examine
from tests.small_server import server, url

__all__ = ["server", "url"]  # the doctor looks at all keys of a server

pytestmark = pytest.mark.any_engine
DAY = 86_400_000  # ms


@pytest.fixture(autouse=True)
def cleared(base_name: str, client: redis.Redis) -> Iterator[None]:
    """The tests damage their namespaces, and what is left on the server has to be sound."""
    yield
    client.delete(*client.scan_iter(f"{base_name}:*"))


@pytest.fixture
def adeq(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        yield adeq


def found(adeq: Adeq) -> Any:
    (one,) = [check for check in examine(adeq).checks if check.name == "configs"]
    return one


def test_a_sound_namespace(adeq: Adeq) -> None:
    assert found(adeq).found == "no config namespace"
    config = adeq.config("d")
    config.set_many({f"name-{number}": number for number in range(60)})
    config.set("flag:new", "enabled")
    config.remove("name-1")
    assert (found(adeq).status, found(adeq).found) == ("ok", "1 config namespace")


def test_values_that_are_lost(adeq: Adeq, client: redis.Redis) -> None:
    config = adeq.config("d")
    config.set_many({"a": 1, "b": 2, "c": 3})
    config.remove("c")
    client.delete(f"{config.base}:value:c")
    assert found(adeq).status == "ok", "it had none"
    client.delete(f"{config.base}:value:a")
    assert (found(adeq).status, found(adeq).found) == ("fail", "config namespace d: a has lost the value")
    assert found(adeq).how == ["adeq config history a --namespace d, and set it again"]
    client.delete(f"{config.base}:value:b")
    assert found(adeq).found == "config namespace d: a, b have lost the value"
    config.set_many({"a": 1, "b": 2})
    assert found(adeq).status == "ok"


def test_a_record_of_another_time(adeq: Adeq, client: redis.Redis) -> None:
    config = adeq.config("d")
    config.set("a", 1)
    copy = client.dump(f"{config.base}:value:a")
    config.set("a", 2)
    client.restore(f"{config.base}:value:a", 0, copy or b"", replace=True)
    assert found(adeq).found == "config namespace d: a has another version than snapshots are told of"
    assert found(adeq).status == "fail"
    config.set("a", 2)
    assert found(adeq).status == "ok"
    client.zadd(f"{config.base}:changed", {"a": 1})  # lower than that of the record
    assert found(adeq).status == "fail"


def test_a_rev_of_another_time(adeq: Adeq, client: redis.Redis) -> None:
    config = adeq.config("d")
    version = config.set("a", 1)
    client.hset(f"{config.base}:config", "rev", 7)
    assert found(adeq).found == f"config namespace d: its rev 7 is lower than version {version} of a name"
    config.set("b", 1)
    assert found(adeq).status == "ok"


def test_flags_that_no_program_accepts(adeq: Adeq) -> None:
    config = adeq.config("d")
    config.set("flag:good", "enabled")
    item = [{"name": "flag:bad", "value": b'{"state": "ON"}'}]
    adeq.send(config.calls.build("set", item=item))  # as a client does that does not know flags
    bad = found(adeq)
    assert bad.status == "warn"
    assert bad.found.startswith("config namespace d: flag:bad is no flag: ")
    assert "allowed: ENABLED or DISABLED" in bad.found
    config.remove("flag:bad")
    assert found(adeq).status == "ok"


def test_nearly_as_many_names_as_allowed(adeq: Adeq) -> None:
    config = adeq.config("d")
    config.configure(names_max=20)
    config.set_many({f"name-{number}": number for number in range(17)})
    assert found(adeq).status == "ok"
    config.set("name-17", 1)
    full = found(adeq)
    assert (full.status, full.found) == ("warn", "config namespace d: 18 names, of 20 that are allowed")
    assert full.how == ["remove some, or: adeq config configure --namespace d --names-max 40"]


def test_removed_names_that_nobody_deletes(adeq: Adeq, client: redis.Redis) -> None:
    config = adeq.config("d")
    names = [f"name-{number}" for number in range(100)]
    config.set_many(dict.fromkeys(names, 1))
    config.set_many({}, remove=names)
    assert found(adeq).status == "ok", "they are known for a day"
    ago = client.time()[0] * 1000 - 2 * DAY
    client.zadd(f"{config.base}:removed", dict.fromkeys(names, ago))
    late = found(adeq)
    assert late.found == (
        "config namespace d: 100 names were removed long ago, and are still stored with their history"
    )
    assert late.how == ['in Python: adeq.config("d").sweep()']
    assert config.sweep() == 100
    assert found(adeq).status == "ok"


def test_the_clock_of_a_test_says_nothing(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name, clock=lambda: 5000) as adeq:
        config = adeq.config("d")
        config.configure(clock="test")
        config.set("a", 1)
        config.remove("a")
        assert configs.look(adeq, config.base).overdue == 0


def test_an_observer_may_look(adeq: Adeq, url: str, base_name: str, client: redis.Redis) -> None:
    config = adeq.config("d")
    config.set_many({"a": 1, "flag:new": "enabled"})
    client.delete(f"{config.base}:value:a")
    user = f"user-{base_name}"
    rules = acl_rules("observer", prefix=base_name)
    allowed = ["+type", "+acl|dryrun", "+acl|whoami"]
    client.execute_command("ACL", "SETUSER", user, "on", ">secret", *rules, *allowed)  # type: ignore[no-untyped-call]
    try:
        with Adeq.from_url(url, prefix=base_name, username=user, password="secret") as observer:
            assert found(observer).found == "config namespace d: a has lost the value"
    finally:
        client.acl_deluser(user)
