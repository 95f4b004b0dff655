"""What shell scripts use: locks over commands, tasks that a script runs itself, a shared server, profiles."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, PartitionedQueue, Queue
from pyadeq._sync.queue.workers import QueueWorkers
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.task import tickets
from tests.integration.cli.run import COMMAND, adeq, environment
from tests.small_server import server, url
from tests.waiting import DEADLINE, wait_until

__all__ = ["server", "url"]
pytestmark = pytest.mark.any_engine


@pytest.fixture
def place(url: str, base_name: str) -> dict[str, Any]:
    return {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}


@pytest.fixture
def client(url: str, base_name: str) -> Any:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
def queue(client: Adeq) -> Queue:
    return client.queue("mail")


# Locks


def test_a_command_runs_while_the_lock_is_held(client: Adeq, place: dict[str, Any], tmp_path: Path) -> None:
    script = 'echo "$ADEQ_LOCK_RESOURCE $ADEQ_LOCK_FENCE" > told; exit 7'
    ended = adeq("lock", "run", "deploy", "--owner", "ann", "--", "sh", "-c", f"cd {tmp_path}; {script}", **place)
    assert (ended.status, ended.stdout, ended.stderr) == (7, "", "")
    resource, fence = (tmp_path / "told").read_text().split()
    with client.locks("default").acquire("deploy", owner="bob", wait=0) as grant:
        assert (resource, grant.fence > int(fence)) == ("deploy", True)
        for status, more in ((1, []), (75, ["-E", "75"])):
            ended = adeq("lock", "run", "deploy", "--wait", "0", *more, "--", "touch", str(tmp_path / "ran"), **place)
            assert ended.status == status
            assert "deploy" in ended.stderr
            assert "not free" in ended.stderr
    assert not (tmp_path / "ran").exists()
    ended = adeq("lock", "run", "deploy", "--wait", "0", "--", "no-such-program", **place)
    assert (ended.status, "COMMAND: 'no-such-program' cannot be run" in ended.stderr) == (2, True)
    assert client.locks("default").stats().held == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_command_too(
    number: signal.Signals, client: Adeq, place: dict[str, Any], tmp_path: Path
) -> None:
    words = ["lock", "run", "deploy", "--ttl", "1s", "--", "sh", "-c", "echo $$ > pid; exec sleep 1000"]
    with subprocess.Popen([*COMMAND, *words], env=environment(**place), cwd=tmp_path) as run:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        pid = int((tmp_path / "pid").read_text())
        run.send_signal(number)
        assert run.wait(DEADLINE) == (128 + number if number == signal.SIGTERM else -number)
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())
    with client.locks("default").acquire("deploy", owner="bob", wait=10):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_command_ignores_what_we_ignore(number: signal.Signals, place: dict[str, Any], tmp_path: Path) -> None:
    def begin() -> None:  # as nohup and `&` of a script do
        signal.signal(number, signal.SIG_IGN)

    script = "trap 'exit 7' TERM; echo $$ > pid; mv pid on; while :; do sleep 0.05; done"
    words = ["lock", "run", "deploy", "--", "sh", "-c", script]
    run = subprocess.Popen([*COMMAND, *words], env=environment(**place), cwd=tmp_path, preexec_fn=begin)  # noqa: PLW1509
    with run:
        wait_until((tmp_path / "on").exists)
        for pid in (run.pid, int((tmp_path / "on").read_text())):
            os.kill(pid, number)
        run.send_signal(signal.SIGTERM)
        assert run.wait(DEADLINE) == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGHUP, ["lock", "acquire", "db"]), (signal.SIGINT, ["task", "claim", "mail"])]
)
def test_who_waits_leaves_at_a_signal(
    number: signal.Signals, words: list[str], client: Adeq, queue: Queue, place: dict[str, Any]
) -> None:
    locks = client.locks("default")
    with locks.acquire("db", owner="ann"):
        with subprocess.Popen([*COMMAND, *words, "--wait", "10m"], env=environment(**place)) as run:
            wait_until(lambda: locks.stats().waiting or queue.stats().workers)
            run.send_signal(number)
            assert run.wait(DEADLINE) == 128 + number
        assert (locks.stats().waiting, queue.stats().workers) == (0, 0)


@pytest.mark.slow
def test_a_lost_lock_ends_the_command(client: Adeq, place: dict[str, Any], tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! > program; mv program ran; wait; touch after"
    words = ["lock", "run", "deploy", "--ttl", "1s", "--", "sh", "-c", script]
    with subprocess.Popen([*COMMAND, *words], env=environment(**place), cwd=tmp_path, stderr=subprocess.PIPE) as run:
        wait_until((tmp_path / "ran").exists)
        client.locks("default").admin.force_release("deploy", "a test")
        assert run.wait(DEADLINE) == 1
        if sys.platform == "linux":  # a shell does not end its programs
            assert not Path("/proc", (tmp_path / "ran").read_text().strip(), "exe").exists()
        assert not (tmp_path / "after").exists()
        assert run.stderr
        assert b"is not held any more" in run.stderr.read()


def test_a_lock_over_several_commands(place: dict[str, Any], tmp_path: Path) -> None:
    ticket = tmp_path / "ticket"
    assert adeq("lock", "acquire", "db", "--ticket", str(ticket), **place) == (0, "", "")
    assert ticket.stat().st_mode & 0o777 == 0o600
    text = ticket.read_bytes()
    assert adeq("lock", "acquire", "db", "--wait", "0", **place).status == 1
    assert adeq("lock", "renew", stdin=text, **place).stdout.startswith("db is held until ")
    assert adeq("lock", "release", "--ticket", str(ticket), **place).stdout == "db is released\n"
    assert adeq("lock", "renew", stdin=text, **place).status == 1
    for wrong in (b"", b"{}", b"[1]", b"[" * 100_000, b'{"domain": 1, "resource": "db", "request": "r"}'):
        ended = adeq("lock", "release", stdin=wrong, **place)
        assert (ended.status, "--ticket: standard input is no ticket" in ended.stderr) == (2, True)


# Tasks


def test_a_script_runs_a_task(queue: Queue, place: dict[str, Any]) -> None:
    queue.enqueue({"to": "ann"}, id="t1", kind="welcome")
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    assert json.loads(text) | {"token": "", "until": ""} == {
        "queue": "mail", "id": "t1", "token": "", "fence": 1, "attempt": 1, "until": "", "kind": "welcome",
        "payload": {"to": "ann"},
    }  # fmt: skip
    assert queue.stats().workers == 0
    assert adeq("task", "claim", "mail", **place).status == 1
    assert adeq("task", "heartbeat", "--extend", "90", stdin=text, **place).stdout.startswith("t1 renewed until ")
    failed = adeq("task", "fail", "--error", "no route", "--delay", "0", stdin=text, **place)
    assert failed.stdout.startswith("t1 retried due ")
    late = adeq("task", "ack", stdin=text, **place)
    assert (late.status, "lease of task 't1' is lost" in late.stderr) == (1, True)
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    assert adeq("task", "release", stdin=text, **place).stdout == "t1 released\n"
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    done = adeq("task", "ack", "--result", '{"sent": 1}', "-o", "json", stdin=text, **place)
    assert json.loads(done.stdout) == {"queue": "mail", "id": "t1", "status": "completed"}
    assert queue.result("t1") == {"sent": 1}
    assert adeq("task", "ack", "--result", '{"sent": 1}', stdin=text, **place).stdout == "t1 completed\n"


def test_a_cancelled_task_must_stop(queue: Queue, place: dict[str, Any]) -> None:
    queue.enqueue(id="t1")
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    queue.cancel("t1")
    ended = adeq("task", "heartbeat", stdin=text, **place)
    assert (ended.status, ended.stderr) == (1, "adeq: task 't1' must stop: it was cancelled\n")


def test_payloads_and_results_that_are_no_json(queue: Queue, place: dict[str, Any], tmp_path: Path) -> None:
    queue.enqueue(b"\xff", id="t1")
    (tmp_path / "result").write_bytes(b"\xfe\n")
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    assert json.loads(text)["payload_base64"] == "/w=="
    assert adeq("task", "ack", "--result", "{", stdin=text, **place).status == 2
    both = adeq("task", "ack", "--result", "1", "--result-file", "x", stdin=text, **place)
    assert (both.status, both.stderr) == (2, "adeq: --result, --result-file: give one of them\n")
    assert adeq("task", "ack", "--result-file", "-", stdin=text, **place).status == 2
    assert adeq("task", "ack", "--result-file", str(tmp_path / "result"), stdin=text, **place).status == 0
    found = queue.get("t1")
    assert found
    assert found.result_data == b"\xfe\n"


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_claim_that_comes_with_a_signal_is_given_back(
    partitions: int, client: Adeq, place: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue: Any = client.partitioned("mail")
    if partitions > 1:
        queue.repartition(partitions)
    queue.enqueue()
    handler = signal.getsignal(signal.SIGTERM)

    def signalled(act: Any) -> Any:
        def acts(*args: Any, **options: Any) -> Any:
            done = act(*args, **options)
            signal.raise_signal(signal.SIGTERM)
            return done

        return acts

    for owner, name in (
        (Queue if partitions == 1 else PartitionedQueue, "claim"),
        (QueueWorkers, "deregister"),
        (tickets, "as_json"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, signalled(getattr(owner, name)))
            ended = adeq("task", "claim", "mail", "--wait", "1m", "--ticket", str(tmp_path / "t"), **place)
        stats = queue.stats()
        assert (ended, stats.ready, stats.running, stats.workers) == ((143, "", ""), 1, 0, 0), name
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place_of_output", "why"), [("> /dev/full", "cannot be written: No space left"), (">&-", "is closed; name a file")]
)
def test_a_claim_that_cannot_be_printed_is_given_back(
    place_of_output: str, why: str, queue: Queue, place: dict[str, Any]
) -> None:
    queue.enqueue()
    script = shlex.join([*COMMAND, "task", "claim", "mail"])
    run = subprocess.run(
        ["sh", "-c", f"{script} {place_of_output}"],
        env=environment(**place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert re.fullmatch(f"adeq: --ticket: standard output {why}.*\n", run.stderr)
    assert queue.stats().ready == 1


def test_a_result_that_is_too_long_is_not_read(queue: Queue, place: dict[str, Any], tmp_path: Path) -> None:
    queue.enqueue(id="t1")
    text = adeq("task", "claim", "mail", **place).stdout.encode()
    most, long = 1024 * 1024, tmp_path / "long"
    long.write_bytes(b"x" * (most + 1))
    for file in ("/dev/zero", str(long)):
        ended = adeq("task", "ack", "--result-file", file, stdin=text, **place)
        assert (ended.status, f"{file!r} has more than 1,048,576 bytes" in ended.stderr) == (2, True), ended
    ended = adeq("task", "ack", "--ticket", "/dev/zero", **place)
    assert (ended.status, "--ticket: '/dev/zero' has more than" in ended.stderr) == (2, True), ended
    long.write_bytes(b"x" * most)
    assert adeq("task", "ack", "--result-file", str(long), stdin=text, **place).status == 0


def test_a_task_of_a_queue_with_partitions(client: Adeq, place: dict[str, Any]) -> None:
    queue = client.partitioned("mail")
    queue.repartition(2)
    queue.enqueue_many(list(range(4)))
    for _ in range(4):
        text = adeq("task", "claim", "mail", "--wait", "1s", **place).stdout.encode()
        assert adeq("task", "ack", stdin=text, **place).status == 0
    assert (queue.stats().finished, queue.stats().workers) == (4, 0)


# A server for several terminals


@pytest.mark.slow
def test_a_server_of_ones_own(tmp_path: Path) -> None:
    sock, secret = tmp_path / "a.sock", tmp_path / "secret"
    secret.write_text("s3cret\n")
    words = ["dev-server", "--socket", str(sock), "--port", "0", "--password-file", str(secret), "-o", "json"]
    with subprocess.Popen([*COMMAND, *words], env=environment(), stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout
            said = json.loads("".join(iter(run.stdout.readline, "}\n")) + "}")
            for place in said["urls"]:
                assert ":s3cret@" in place
                assert adeq("task", "enqueue", "mail", ADEQ_URL=place).status == 0
            without = adeq("queue", "ls", ADEQ_URL=said["urls"][1].replace(":s3cret@", ""))
            assert (without.status, "password" in without.stderr) == (1, True)
            second = adeq("dev-server", "--socket", str(sock))
            assert (second.status, "a program listens on" in second.stderr) == (2, True)
            os.kill(said["pid"], signal.SIGKILL)
            assert run.wait(DEADLINE) == 1
        finally:
            run.kill()


def test_options_of_a_server_that_cannot_be(tmp_path: Path) -> None:
    assert adeq("dev-server", "--password-file", str(tmp_path / "none")).status == 2
    assert adeq("dev-server", "--port", "0", "--password-file", str(tmp_path / "none")).status == 2
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert "is empty" in adeq("dev-server", "--port", "0", "--password-file", str(empty)).stderr
    with pytest.raises(ConfigError, match="is no socket"):
        EmbeddedServer(socket_path=empty).start()
    assert empty.read_text() == "\n"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other"))
        other.listen()
        with pytest.raises(ConfigError, match="a program listens on"):
            EmbeddedServer(socket_path=tmp_path / "other").start()
    with pytest.raises(ConfigError, match="password: it is not accepted"):
        EmbeddedServer(password="a b")
    with pytest.raises(ConfigError, match="longer than 100 bytes"):
        EmbeddedServer(socket_path=tmp_path / ("x" * 100))
    with pytest.raises(ConfigError, match="has no port"):
        EmbeddedServer().tcp_url  # noqa: B018


# Profiles


def test_a_profile_says_where(place: dict[str, Any], tmp_path: Path, queue: Queue) -> None:
    queue.enqueue(id="t1")
    file = tmp_path / "config.toml"
    file.write_text(
        f'default = "here"\n[profiles.here]\nurl = "{place["ADEQ_URL"]}"\nprefix = "{place["ADEQ_PREFIX"]}"\n'
        'output = "jsonl"\n[profiles.there]\nurl = "redis://127.0.0.1:1"\n'
    )
    config: dict[str, Any] = {"ADEQ_CONFIG": str(file)}
    assert json.loads(adeq("queue", "ls", **config).stdout)["queue"] == "mail"
    assert adeq("queue", "ls", "-o", "table", **config).stdout.startswith("queue ")
    assert adeq("--profile", "there", "queue", "ls", **config).status == 3
    assert adeq("queue", "ls", ADEQ_PROFILE="there", **config).status == 3
    assert json.loads(adeq("queue", "ls", ADEQ_PROFILE="there", **config, **place, ADEQ_OUTPUT="jsonl").stdout)
    both = adeq("queue", "ls", "--profile", "there", **config, **place)
    assert (both.status, "ADEQ_URL is set, and says something else" in both.stderr) == (2, True)
    unknown = adeq("queue", "ls", "--profile", "her", **config)
    assert (unknown.status, "there are: here, there" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[profiles.x]\nurl = 1", "[profiles.x]: url is not accepted; allowed: url, prefix"),
        ("[profiles.x]\nqueue = 'q'", "[profiles.x]: queue is not accepted"),
        ("default = 'y'\n[profiles.x]", "default: there is no profile 'y'; there are: x"),
        ("profiles = 1", "allowed: default, and tables [profiles.NAME]"),
        ("[profile.x]", "allowed: default, and tables [profiles.NAME]"),
        ("x", "it is no TOML"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "c").write_text(text)
    ended = adeq("profile", "ls", ADEQ_CONFIG=str(tmp_path / "c"))
    assert (ended.status, why in ended.stderr) == (2, True), ended


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # the name of the user is unknown
    monkeypatch.chdir(tmp_path)
    assert adeq("profile", "ls", "-o", "jsonl", ADEQ_CONFIG="", HOME="") == (0, "", "")


def test_a_password_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "c"
    file.write_text('[profiles.x]\nurl = "redis://ann:s3cret@127.0.0.1:1"\n')
    file.chmod(0o640)
    ended = adeq("queue", "ls", ADEQ_CONFIG=str(file))
    assert (ended.status, f"chmod 600 {file}" in ended.stderr, "s3cret" in ended.stderr) == (2, True, False)
    file.chmod(0o600)
    for words in (["ls"], ["show", "x"]):
        shown = adeq("profile", *words, "-o", "json", ADEQ_CONFIG=str(file))
        assert (shown.status, "s3cret" in shown.stdout, "127.0.0.1:1" in shown.stdout) == (0, False, True)
