"""`adeq chaos` on a deployment that somebody restarts meanwhile, and on histories that were kept."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.chaos import RULES, History, Op
from pyadeq.ext.prove.chaos.cast import cast_of
from tests.integration.cli.run import COMMAND, adeq, answer, environment, error
from tests.integration.servers import ThreePrimaries, unused_port

pytestmark = pytest.mark.any_engine

ROOT = Path(__file__).parents[3]


@pytest.fixture
def deployment(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that is its own, for it is killed."""
    with EmbeddedServer(binary=binary) as server:
        yield server


class Command:
    """A command as a process, whose standard error is read as it comes."""

    def __init__(self, *arguments: str) -> None:
        self.child = subprocess.Popen(
            [*COMMAND, *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said = ""

    def read_until(self, words: str) -> None:
        assert self.child.stderr
        while words not in self.said:
            line = self.child.stderr.readline()
            assert line, f"it ended: {self.said}"
            self.said += line

    def end(self) -> tuple[int, Any]:
        """The exit status, and the JSON on the standard output."""
        out, err = self.child.communicate(timeout=120)
        self.said += err
        return self.child.returncode, json.loads(out) if out else None


@pytest.fixture
def start(deployment: EmbeddedServer) -> Iterator[Callable[..., Command]]:
    started: list[Command] = []

    def start(*arguments: str) -> Command:
        started.append(Command("chaos", "--url", deployment.url, "-o", "json", *arguments))
        return started[-1]

    yield start
    for one in started:
        one.child.kill()
        one.child.communicate()


@pytest.mark.slow
def test_a_server_that_is_restarted_meanwhile(
    start: Callable[..., Command], deployment: EmbeddedServer, tmp_path: Path
) -> None:
    kept = tmp_path / "history.jsonl"
    command = start("--seconds", "4", "--seed", "7", "--clients", "5", "--kill", "--history", str(kept))
    command.read_until("waiting")
    deployment.kill()
    deployment.restart()
    status, report = command.end()
    assert (status, report["ok"], report["violations"], report["problems"]) == (0, True, [], []), command.said
    assert report["faults"]["restart"] == 1
    assert {"kill_client", "freeze_client"} & set(report["faults"])
    assert report["tasks"]["completed"] > 0
    assert report["seed"] == 7
    assert all(report["checks"][rule] > 0 for rule in ("acknowledged_kept", "settles_once", "locks_exclude"))
    assert sum(report["calls"].values()) > sum(report["tasks"].values())
    with redis.Redis.from_url(deployment.url) as client:
        assert [key for key in client.scan_iter() if b"{registry:" not in key or key.endswith(b":names")] == []
    again = answer("chaos", "--judge", str(kept))
    assert {name: again[name] for name in ("ok", "checks", "tasks", "calls", "lost")} == {
        name: report[name] for name in ("ok", "checks", "tasks", "calls", "lost")
    }


@pytest.mark.slow
def test_what_is_deleted_meanwhile_is_found(start: Callable[..., Command], deployment: EmbeddedServer) -> None:
    """The clients store their rules of rates again, and go on. The history is kept, so that people see what it was."""
    command = start("--seconds", "4", "--clients", "4")
    command.read_until("waiting")
    with redis.Redis.from_url(deployment.url) as client:
        while not (rules := list(client.scan_iter("*rate:chaos-*:rules", count=1000))):
            assert command.child.poll() is None
        client.delete(*rules)
        status, report = command.end()
        assert [key for key in client.scan_iter() if b"{registry:" not in key or key.endswith(b":names")] == []
    assert report, command.said
    broken = {one["rule"] for one in report["violations"]}
    kept = Path(report["history"])
    try:
        assert (status, broken, report["problems"]) == (1, {"rules_found"}, []), command.said
        again = answer("chaos", "--judge", str(kept), status=1)
        assert again["violations"] == report["violations"]
    finally:
        kept.unlink()


@pytest.mark.slow
def test_an_interrupt_ends_the_work_early(start: Callable[..., Command], deployment: EmbeddedServer) -> None:
    command = start("--seconds", "600", "--clients", "4")
    command.read_until("waiting")
    command.child.send_signal(signal.SIGINT)
    status, report = command.end()
    assert (status, report["ok"]) == (0, True), command.said
    assert "by Ctrl-C" in command.said
    with redis.Redis.from_url(deployment.url) as client:
        assert [key for key in client.scan_iter() if b"{registry:" not in key or key.endswith(b":names")] == []


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A history in which a task was acknowledged, and never was."""
    made = Op("producer-1", "enqueue", {"tasks": [{"id": "a", "rid": "r"}]}, 1.0, 2.0, "ok")
    made.answer = {"receipts": [["created", "a"]]}
    History(ops=[made], final={"a": None}).save(tmp_path / "bad.jsonl")
    return tmp_path / "bad.jsonl"


def test_a_broken_promise_is_told(bad: Path) -> None:
    told = adeq("chaos", "--judge", str(bad))
    assert told.status == 1
    assert "acknowledged_kept: a" in told.stdout
    assert "producer-1 was told 'created'" in told.stdout
    assert "1 violations." in told.stdout
    report = answer("chaos", "--judge", str(bad), status=1)
    assert [(one["rule"], one["subject"]) for one in report["violations"]] == [("acknowledged_kept", "a")]


def test_what_is_not_complete_is_no_success(tmp_path: Path) -> None:
    History(problems=["not all came to an end"]).save(tmp_path / "cut.jsonl")
    told = adeq("chaos", "--judge", str(tmp_path / "cut.jsonl"))
    assert told.status == 1
    assert "not all came to an end" in told.stdout
    assert "the run is not complete" in told.stdout


@pytest.mark.parametrize("text", ["", "{}\n", '{"kind":"x"}\n', "no JSON\n"], ids=["empty", "no kind", "other", "text"])
def test_a_file_that_is_no_history(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    assert "is not a file that --history has written" in error(2, "chaos", "--judge", str(tmp_path / "file"))


def test_a_durability_that_the_server_cannot_give(deployment: EmbeddedServer) -> None:
    if deployment.engine.startswith("redis 8"):
        pytest.skip("which can")
    ended = adeq("chaos", "--durability", "aof", "--url", deployment.url)
    assert ended.status == 2
    assert "durability: 'aof' is not possible on this server" in ended.stderr
    with redis.Redis.from_url(deployment.url) as client:
        assert [key for key in client.scan_iter() if b"{registry:" not in key or key.endswith(b":names")] == []


@pytest.mark.slow
def test_a_cluster(cluster: ThreePrimaries) -> None:
    ended = adeq("--cluster", "chaos", "--seconds", "2", "--clients", "4", "-o", "json", "--url", cluster.url)
    assert ended.status == 0, ended
    assert json.loads(ended.stdout)["tasks"]["completed"] > 0
    for node in cluster.primaries:
        with redis.Redis.from_url(node.url) as client:
            assert not list(client.scan_iter("*chaos-*"))


def test_nobody_there() -> None:
    assert "start a server" in error(3, "chaos", "--url", f"redis://127.0.0.1:{unused_port()}")


def test_the_guide_tells_of_every_rule() -> None:
    guide = (ROOT / "docs/guides/chaos.md").read_text(encoding="utf-8")
    assert [rule for rule in RULES if f"| `{rule}`" not in guide and f", `{rule}`" not in guide] == []


@pytest.mark.parametrize("clients", [4, 5, 9, 20, 200])
def test_every_role_is_played(clients: int) -> None:
    cast = cast_of(clients)
    assert sum(cast.values()) == clients
    assert min(cast.values()) >= 1
