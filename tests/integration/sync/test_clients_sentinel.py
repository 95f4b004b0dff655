# Generated from tests/integration/aio/test_clients_sentinel.py by pyadeq/_unasync.py; do not edit.
"""With Sentinel the calls find the primary, and find it again after a failover."""

from collections.abc import Iterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from redis import SSLConnection, sentinel
from redis.retry import Retry
from redis.backoff import NoBackoff

from pyadeq._sync.kernel.hints import Hints
from pyadeq import Adeq
from pyadeq.errors import ConfigError, TransportError
from pyadeq.keys import lock_base, queue_base
from tests.conftest import CLUSTER
from tests.integration.servers import HOST, Watched, ask, unused_port
from tests.waiting import DEADLINE, LONGEST_RETRY, wait_until

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


class Counted(NoBackoff):
    """Counts how often redis-py would try again."""

    count = 0

    def compute(self, failures: int) -> float:
        Counted.count += 1
        return 0.0


@contextmanager
def watch(*sentinels: tuple[str, int], **options: Any) -> Iterator[Any]:
    untyped: Any = sentinel
    manager = untyped.Sentinel(sentinels, **options)
    yield manager
    for client in manager.sentinels:
        client.close()


@pytest.fixture
def watched(binary: Any) -> Iterator[Watched]:
    with Watched(binary) as watched:
        yield watched


def record(name: str) -> str:
    return f"{queue_base(name)}:task:a"


def test_a_demoted_primary_is_left(watched: Watched, base_name: str) -> None:
    with watch((HOST, watched.sentinel_port)) as manager:
        client = manager.master_for("adeq", decode_responses=True)
        with client, Adeq(client, retry_for=LONGEST_RETRY) as adeq:
            queue = adeq.queue(base_name)
            queue.enqueue(1, id="a", rid="r")
            wait_until(lambda: ask(watched.replica, "EXISTS", record(base_name)))
            watched.fail_over()
            assert (queue.enqueue(1, id="a", rid="r")).status == "created"
            queue.enqueue(2, id="b")
            assert [lease.id for lease in queue.claim(wait=5)] == ["a", "b"]
            wait_until(lambda: ask(watched.primary, "ROLE")[0] == "slave")
            assert ask(watched.replica, "EXISTS", record(base_name)) == 1


def test_a_url_names_sentinels(watched: Watched, base_name: str) -> None:
    url = f"sentinel://{HOST}:{unused_port()},{HOST}:{watched.sentinel_port}/adeq"
    with Adeq.from_url(url, retry_for=LONGEST_RETRY, decode_responses=True) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue(1, id="a", rid="r")
        wait_until(lambda: ask(watched.replica, "EXISTS", record(base_name)))
        watched.fail_over()
        assert (queue.enqueue(1, id="a", rid="r")).status == "created"
        assert sorted(adeq.address.partition("//")[2].split("/")[0].split(",")) == sorted(url[11:-5].split(","))
        assert adeq.address.endswith("/adeq/0")
        with Adeq.from_url(adeq.address, source="me") as again:
            assert again.address == adeq.address
            assert (again.queue(base_name).stats()).ready == 1


def test_parts_of_a_url_of_sentinels() -> None:
    url = "sentinels://me:w%40rd@one,[::1]:2/my%20name/3?sentinel_password=a&ssl_ca_certs=ca.pem&socket_timeout=4"
    with Adeq.from_url(url) as adeq:
        pool: Any = adeq.client.connection_pool  # type: ignore[union-attr]
        wanted = {"username": "me", "password": "w@rd", "db": 3, "ssl_ca_certs": "ca.pem", "socket_timeout": 4.0}
        assert wanted.items() <= pool.connection_kwargs.items()
        assert pool.service_name == "my name"
        sentinels = [one.connection_pool for one in pool.sentinel_manager.sentinels]
        assert [(one.connection_kwargs["host"], one.connection_kwargs["port"]) for one in sentinels] == [
            ("one", 26379),
            ("::1", 2),
        ]
        for one in sentinels:
            assert {"password": "a", "ssl_ca_certs": "ca.pem", "socket_timeout": 4.0}.items() <= (
                one.connection_kwargs.items()
            )
            assert one.connection_kwargs.get("username") is None
        assert all(issubclass(one.connection_class, SSLConnection) for one in (pool, *sentinels))
        with Adeq.from_url(adeq.address) as again:
            assert again.address == adeq.address


