"""`adeq post`: endpoints are added, checked, listed, tried out and removed."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from tests.integration.cli.run import Ended, adeq
from tests.integration.outgoing.receivers import Process, receiving
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

URL = "https://1.1.1.1/topic"


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
def run(url: str, base_name: str) -> Any:
    def run(*words: str, **changes: Any) -> Ended:
        return adeq("post", *words, "--url", url, ADEQ_PREFIX=base_name, ADEQ_ACTOR="root", **changes)

    return run


def test_an_endpoint_is_added_listed_and_removed(client: Adeq, run: Any) -> None:
    ended = run("add", "ops", "ntfy", URL, "--queue", "mail-*", "--domain", "prod", "--about", "dead", "--every", "5m")
    assert (ended.status, ended.stdout) == (0, "added ops: dead of queue:mail-*, change:prod\n")
    stored = client.config("_posts").get("ops")
    assert stored
    assert (stored.actor, stored.reason) == ("root", "added")
    (row,) = json.loads(run("ls", "-o", "json").stdout)
    assert (row["service"], row["every"], row["board"], row["actions"]) == ("ntfy", 300, None, "login")
    assert "queue:mail-* change:prod" in run("ls", "-o", "wide").stdout
    board = {"ADEQ_BOARD_URL": "https://tasks.example.org/adeq/"}
    assert run("add", "z", "slack", "file:/run/url", "--actions", "code", **board).status == 0
    assert json.loads(run("ls", "-o", "json").stdout)[1]["board"] == "https://tasks.example.org/adeq"
    for words, why in (
        (["ops", "ntfy", URL], "there is one with the id 'ops'"),
        (["Ops", "ntfy", URL], "allowed: 1 to 40 of a-z 0-9 -"),
        (["a", "slack", URL], "that of Slack is a secret"),
        (["a", "ntfy", "http://1.1.1.1/x"], "scheme 'http'"),
        (["a", "ntfy", "https://169.254.169.254/x"], "which is not public"),
        (["a", "ntfy", "https://10.0.0.1/x", "--allow", "169.254.0.0/16"], "stays forbidden"),
        (["a", "ntfy", URL, "--secret", "tk_s3cret"], "allowed: env:NAME"),
    ):
        ended = run("add", *words)
        assert (ended.status, ended.stdout, why in ended.stderr) == (2, "", True), ended
        assert "tk_s3cret" not in ended.stderr
    assert run("rm", "ops").stdout == "removed ops\n"
    assert run("rm", "ops").stderr == "adeq: endpoint: there is no 'ops'. See adeq post ls\n"
    refused = adeq("config", "set", "ops", "x", "--namespace", "_posts", "--url", client.address)
    assert "'_posts' has records of a service" in refused.stderr


@pytest.mark.slow
def test_try_out(client: Adeq, run: Any, url: str, base_name: str, tmp_path: Path) -> None:
    with receiving() as receiver:
        at = ["--allow", "127.0.0.1", "--http", "--port", str(receiver.port)]
        assert run("add", "ops", "ntfy", receiver.url, *at, "--secret", "env:TOKEN").status == 0
        ended = run("test", "ops", "--wait", "100ms")
        assert (ended.status, "is adeq post run running?" in ended.stderr) == (1, True)
        service = Process("post run", url, base_name, tmp_path / "log", receiver, TOKEN="tk_s3cret")
        wait_until(lambda: len(receiver.seen) == 1)
        assert receiver.seen[0].headers["authorization"] == "Bearer tk_s3cret"
        assert json.loads(receiver.seen[0].body)["title"] == "This is a test of adeq."
        row = json.loads(run("test", "ops", "-o", "json").stdout)
        assert (row["status"], row["answer"]) == ("completed", 204)
        assert service.end(signal.SIGTERM) == 0
    assert "tk_s3cret" not in (tmp_path / "log").read_text() + str(client.config("_posts").list())
