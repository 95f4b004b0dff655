"""The command line as a whole: help, errors, exit statuses, completion; and the scripts."""

import json
import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, EmbeddedServer, __version__, library
from pyadeq.ext.cli.scripts.app import packaged
from pyadeq.ext.cli.shared.common import shown_url
from tests.integration.cli.run import COMMAND, adeq, answer, complete, error, process
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine

NOBODY = "redis://127.0.0.1:1"


def test_version() -> None:
    ended = process("--version")
    assert (ended.returncode, ended.stdout) == (0, f"adeq {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["worker", "--help"],
        ["worker", "run", "--help"],
        ["scripts", "--help"],
        ["queue", "stats", "--help"],
        ["task", "enqueue", "--help"],
        ["dead", "retry", "--help"],
        ["doctor", "--help"],
    ],
)
def test_help(arguments: list[str]) -> None:
    ended = adeq(*arguments)
    assert ended.status == 0
    assert ended.stdout.startswith("Usage: adeq")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["queue", "nonsense"],
        ["queue", "stats"],
        ["worker", "run", "m:f", "--concurrency", "0"],
        ["scripts", "ls", "-o", "xml"],
        ["queue", "watch", "q", "--interval", "soon"],
        ["queue", "configure", "q", "--lease", "-1"],
        ["task", "ls", "q", "--state", "nonsense"],
        ["task", "ls", "q", "--limit", "0"],
        ["task", "show", "q"],
        ["task", "enqueue", "q", "--run-after", "2030-01-01T00:00:00"],
        ["task", "enqueue", "q", "--run-after", "tomorrow"],
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    ended = adeq(*arguments)
    assert ended.status == 2
    assert "Usage: adeq" in ended.stderr


def test_scripts_ls() -> None:
    scripts = answer("scripts", "ls")
    assert [script["id"] for script in scripts] == list(library())
    (ack,) = (script for script in scripts if script["id"] == "queue.ack.v1")
    assert ack == {
        "id": "queue.ack.v1",
        "sha1": library()["queue.ack.v1"].sha1,
        "read_only": False,
        "role": "work",
        "doc": library()["queue.ack.v1"].doc,
    }
    head, *lines = adeq("scripts", "ls", "-o", "wide").stdout.splitlines()
    assert head.split() == ["id", "sha1", "read-only", "role", "does"]
    assert [line.split()[:2] for line in lines] == [[script["id"], script["sha1"]] for script in scripts]


def test_scripts_load_and_verify(url: str, client: redis.Redis) -> None:
    client.script_flush()
    before = adeq("scripts", "verify", "--url", url)
    assert before.status == 1
    assert before.stdout.count("MISSING") == len(library())
    assert "adeq scripts load" in before.stdout
    assert answer("scripts", "load", "--url", url) == {"loaded": list(library())}
    after = answer("scripts", "verify", ADEQ_URL=url)
    assert after["ok"]
    assert all(script["packaged"] and script["loaded"] for script in after["scripts"])
    assert adeq("scripts", "verify", "--url", url).status == 0


def test_a_packaged_file_that_differs_is_found() -> None:
    script = library()["queue.ack.v1"]
    assert packaged(script)
    assert not packaged(replace(script, sha1="0" * 40))


@pytest.mark.parametrize(
    "arguments",
    [
        ["doctor"],
        ["queue", "ls"],
        ["queue", "stats", "q"],
        ["queue", "pause", "q"],
        ["queue", "watch", "q"],
        ["scripts", "verify"],
        ["task", "enqueue", "q"],
        ["task", "ls", "q"],
        ["task", "watch", "q", "t"],
        ["dead", "retry", "q", "--all"],
    ],
    ids=" ".join,
)
def test_an_unreachable_server_ends_with_3_and_advice(arguments: list[str]) -> None:
    line = error(3, *arguments, "--url", NOBODY)
    assert line.startswith("adeq: ")
    assert ".;" not in line
    assert f"; start a server at {NOBODY}, or name another with --url or ADEQ_URL" in line


@pytest.mark.parametrize("arguments", [["doctor"], ["queue", "ls"], ["queue", "stats", "q"], ["queue", "pause", "q"]])
def test_a_server_that_wants_a_password_ends_with_1_and_advice(binary: Path, arguments: list[str]) -> None:
    with EmbeddedServer(binary=binary) as server, redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", "sesame")
        for url in (server.url, f"unix://:wrong@{server.socket_path}"):
            line = error(1, *arguments, "--url", url)
            assert line.endswith("; name a user and a password in the URL: redis://USER:PASSWORD@HOST:PORT")
            assert "wrong@" not in line