@pytest.mark.parametrize("rest", ["host:1", "host:1/", "/adeq", "a,,b/adeq", "host:x/adeq", "host:1/adeq/x"])
def test_a_url_of_sentinels_that_is_refused(rest: str) -> None:
    with pytest.raises(ConfigError, match="sentinel://host:port,host:port/name") as refused:
        Adeq.from_url(f"sentinel://me:secret@{rest}")
    assert "secret" not in str(refused.value)
    with pytest.raises(ConfigError, match="from_url has no such option"):
        Adeq.from_url("sentinel://host/adeq", retry_fro=1)


@pytest.mark.slow
def test_a_block_ends_with_the_failover(watched: Watched, base_name: str) -> None:
    key = f"{queue_base(base_name)}:wake:any"

    def fail_over() -> None:
        wait_until(lambda: ask(watched.primary, "INFO", "clients")["blocked_clients"] == 1)
        watched.fail_over()

    with watch((HOST, watched.sentinel_port)) as manager:
        client = manager.master_for("adeq")
        with client, Adeq(client, retry_for=LONGEST_RETRY) as adeq:
            with ThreadPoolExecutor() as other:
                done = other.submit(fail_over)
                adeq.block([key], 10)
                done.result()
            wait_until(lambda: ask(watched.primary, "ROLE")[0] == "slave")
            ask(watched.replica, "RPUSH", key, "1")
            assert adeq.block([key], 10) or adeq.block([key], 10)


@pytest.mark.slow
def test_hints_come_from_the_new_primary(watched: Watched, base_name: str) -> None:
    with watch((HOST, watched.sentinel_port)) as manager:
        client = manager.master_for("adeq")
        with client, Adeq(client) as adeq:
            hints = Hints(adeq._nodes)
            with hints.listening(base_name) as ear:
                assert ask(watched.primary, "SPUBLISH", base_name, "before") == 1
                assert ear.wait(DEADLINE) == ["before"]
                watched.primary.kill()
                assert ear.wait(DEADLINE) == ["reconnected"]
                assert ask(watched.replica, "SPUBLISH", base_name, "after") == 1
                assert ear.wait(DEADLINE) == ["after"]
            hints.close()


@pytest.mark.slow
def test_a_lost_primary_is_replaced(watched: Watched, base_name: str) -> None:
    silent = {"retry": Retry(Counted(), 1000), "socket_timeout": 1.0}
    with watch((HOST, unused_port()), (HOST, watched.sentinel_port), sentinel_kwargs=silent) as manager:
        client = manager.master_for("adeq", retry=Retry(Counted(), 1000))
        with client, Adeq(client) as adeq:  # it repeats its calls for longer than any other client
            queue = adeq.queue(base_name)
            queue.enqueue(1, id="a", rid="r")
            wait_until(lambda: ask(watched.replica, "EXISTS", record(base_name)))
            watched.notice_after(7)
            watched.primary.kill()
            assert (queue.enqueue(1, id="a", rid="r")).status == "created"
    assert Counted.count == 0


def test_without_a_primary_there_is_an_error(watched: Watched, base_name: str) -> None:
    with watch((HOST, watched.sentinel_port)) as manager:
        client = manager.master_for("unknown")
        with client, Adeq(client, retry_for=0.1) as adeq:
            with pytest.raises(TransportError, match="unknown") as lost:
                adeq.queue(base_name).stats()
            assert (lost.value.retryable, lost.value.may_have_applied) == (True, False)


@pytest.mark.slow
def test_names_are_found_after_a_failover(watched: Watched, base_name: str) -> None:
    with watch((HOST, watched.sentinel_port)) as manager:
        client = manager.master_for("adeq")
        with client, Adeq(client, prefix=base_name, retry_for=LONGEST_RETRY) as adeq:
            adeq.queue("a").enqueue_many([{}] * 3000)
            adeq.locks("d").configure()
            wait_until(lambda: ask(watched.replica, "EXISTS", f"{lock_base('d', base_name)}:config"))
            watched.fail_over()
            assert [name for name in adeq.queues()] == ["a"]
            assert [name for name in adeq.lock_domains()] == ["d"]
