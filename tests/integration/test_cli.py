"""The command line as users run it: real processes, their output and their exit status."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Task, __version__, library
from pyadeq.ext.cli.common import iso
from pyadeq.ext.cli.scripts import packaged

NOBODY = "redis://127.0.0.1:1"


def adeq(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("ADEQ_")}
    command = [sys.executable, "-m", "pyadeq.ext.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**env, **environment})


def answer(*arguments: str, **environment: str) -> Any:
    ended = adeq(*arguments, "-o", "json", **environment)
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def error(status: int, *arguments: str, **environment: str) -> str:
    """The only line on stderr of a command that fails."""
    ended = adeq(*arguments, **environment)
    assert ended.returncode == status, ended
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    return line


def test_version() -> None:
    ended = adeq("--version")
    assert (ended.returncode, ended.stdout) == (0, f"adeq {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["worker", "--help"],
        ["worker", "run", "--help"],
        ["scripts", "--help"],
        ["queue", "stats", "--help"],
    ],
)
def test_help(arguments: list[str]) -> None:
    ended = adeq(*arguments)
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: adeq")


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["queue", "stats"], ["worker", "run", "m:f", "--concurrency", "0"], ["scripts", "ls", "-o", "xml"]],
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    ended = adeq(*arguments)
    assert ended.returncode == 2
    assert "Usage: adeq" in ended.stderr


def test_scripts_ls() -> None:
    scripts = answer("scripts", "ls")
    assert [script["id"] for script in scripts] == list(library())
    assert scripts[0] == {
        "id": "queue.ack.v1",
        "sha1": library()["queue.ack.v1"].sha1,
        "read_only": False,
        "doc": library()["queue.ack.v1"].doc,
    }
    head, *lines = adeq("scripts", "ls").stdout.splitlines()
    assert head.split() == ["id", "sha1", "read-only", "does"]
    assert [line.split()[:2] for line in lines] == [[script["id"], script["sha1"]] for script in scripts]


def test_scripts_load_and_verify(url: str, client: redis.Redis) -> None:
    client.script_flush()
    before = adeq("scripts", "verify", "--url", url)
    assert before.returncode == 1
    assert before.stdout.count("MISSING") == len(library())
    assert "adeq scripts load" in before.stdout
    assert answer("scripts", "load", "--url", url) == {"loaded": list(library())}
    after = answer("scripts", "verify", ADEQ_URL=url)
    assert after["ok"]
    assert all(script["packaged"] and script["loaded"] for script in after["scripts"])
    assert adeq("scripts", "verify", "--url", url).returncode == 0


def test_a_packaged_file_that_differs_is_found() -> None:
    script = library()["queue.ack.v1"]
    assert packaged(script)
    assert not packaged(replace(script, sha1="0" * 40))


def test_queue_stats(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as client:
        queue = client.queue(base_name)
        queue.enqueue_many([Task(), Task(lane="group/a"), Task(delay=3600), Task(priority=0)])
        queue.ack(queue.claim(limit=1)[0])
    found = answer("queue", "stats", base_name, "--url", url)
    assert found["queue"] == base_name
    assert (found["ready"], found["delayed"], found["finished"], found["lanes"]) == (2, 1, 1, {"any": 1, "group/a": 1})
    assert found["now_iso"] == iso(found["now"])
    lines = [line.split() for line in adeq("queue", "stats", base_name, ADEQ_URL=url).stdout.splitlines()]
    for row in (["ready", "2"], ["delayed", "1"], ["finished", "1"], ["group/a", "1"], ["enqueued", "4"]):
        assert row in lines
    assert adeq("queue", "stats", base_name, ADEQ_URL=url, ADEQ_OUTPUT="json").stdout.startswith("{")


def test_an_unreachable_server_ends_with_3_and_advice() -> None:
    line = error(3, "queue", "stats", "q", "--url", NOBODY)
    assert f"start a server at {NOBODY}, or name another with --url or ADEQ_URL" in line
    assert error(3, "scripts", "verify", ADEQ_URL=NOBODY).startswith("adeq: ")


def test_secrets_in_urls_are_not_shown() -> None:
    line = error(3, "queue", "stats", "q", "--url", "redis://me:secret@127.0.0.1:1/0?password=secret")
    assert "redis://127.0.0.1:1/0," in line
    assert "secret" not in line
    for url in ("http://me:secret@host", "me:secret@host", "redis://me:secret"):
        assert "secret" not in error(2, "queue", "stats", "q", "--url", url)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["queue", "stats", "no name"], "queue: 'no name' is not accepted"),
        (["queue", "stats", "q", "--url", "host:6379"], "--url: what was given is not accepted; allowed: redis://"),
        (["worker", "run", "jobs"], "handler: 'jobs' is not accepted; write module:function"),
        (["worker", "run", "m:f", "--lane", "x"], "--lane: 'x' is not accepted; allowed: any, group/"),
        (["demo", "--keep", os.getcwd()], "is not empty"),
    ],
)
def test_an_argument_that_cannot_work_ends_with_2(arguments: list[str], text: str) -> None:
    assert text in error(2, *arguments)