def test_secrets_in_urls_are_not_shown() -> None:
    line = error(3, "queue", "stats", "q", "--url", "redis://me:secret@127.0.0.1:1/0?password=secret")
    assert "redis://127.0.0.1:1/0," in line
    assert "secret" not in line
    for given, shown in (
        ("redis://:123/456@host", "redis://host"),
        ("redis://me:a@b@[::1]:1/0?x=@", "redis://[::1]:1/0"),
        ("unix://me:s@/tmp/r.sock", "unix:///tmp/r.sock"),
    ):
        assert shown_url(given) == shown
    for url in ("http://me:secret@host", "me:secret@host", "redis://me:secret"):
        assert "secret" not in error(2, "queue", "stats", "q", "--url", url)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["queue", "stats", "no name"], "queue: 'no name' is not accepted"),
        (["queue", "stats", "q", "--url", "host:6379"], "--url: this value is not accepted; allowed: redis://"),
        (["worker", "run", "jobs"], "handler: 'jobs' is not accepted; write module:name"),
        (["worker", "run", "m:f", "--lane", "x"], "--lane: 'x' is not accepted; allowed: any, group/"),
        (["demo", "--keep", os.getcwd()], "is not empty"),
        (["--prefix", "no prefix", "queue", "ls"], "--prefix: 'no prefix' is not accepted"),
        (["--slot", "{x}", "queue", "ls"], "--slot: '{x}' is not accepted"),
        (["doctor", "no name"], "queue: 'no name' is not accepted"),
    ],
)
def test_an_argument_that_cannot_work_ends_with_2(arguments: list[str], text: str) -> None:
    assert text in error(2, *arguments)


def test_prefix_and_slot_say_where_the_queues_are(url: str, base_name: str) -> None:
    place: dict[str, Any] = {"ADEQ_URL": url, "ADEQ_PREFIX": "mine", "ADEQ_SLOT": base_name}
    assert answer("task", "enqueue", "jobs", "--id", "t1", **place)["status"] == "created"
    with Adeq.from_url(url, prefix="mine", slot=base_name) as client:
        assert client.queue("jobs").stats().ready == 1
    assert [row["queue"] for row in answer("queue", "ls", **place)] == ["jobs"]
    options = ["--prefix", "mine", "--slot", base_name, "task", "ls", "jobs", "--url", url]
    assert [task["id"] for task in answer(*options)] == ["t1"]


def test_completion(url: str, base_name: str) -> None:
    assert "pause" in complete("adeq queue p")
    assert complete("adeq task ls q --state st") == ["stalled"]
    with Adeq.from_url(url) as client:
        client.queue(base_name).enqueue({})
        client.locks(f"{base_name}-locks").configure()
    start = base_name[:-1]
    # On a busy machine the server does not answer at once, and then there is nothing to offer.
    wait_until(lambda: complete(f"adeq lock ls --domain {start}", ADEQ_URL=url) == [f"{base_name}-locks"])
    wait_until(lambda: base_name in complete(f"adeq queue stats {start}", ADEQ_URL=url))
    wait_until(lambda: base_name in complete(f"adeq task ls --url {url} {start}"))
    assert complete("adeq queue stats x-nothing-of-the-kind", ADEQ_URL=url) == []


def test_completion_without_a_server_is_quiet_and_quick(silent_port: int) -> None:
    assert complete("adeq queue stats ", ADEQ_URL=NOBODY) == []
    assert complete("adeq queue stats ", ADEQ_URL="nonsense") == []
    assert complete("adeq queue stats ", ADEQ_URL=f"redis://127.0.0.1:{silent_port}") == []


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections, and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_completion_can_be_installed() -> None:
    ended = adeq("--help")
    assert "--install-completion" in ended.stdout
    assert "--show-completion" in ended.stdout


def test_a_reader_that_goes_away_is_no_error(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as client:
        client.queue(base_name).enqueue_many([{"n": n} for n in range(3000)])
    command = shlex.join([*COMMAND, "task", "ls", base_name, "--url", url, "--all", "-o", "jsonl"])
    ended = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1"], capture_output=True, text=True, timeout=DEADLINE, check=True
    )
    assert json.loads(ended.stdout)["state"] == "ready"
    assert ended.stderr == ""
