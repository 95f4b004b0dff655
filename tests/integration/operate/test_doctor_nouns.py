"""What the doctor says of a noun without checks of its own, shown with lock domains."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from pyadeq import Adeq, library
from pyadeq.ext.operate.doctor import nouns
from tests.small_server import server, url

__all__ = ["server", "url"]  # the doctor looks at all keys of a server

pytestmark = pytest.mark.any_engine

LOCK = library().manifest["nouns"]["lock"]


def found(adeq: Adeq, layout: int = 1) -> Any:
    return nouns.check(LOCK, nouns.look(adeq, "lock", 5), layout)


def test_layouts_and_keys_are_checked(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        assert found(adeq) == ("ok", "no lock domain", "", ())
        locks = adeq.locks("d")
        locks.capacities.set("gpu", 2)
        grant = locks.take("db:1", owner="me")
        assert found(adeq)[:2] == ("ok", "1 lock domain")
        assert found(adeq, layout=2)[:2] == ("warn", "lock domain d: layout 1, this release has 2")
        assert found(adeq, layout=0)[:2] == ("fail", "lock domain d: layout 1 is needed, this release has 0")
        client.set(f"{locks.base}:stray", "1")
        assert found(adeq)[:2] == ("warn", "lock domain d: stray is unknown")
        client.delete(f"{locks.base}:stray")
        client.rename(f"{locks.base}:events", f"{locks.base}:kept")
        client.set(f"{locks.base}:events", "1")
        assert "events is a string, not a stream" in found(adeq).found
        client.rename(f"{locks.base}:kept", f"{locks.base}:events")
        grant.release()
    assert nouns.check(LOCK, None, 1).status == "unknown"


def test_data_without_settings(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        locks = adeq.locks("d")
        locks.capacities.set("gpu", 2)
        client.delete(f"{locks.base}:config")
        assert found(adeq)[:2] == ("fail", "lock domain d: there is data, but no key config")
        client.delete(*client.scan_iter(f"{locks.base}:*"))


def test_only_so_much_time(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        locks = adeq.locks("d")
        locks.capacities.set("gpu", 2)
        assert [one.name for one in nouns.look(adeq, "lock", 5)] == ["d"]
        assert list(nouns._wrong(adeq, "lock", 0)) in ([], ["d"])  # one page, and no more


def test_partitions_are_checked_each_and_counted_as_one(url: str, base_name: str, client: redis.Redis) -> None:
    about = library().manifest["nouns"]["session"]
    with Adeq.from_url(url, prefix=base_name) as adeq:
        made = [adeq.sessions("web").create(user) for user in ("ann", "bob", "cleo")]
        assert len({one.id[:2] for one in made}) == 3

        def checked(layout: int = 1) -> Any:
            return nouns.check(about, nouns.look(adeq, "session", 5), layout)[:2]

        assert checked() == ("ok", "1 session realm")
        part = adeq.sessions("web").part(made[0].id[:2])
        name = f"session realm web/{made[0].id[:2]}"
        client.set(f"{part.base}:stray", "1")
        assert checked() == ("warn", f"{name}: stray is unknown")
        client.delete(f"{part.base}:stray")
        client.hset(f"{part.base}:config", "layout_min", 2)
        assert checked() == ("fail", f"{name}: layout 2 is needed, this release has 1")
        client.hset(f"{part.base}:config", "layout_min", 1)
        client.rename(f"{part.base}:config", f"{base_name}:kept")
        assert checked() == ("fail", f"{name}: there is data, but no key config")
        client.rename(f"{base_name}:kept", f"{part.base}:config")
