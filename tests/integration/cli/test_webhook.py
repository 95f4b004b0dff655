"""`adeq webhook`: endpoints are added, checked, switched, tried out and replayed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.ext.connect.crypto import Encrypted, new_key
from pyadeq.ext.outgoing.webhooks import Webhooks, new_secret
from tests.integration.cli.run import Ended, adeq
from tests.integration.outgoing.receivers import receiving, status
from tests.integration.outgoing.test_webhooks import SECRET, do, process
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

URL = "https://1.1.1.1/hook"
CODEC = Encrypted([new_key()])


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str, **changes: Any) -> Ended:
        return adeq("webhook", *words, "--url", url, ADEQ_PREFIX=base_name, ADEQ_ACTOR="root", **changes)

    return run


def add(run: Any, *words: str, id: str = "orders", url: str = URL, **changes: str) -> Ended:
    ended: Ended = run("add", id, url, "--event", "task.*", "--secret", "env:HOOK_SECRET", *words, **changes)
    return ended


def listed(run: Any) -> list[dict[str, Any]]:
    return list(json.loads(run("ls", "-o", "json").stdout))


def test_an_endpoint_is_added_switched_and_removed(client: Adeq, run: Any) -> None:
    ended = add(run, "--queue", "mail-*", "--stream", "change:*", "--starts", "10", "--include", "payload")
    assert (ended.status, ended.stdout) == (0, "added orders: task.* of queue:mail-*, change:*\n")
    stored = client.config("_webhooks").get("orders")
    assert stored
    assert (stored.actor, stored.reason) == ("root", "added")
    (row,) = listed(run)
    assert (row["state"], row["starts"], row["concurrency"], row["include"]) == ("enabled", 10, 4, ["payload"])
    assert row["streams"] == ["queue:mail-*", "change:*"]
    assert run("disable", "orders").stdout == "disabled orders\n"
    assert listed(run)[0]["state"] == "disabled: switched off"
    assert run("enable", "orders").status == 0
    assert listed(run)[0]["state"] == "enabled"
    assert run("rotate", "orders", "--secret", "file:/run/secret", "--keep", "1h").status == 0
    shown = json.loads(run("show", "orders", "-o", "json").stdout)
    assert (shown["secret"], shown["old_secret"]) == ("file:/run/secret", "env:HOOK_SECRET")
    assert run("show", "order").stderr == (
        "adeq: endpoint: there is no 'order'; did you mean orders? See adeq webhook ls\n"
    )
    assert run("rm", "orders").stdout == "removed orders\n"
    assert (run("rm", "orders").status, listed(run)) == (1, [])


def test_what_is_wrong_is_refused_before_it_is_stored(client: Adeq, run: Any) -> None:
    assert add(run).status == 0
    secret = new_secret()
    for words, url, why in (
        ([], URL, "there is one with the id 'orders'"),
        (["--event", "task.finished"], URL, "'task.finished' is no event"),
        (["--event", "x y"], URL, "'x y' is no event"),
        (["--stream", "config:_tokens"], URL, "'config:_tokens' is not accepted"),
        (["--queue", "adeq-webhooks"], URL, "'queue:adeq-webhooks' is not accepted"),
        (["--stream", "mail"], URL, "'mail' is not accepted"),
        (["--secret", secret], URL, "this is not accepted; allowed: env:NAME"),
        ([], "http://1.1.1.1/", "scheme 'http'"),
        ([], "https://1.1.1.1:8443/", "port 8443"),
        ([], "https://ann:s3cr3t@1.1.1.1/", "a user and a password"),
        ([], "https://localhost/", "which is not public"),
        ([], "https://169.254.169.254/latest", "which is not public"),
        ([], "https://[::ffff:10.0.0.1]/", "which is not public"),
        ([], "https://0x7f.1/", "write an address as"),
        ([], "https://no-such-host.invalid/", "cannot be resolved"),
        (["--allow", "169.254.0.0/16"], URL, "stays forbidden"),
    ):
        ended = add(run, *words, url=url)
        assert (ended.status, ended.stdout) == (2, ""), ended
        assert why in ended.stderr, ended
        assert "s3cr3t" not in ended.stderr
        assert secret not in ended.stderr
    ended = add(run, id="Or.ders")
    assert (ended.status, "allowed: 1 to 40 of a-z 0-9 -" in ended.stderr) == (2, True)
    assert [*Webhooks(client).list()] == ["orders"]


def test_a_secret_from_stdin_is_sealed(client: Adeq, run: Any) -> None:
    secret = new_secret()
    refused = run("add", "orders", URL, "--event", "task.*", "--secret", "@-", stdin=secret.encode())
    assert (refused.status, "there is no codec to seal it" in refused.stderr) == (2, True), refused
    sealing = {"ADEQ_CODEC": f"{__name__}:CODEC", "stdin": f"{secret}\n".encode()}
    assert run("add", "orders", URL, "--event", "task.*", "--secret", "@-", **sealing).status == 0
    assert run("rotate", "orders", "--secret", "@-", **sealing).status == 0
    (row,) = listed(run)
    assert (row["secret"], row["old_secret"]) == ("sealed", "sealed")
    stored = client.config("_webhooks").get("orders")
    assert stored
    assert secret.encode() not in stored.value


def test_allowed_networks_come_from_the_environment(run: Any) -> None:
    allowed = {
        "ADEQ_WEBHOOK_ALLOW": "10.0.0.0/8 127.0.0.1",
        "ADEQ_WEBHOOK_HTTP": "1",
        "ADEQ_WEBHOOK_PORTS": "8080 8081",
    }
    assert add(run, url="http://10.0.0.1:8081/", **allowed).status == 0
    assert add(run, id="other", url="http://192.168.0.1/", **allowed).status == 2


def test_nothing_general_writes_to_the_endpoints(run: Any, url: str, base_name: str) -> None:
    done = adeq("config", "set", "orders", "x", "--namespace", "_webhooks", "--url", url, ADEQ_PREFIX=base_name)
    assert "'_webhooks' has records of a service" in done.stderr


def test_a_secret_is_random() -> None:
    first, second = (adeq("webhook", "secret").stdout.strip() for _ in range(2))
    assert first != second
    assert first.startswith("whsec_")


@pytest.mark.slow
def test_try_out_and_replay(client: Adeq, run: Any, url: str, base_name: str, tmp_path: Path) -> None:
    fails = iter([True])

    def answer(handler: Any) -> None:
        status(418 if next(fails, False) else 204)(handler)

    with receiving(answer) as receiver:
        allowed = ["--allow", "127.0.0.1", "--http", "--port", str(receiver.port)]
        assert add(run, *allowed, url=receiver.url).status == 0
        ended = run("test", "orders", "--wait", "100ms")
        assert (ended.status, "is adeq webhook run running?" in ended.stderr) == (1, True)
        service = process(url, base_name, tmp_path / "log", receiver)
        wait_until(lambda: len(receiver.seen) == 1)
        assert "webhook.test" in receiver.seen[0].body.decode()
        row = json.loads(run("test", "orders", "-o", "json").stdout)
        assert (row["status"], row["answer"]) == ("completed", 204)
        assert listed(run)[0]["state"] == "enabled", "it works again"
        do(client, "a")
        wait_until(lambda: any(b"task.completed" in one.body for one in receiver.seen))
        (message,) = (one.id for one in receiver.seen if b"task.completed" in one.body)
        wait_until(lambda: run("replay", message).stdout == "1 sent again\n")
        wait_until(lambda: receiver.ids.count(message) == 2)
        wait_until(lambda: "sent again\n" in run("replay", "orders", "--since", "1h").stdout)
        wait_until(lambda: receiver.ids.count(message) > 2)
        assert service.end(signal.SIGTERM) == 0
    assert run("replay", message, "--until", "1h").status == 2
    text = (tmp_path / "log").read_text()
    assert SECRET not in text
    assert "webhooks are sent url=" in text.splitlines()[0]
    assert text.splitlines()[-1].endswith("stopped")
