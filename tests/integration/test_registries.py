"""Lists of names: what clients and scans add to registries, and what the lists say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Task, TransportError
from pyadeq.access import acl_rules
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError, WaitTimeout
from pyadeq.keys import name_of_key
from tests.integration.servers import ask, is_old
from tests.waiting import wait_until


@pytest.fixture
def prefix(base_name: str) -> str:
    return base_name


def listed(adeq: Adeq, noun: str) -> list[str]:
    return list(adeq.registry(noun).list())


@pytest.mark.parametrize("slot", [None, "s"])
def test_a_client_adds_a_name_after_its_first_write(url: str, prefix: str, slot: str | None) -> None:
    with Adeq.from_url(url, prefix=prefix, slot=slot) as adeq:
        with Adeq.from_url(url, prefix=prefix, slot=slot) as writer:
            writer.queue("only-read").stats()
            writer.queue("mail").enqueue({})
            with writer.pipeline() as pipe:
                for name in ("a", "b"):
                    pipe.add(writer.queue(name).calls.enqueue([("x", Task())], rid=name))
            writer.locks("repo").take("x", owner="me").release()
            writer.config("flags").set("x", b"1")
        assert (listed(adeq, "queue"), listed(adeq, "lock")) == (["a", "b", "mail"], ["repo"])
        assert listed(adeq, "config") == ["flags"]
        # Without a complete scan, lists of names do not rely on it.
        assert adeq.registry("queue").page().complete_until == 0
        assert sorted(adeq.queues()) == ["a", "b", "mail"]


async def test_asyncio_does_the_same(url: str, prefix: str) -> None:
    async with AsyncAdeq.from_url(url, prefix=prefix) as adeq:
        await adeq.queue("mail").enqueue({})
    with Adeq.from_url(url, prefix=prefix) as other:
        assert listed(other, "queue") == ["mail"]


def test_a_name_is_added_once_per_process(url: str, prefix: str) -> None:
    for _ in range(2):
        with Adeq.from_url(url, prefix=prefix) as adeq:
            adeq.queue("mail").enqueue({})
            adeq.queue("mail").enqueue({})
    with Adeq.from_url(url, prefix=prefix) as adeq:
        adeq.registry("queue").remove(["mail"])
        adeq.queue("mail").enqueue({})
    with Adeq.from_url(url, prefix=prefix) as adeq:
        assert listed(adeq, "queue") == []


def test_what_does_not_exist_has_no_name(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        assert adeq.queue("ghost").cancel("x") == "not_found"
        wait_until(lambda: not adeq._registering.is_working)
        assert listed(adeq, "queue") == []
        adeq.queue("ghost").enqueue({})
        wait_until(lambda: listed(adeq, "queue") == ["ghost"])


def test_one_process_scans_at_a_time(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        adeq.queue("mail").enqueue({})
        wait_until(lambda: not adeq._registering.is_working)
        adeq.registry("queue").remove(["mail"])
        assert adeq.registry("change").begin_scan("other")
        assert adeq.update_registries(every=60)["added"] == 0, "another one scans"
        assert adeq.update_registries()["added"] == 1, "who asks for a scan now gets one"
        assert adeq.registry("change").begin_scan("other"), "the scan has ended"


def test_partitions_have_their_own_names(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        adeq.partitioned("parts").repartition(2)
        adeq.partitioned("parts").enqueue_many([{}] * 8)
        adeq.update_registries()
        names = list(adeq.names("queue", partitions=True))
        assert len([name for name in names if name.startswith("parts/")]) == 2
        assert list(adeq.names("queue")) == ["parts"]
        assert sorted(names) == sorted(adeq.names("queue", partitions=True, scan=True))


def test_a_scan_finds_what_other_clients_wrote_and_removes_what_was_deleted(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        for name in ("kept", "deleted"):
            adeq.queue(name).enqueue({})
        wait_until(lambda: len(listed(adeq, "queue")) == 2)
        adeq.client.hset(f"{prefix}:{{queue:other}}:config", mapping={"layout": 1})  # another client's, not registered
        adeq.client.delete(*adeq.client.keys(f"{prefix}:{{queue:deleted}}*"))
        assert adeq.update_registries() == {"added": 1, "removed": 1}
        assert list(adeq.names("queue")) == ["kept", "other"]
        assert adeq.update_registries(every=60) == {"added": 0, "removed": 0}
        # The list comes from the registry now: a key that was written past all clients is found by the next scan.
        adeq.client.hset(f"{prefix}:{{queue:late}}:config", mapping={"layout": 1})
        assert list(adeq.names("queue")) == ["kept", "other"]
        assert sorted(adeq.names("queue", scan=True)) == ["kept", "late", "other"]
        assert adeq.update_registries() == {"added": 1, "removed": 0}


def test_a_scan_that_fails_removes_nothing(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url, retry_for=0) as adeq:
        adeq.queue("mail").enqueue({})
        wait_until(lambda: listed(adeq, "queue") == ["mail"])
        adeq.client.delete(*adeq.client.keys("ade:{queue:mail}*"))
        ask(server, "ACL", "SETUSER", "x", "reset", "on", ">x", *acl_rules("operator", old=is_old(server)), "-scan")
        with (
            Adeq.from_url(server.url, username="x", password="x") as other,
            pytest.raises(TransportError, match="SCAN"),
        ):
            other.update_registries()
        assert listed(adeq, "queue") == ["mail"]
        assert adeq.update_registries() == {"added": 0, "removed": 1}


def test_who_may_not_add_names_can_still_write(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as root:
        for user, queues in {"all": None, "some": ["mail", "post"]}.items():
            ask(
                server,
                "ACL",
                "SETUSER",
                user,
                "reset",
                "on",
                ">x",
                *acl_rules("producer", queues=queues, old=is_old(server)),
            )
        with Adeq.from_url(server.url, username="some", password="x") as limited:
            for name in ("mail", "post"):
                limited.queue(name).enqueue({})
                wait_until(lambda: not limited._registering.is_working)
            with pytest.raises(TransportError, match="NOPERM"):
                limited.registry("queue").page()
            assert sorted(limited.queues()) == ["mail", "post"], "its lists are scans"
        assert len(ask(server, "ACL", "LOG")) == 1, "the client does not try again"
        assert listed(root, "queue") == []
        with Adeq.from_url(server.url, username="all", password="x") as whole:
            whole.queue("news").enqueue({})
            with pytest.raises(TransportError, match="NOPERM"):
                whole.registry("queue").remove(["news"])
        assert listed(root, "queue") == ["news"]
        assert root.update_registries()["added"] == 2


def test_a_full_registry_is_not_complete(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        adeq.registry("queue").configure(names_max=1)
        for name in ("a", "b"):
            adeq.queue(name).enqueue({})
        wait_until(lambda: not adeq._registering.is_working)
        adeq.update_registries()
        assert adeq.registry("queue").page().total == 1
        assert sorted(adeq.queues()) == ["a", "b"], "the list is a scan"
        with pytest.raises(ConfigError, match="share: 0 is not accepted"):
            adeq.update_registries(share=0)


def test_a_scan_says_when_its_time_is_over(url: str, prefix: str) -> None:
    with Adeq.from_url(url, prefix=prefix) as adeq:
        for start in range(0, 5000, 1000):
            adeq.client.mset({f"{{{prefix}}}:x{number}": "" for number in range(start, start + 1000)})
        with pytest.raises(WaitTimeout, match="give it more time"):
            list(adeq.names("queue", timeout=0))
        for start in range(0, 5000, 1000):
            adeq.client.delete(*[f"{{{prefix}}}:x{number}" for number in range(start, start + 1000)])


@pytest.mark.parametrize(
    ("key", "slot", "found"),
    [
        ("ade:{queue:mail}:config", None, ("queue", "mail")),
        ("ade:{queue:mail/p1}:config", None, ("queue", "mail/p1")),
        ("ade:{s}:queue:mail:config", "s", ("queue", "mail")),
        ("ade:{s}:queue:mail/p1:config", "s", ("queue", "mail/p1")),
        ("ade:{s}:queue:mail:config", None, None),
        ("ade:{queue:mail}:events", None, None),
        ("ade:{queue:mail/p1/x}:config", None, None),
        ("ade:{queue:}:config", None, None),
        ("other:{queue:mail}:config", None, None),
        ("ade:{queue:mail}:x:config", None, None),
    ],
)
def test_the_name_of_a_key(key: str, slot: str | None, found: Any) -> None:
    assert name_of_key(key, "ade", slot) == found
