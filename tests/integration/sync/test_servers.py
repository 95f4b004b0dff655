# Generated from tests/integration/aio/test_servers.py by pyadeq/_unasync.py; do not edit.
"""What a client says of a server that does not suit it."""

import logging
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq._sync.kernel import scripts
from pyadeq import Adeq
from pyadeq.errors import ConfigError
from tests.engines.wheels import TOO_OLD
from tests.waiting import wait_until

CALLS: dict[str, Callable[[Adeq], object]] = {
    "queue.enqueue.v1": lambda adeq: adeq.queue("q").enqueue(1),
    "queue.stats.v1": lambda adeq: adeq.queue("q").stats(),
    "SCRIPT LOAD change.assess.v1": lambda adeq: adeq.load_scripts(),
    "lock.stats.v1": lambda adeq: adeq.locks("d").take("db:1", owner="a"),
}


@pytest.fixture(scope="module")
def old() -> Iterator[str]:
    try:
        binary = TOO_OLD.fetch()
    except LookupError as reason:
        pytest.skip(str(reason))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/server.sock"
        settings = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
        server = subprocess.Popen([binary, *settings], stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: Path(path).exists())
            yield f"unix://{path}"
        finally:
            server.kill()
            server.wait()


@pytest.mark.parametrize("subject", CALLS)
def test_a_server_that_is_too_old(old: str, subject: str) -> None:
    with Adeq.from_url(old) as adeq:
        with pytest.raises(ConfigError) as caught:
            CALLS[subject](adeq)
    assert str(caught.value) == (
        f"{subject}: pyadeq needs Redis 7.0 or Valkey 7.2, or newer; this is Redis 6.2.14; upgrade the server, or "
        "connect to another"
    )


def test_a_pipeline_to_a_server_that_is_too_old(old: str) -> None:
    with Adeq.from_url(old) as adeq:
        with adeq.pipeline() as pipe:
            values = [pipe.add(adeq.queue("q").calls.stats()) for _ in range(2)]
        for value in values:
            with pytest.raises(ConfigError, match=r"this is Redis 6\.2\.14"):
                _ = value.value


@pytest.mark.parametrize(
    ("policy", "lost"),
    [("allkeys-lru", "tasks and locks"), ("volatile-ttl", "results, wake-ups"), ("noeviction", "")],
)
def test_a_server_that_deletes_keys_is_warned_of_once(
    url: str,
    client: Any,
    base_name: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    lost: str,
) -> None:
    monkeypatch.setattr(scripts, "_looked_at", set())
    client.config_set("maxmemory-policy", policy)
    try:
        with caplog.at_level(logging.WARNING, "pyadeq"):
            for _ in range(2):
                with Adeq.from_url(url) as adeq:
                    for _ in range(2):
                        assert (adeq.queue(base_name).stats()).ready == 0
    finally:
        client.config_set("maxmemory-policy", "noeviction")
    found = [record.message for record in caplog.records]
    assert len(found) == (1 if lost else 0)
    for message in found:
        assert message.startswith(f"{url}: maxmemory-policy is {policy}: when its memory is full, the server deletes ")
        assert f"the server deletes {lost}" in message
        assert "set maxmemory-policy to noeviction" in message


def test_who_may_not_ask_is_not_warned(
    url: str, client: Any, base_name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_looked_at", set())
    client.execute_command("ACL", "SETUSER", "silent", "on", ">word", "~*", "&*", "+@all", "-info")
    try:
        with Adeq.from_url(url, username="silent", password="word") as adeq:
            assert (adeq.queue(base_name).stats()).ready == 0
            assert (adeq.queue(base_name).stats()).ready == 0
    finally:
        client.execute_command("ACL", "DELUSER", "silent")
    assert not caplog.records
